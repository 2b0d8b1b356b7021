package actors_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/protocol"
)

// startTurn runs a prompt in the background and returns its error's channel once
// the turn is streaming.
func startTurn(t *testing.T, r *rig, id protocol.SessionID, prompt string) <-chan error {
	t.Helper()
	w := r.watch(id, 0)
	errs := make(chan error, 1)
	go func() {
		_, err := r.promptIn(id, prompt)
		errs <- err
	}()
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
	return errs
}

func TestSupervision_SessionPanicHurtsNobodyElse(t *testing.T) {
	r := newRig(t).start()
	other := startTurn(t, r, "other", "[[slow 40 5]]")
	broken := startTurn(t, r, "main", "hello #one [[slow 1000 20]]")
	if err := r.vm.SessionPanic(r.ctx(), "main"); protocol.CodeOf(err) != protocol.CodeInternal {
		t.Errorf("the message that panicked: %v; want internal", err)
	}
	if err := <-broken; err == nil {
		t.Error("the broken turn was answered well")
	}
	if err := <-other; err != nil {
		t.Errorf("the other session: %v", err)
	}
	if a := r.mustPrompt("again"); a.RestoredBy != protocol.RestoredResume {
		t.Errorf("restoredBy = %q; want resume", a.RestoredBy)
	}
	if n := countKind(r, "main", "user_message_chunk"); n != 2 {
		t.Errorf("%d user messages; want 2", n)
	}
	r.check()
}

func countKind(r *rig, id protocol.SessionID, kind string) (n int) {
	for _, e := range r.history(id) {
		if kindOf(e) == kind {
			n++
		}
	}
	return n
}

func TestSupervision_AgentKilledInATurn(t *testing.T) {
	r := newRig(t).start()
	broken := startTurn(t, r, "main", "[[slow 1000 20]]")
	r.agents.kill()
	if err := <-broken; protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Errorf("prompt: %v; want adapter_exited", err)
	}
	r.mustPrompt("again")
	r.check()
}

func TestSupervision_VMPanicRestartsItsTree(t *testing.T) {
	r := newRig(t).start()
	r.mustPrompt("first #one")
	broken := startTurn(t, r, "main", "[[slow 1000 20]]")
	if err := r.vm.VMPanic(r.ctx()); err == nil {
		t.Error("a panic was answered well")
	}
	if err := <-broken; err == nil {
		t.Error("the broken turn was answered well")
	}
	r.mustPrompt("again")
	if s := r.info("main"); s.State != protocol.StateIdle {
		t.Errorf("state = %s; want idle", s.State)
	}
	r.check()
}

func TestSupervision_VMThatFailsTooOftenIsGivenUp(t *testing.T) {
	r := newRig(t).start()
	second, err := r.node.Open(r.ctx(), "second", protocol.Descriptor{SQLiteFile: "/second"})
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	for end := time.Now().Add(patience); !failed && time.Now().Before(end); {
		if err = r.vm.VMPanic(r.ctx()); protocol.CodeOf(err) == protocol.CodeVMFailed {
			failed = true
		}
	}
	if !failed {
		t.Errorf("after many panics: %v; want vm_failed", err)
	}
	if _, err := r.prompt("hello"); protocol.CodeOf(err) != protocol.CodeVMFailed {
		t.Errorf("prompt: %v; want vm_failed", err)
	}
	if _, _, err := second.Sessions(r.ctx(), "", 0); err != nil {
		r.dump()
		t.Errorf("the other VM: %v (%v)", err, errors.Unwrap(err))
	}
	vm, err := r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"})
	if err != nil {
		t.Fatalf("open again: %v", err)
	}
	r.vm = vm
	r.mustPrompt("works again")
}

func TestClose_LeavesNoActorAndRefusesLateCallers(t *testing.T) {
	r := newRig(t).start()
	r.mustPrompt("hello")
	if err := r.vm.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.prompt("late"); protocol.CodeOf(err) != protocol.CodeShuttingDown {
		t.Errorf("late prompt: %v; want shutting_down", err)
	}
	if _, err := r.vm.Watch(r.ctx(), "main", 0); protocol.CodeOf(err) != protocol.CodeShuttingDown {
		t.Errorf("late watch: %v; want shutting_down", err)
	}
	if err := r.vm.Close(context.Background()); protocol.CodeOf(err) != protocol.CodeShuttingDown {
		t.Errorf("second close: %v; want shutting_down", err)
	}
}

// spySource lets a test use the handle that the store has.
type spySource struct {
	persistence.Source
	db persistence.DB
}

func (s *spySource) Open(inspect func(persistence.Querier) error) (db persistence.DB, err error) {
	s.db, err = s.Source.Open(inspect)
	return s.db, err
}

func TestFence_S2_6_AnotherProcessTakesOver(t *testing.T) {
	spy := &spySource{}
	r := newRig(t, func(r *rig) { spy.Source, r.source = r.source, spy }).start()
	r.mustPrompt("mine")
	before := len(r.history("main"))
	if _, err := actorstate.TakeFence(r.ctx(), spy.db, "{}", "theirs"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and it is not taken back
		if _, err := r.prompt("not mine any more"); protocol.CodeOf(err) != protocol.CodeVMFenced {
			t.Errorf("prompt: %v; want vm_fenced", err)
		}
	}
	if err := r.node.Close(r.ctx()); err != nil {
		t.Error(err)
	}
	r.start()
	if got := len(r.history("main")); got != before {
		t.Errorf("%d events; want %d: a fenced process wrote", got, before)
	}
	r.check()
}

func TestNode_LeavesNoActors(t *testing.T) {
	r := newRig(t).start()
	before := r.node.Descendants()
	vm, err := r.node.Open(r.ctx(), "second", protocol.Descriptor{SQLiteFile: "/second"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vm.Prompt(r.ctx(), actors.Prompt{
		Session: "main", Content: text("hi"), Open: &actors.OpenSession{Session: "main", Spec: spec()},
	}); err != nil {
		t.Fatal(err)
	}
	if err := vm.Close(r.ctx()); err != nil {
		t.Fatal(err)
	}
	for _, id := range r.node.Descendants() {
		if !slices.Contains(before, id) {
			t.Errorf("actor %s is left", id)
		}
	}
}
