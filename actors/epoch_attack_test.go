package actors_test

import (
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
)

// A session that is restarted numbers its routes on: what the route of the
// incarnation before has still said, its end for one, meets no new route.
func TestAttack_LateDownOfAnOldRoute(t *testing.T) {
	r := newRig(t).start()
	r.mustPrompt("first")
	_ = r.vm.SessionPanic(r.ctx(), "main")
	r.mustPrompt("second")
	_ = r.vm.SessionPanic(r.ctx(), "main")
	r.mustPrompt("third")
	_ = r.vm.SessionPanic(r.ctx(), "main") // restarted after 10 ms or more
	done := make(chan error, 1)
	var a *protocol.Answer
	go func() {
		var err error
		a, err = r.promptFor(10*time.Second, "main", "fourth [[chunks 2]]")
		done <- err
	}()
	pause(2 * time.Millisecond)
	r.agents.kill()
	if err := <-done; err != nil {
		t.Errorf("prompt behind the panic: %v (%v)", err, a)
	}
	if _, err := r.promptFor(10*time.Second, "main", "fifth"); err != nil {
		t.Errorf("the prompt after: %v", err)
	}
	if running, _ := r.agents.counts(); running > 1 {
		t.Errorf("%d agents run for one session", running)
	}
	r.check()
}

// A machine that is rebuilt after a panic sees everything that its predecessor
// had under way: the load waits for those commits.
func TestAttack_LoadAfterAPanicSeesCommitsUnderWay(t *testing.T) {
	r, h := newHookedRig(t)
	if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: spec()}); err != nil {
		t.Fatal(err)
	}
	r.mustPrompt("first")
	blocked, free := make(chan struct{}), make(chan struct{})
	n := 0
	h.set(func(h *hooked) {
		h.tx = func(run func() error) error {
			if n++; n == 1 { // the acceptance
				close(blocked)
				<-free
			}
			return run()
		}
	})
	errs := make(chan error, 1)
	go func() { _, err := r.prompt("under way"); errs <- err }()
	<-blocked
	_ = r.vm.SessionPanic(r.ctx(), "main")
	if err := <-errs; protocol.CodeOf(err) != protocol.CodeStorageOutcomeUnknown {
		t.Errorf("the prompt under way: %v; want storage_outcome_unknown", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { close(free) })
	if err := r.vm.Unload(r.ctx(), "main"); err != nil { // the new incarnation is up
		t.Logf("unload: %v", err)
	}
	<-free
	r.mustPromptSoon(t)
	r.check()
}

func (r *rig) mustPromptSoon(t *testing.T) {
	t.Helper()
	if _, err := r.promptFor(10*time.Second, "main", "next"); err != nil {
		t.Errorf("the next prompt: %v; want an answer", err)
	}
}

// Whoever watches sees everything that is stored, even if the session failed
// between the commit of a turn's end and its publication.
func TestAttack_WatcherSeesTheEndOverAPanic(t *testing.T) {
	r, h := newHookedRig(t)
	r.mustPrompt("first")
	w := r.watch("main", 0)
	blocked, free := make(chan struct{}), make(chan struct{})
	n := 0
	go func() { _, _ = r.prompt("second [[wait]]") }()
	w.until(t, "running", func(i feed.Item) bool { return i.State != nil && i.State.State == protocol.StateRunning })
	h.set(func(h *hooked) {
		h.tx = func(run func() error) error {
			if n++; n == 1 {
				err := run()
				close(blocked)
				<-free
				return err
			}
			return run()
		}
	})
	go func() { _ = r.vm.Cancel(r.ctx(), "main", "") }()
	<-blocked
	h.set(func(h *hooked) { h.tx = nil })
	_ = r.vm.SessionPanic(r.ctx(), "main")
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Logf("unload: %v", err)
	}
	close(free)
	events := r.history("main")
	end := time.After(3 * time.Second)
	for {
		seen := 0
		var state protocol.State
		for _, i := range w.all() {
			if i.Event != nil {
				seen = int(i.Event.Sequence)
			}
			if i.State != nil {
				state = i.State.State
			}
		}
		if info := r.info("main"); seen == len(events) && state == info.State {
			return
		}
		select {
		case <-w.more:
		case <-end:
			info := r.info("main")
			t.Fatalf("the watcher has seen %d of %d events and state %s; the database says %s", seen, len(events), state, info.State)
		}
	}
}
