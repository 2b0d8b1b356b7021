package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/protocol"
)

// A caller whose Open fails does not take the VM away from those who have it:
// theirs works again when the cause is gone.
func TestAttack_OpenThatFailsClosesNobodysVM(t *testing.T) {
	r, h := newHookedRig(t)
	r.mustPrompt("first")
	h.set(func(h *hooked) { h.open = func() error { return refusal(persistence.ClassIO) } })
	_ = r.vm.VMPanic(r.ctx()) // it starts over, and its disk is gone
	if _, err := r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"}); err == nil {
		t.Error("open without a disk was answered well")
	}
	h.set(func(h *hooked) { h.open = nil })
	for range 5 {
		if _, err := r.promptFor(10*time.Second, "main", "again"); err == nil {
			return
		} else if protocol.CodeOf(err) == protocol.CodeShuttingDown {
			t.Fatalf("prompt: %v; want the VM to work again", err)
		}
	}
	t.Error("the VM does not work again")
}

// The caller learns how the agent ended, every time.
func TestAttack_S6_5_ExitIsToldAsItWas(t *testing.T) {
	r := newRig(t).start()
	for n := range 20 {
		_, err := r.promptFor(10*time.Second, "main", "[[chunks 2]] [[exit 7]]")
		if protocol.CodeOf(err) != protocol.CodeAdapterExited || !strings.Contains(err.Error(), "ended with 7") {
			t.Fatalf("prompt %d: %v; want adapter_exited with the exit code", n, err)
		}
	}
}

// A session that loads while its VM is taken over by another process is told so:
// its callers do not wait for ever.
func TestAttack_FenceWhileASessionLoads(t *testing.T) {
	spy := &spySource{}
	h := &hooked{}
	r := newRig(t, func(r *rig) { spy.Source = r.source; h.Source = spy; r.source = h }).start()
	for _, id := range []protocol.SessionID{"a", "b"} {
		if _, err := r.promptIn(id, "first"); err != nil {
			t.Fatal(err)
		}
	}
	blocked, free := make(chan struct{}), make(chan struct{})
	n := 0
	h.set(func(h *hooked) {
		h.tx = func(run func() error) error {
			if n++; n == 1 {
				close(blocked)
				<-free
			}
			return run()
		}
	})
	first := make(chan error, 2)
	go func() { _, err := r.promptFor(10*time.Second, "a", "second"); first <- err }()
	<-blocked
	go func() { _, err := r.promptFor(10*time.Second, "b", "second"); first <- err }()
	pause(100 * time.Millisecond) // b's acceptance is queued
	_ = r.vm.SessionPanic(r.ctx(), "b")
	pause(100 * time.Millisecond) // and b loads
	if _, err := actorstate.TakeFence(r.ctx(), spy.db, "{}", "theirs"); err != nil {
		t.Fatal(err)
	}
	third := make(chan error, 1)
	go func() { _, err := r.promptFor(5*time.Second, "b", "third"); third <- err }()
	pause(50 * time.Millisecond)
	close(free)
	for _, c := range []<-chan error{first, first, third} {
		if err := <-c; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("prompt: %v; want an error that says why", err)
		}
	}
}
