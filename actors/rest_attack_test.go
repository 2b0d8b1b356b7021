package actors_test

import (
	"errors"
	"testing"
	"time"

	"context"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence"
	"agentos/protocol"
)

// A route that ends while a session settles is forgotten, even if the settling
// is refused in the end and the session goes to rest.
func TestAttack_RestForgetsRoutesThatEndedMeanwhile(t *testing.T) {
	r, h := newHookedRig(t)
	r.mustPrompt("first")
	w := r.watch("main", 0)
	errs := make(chan error, 1)
	go func() { _, err := r.prompt("[[slow 20 5]]"); errs <- err }()
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })

	n := 0
	blocked, free := make(chan struct{}), make(chan struct{})
	h.set(func(h *hooked) {
		h.tx = func(run func() error) error {
			n++ // the writer is one goroutine
			switch n {
			case 1: // the turn's commit
				return refusal(persistence.ClassFull)
			case 2: // the settling
				close(blocked)
				<-free
				return refusal(persistence.ClassFull)
			}
			return run()
		}
	})
	<-blocked
	for { // the route is told to stop by the settling; wait until its agent is gone
		if running, _ := r.agents.counts(); running == 0 {
			break
		}
		pause(time.Millisecond)
	}
	pause(50 * time.Millisecond) // and has said so
	close(free)
	if err := <-errs; err == nil {
		t.Error("the turn of a full disk was answered well")
	}
	for n := range 3 {
		_, err := r.promptFor(5*time.Second, "main", "again")
		if err == nil {
			return
		}
		t.Logf("prompt %d: %v", n, err)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("prompt %d is never answered", n)
		}
	}
	t.Fatal("the session does not work again")
}

// A route that was kept over a reload which failed is not adopted by a later one:
// it was told to stop.
func TestAttack_RestKeepsNoRoute(t *testing.T) {
	slowStop := make(chan struct{})
	stopping := make(chan struct{}, 10)
	r, h := newHookedRig(t, func(r *rig) {
		launch := r.agents.launch
		r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
			a, err := launch(ctx, rec, h)
			if err != nil {
				return nil, err
			}
			return slowStopper{a, stopping, slowStop}, nil
		}
	})
	defer func() {
		select {
		case <-slowStop:
		default:
			close(slowStop)
		}
	}()
	r.mustPrompt("first")
	// The acceptance of a prompt is refused, and then it cannot be read.
	h.set(func(h *hooked) {
		h.tx = func(func() error) error { return refusal(persistence.ClassFull) }
		h.query = func(string) error { return refusal(persistence.ClassIO) }
	})
	if _, err := r.prompt("refused"); err == nil {
		t.Fatal("a prompt on a full disk was answered well")
	}
	h.set(func(h *hooked) { h.tx, h.query = nil, nil })
	errs := make(chan error, 1)
	go func() { _, err := r.promptFor(10*time.Second, "main", "second"); errs <- err }()
	pause(100 * time.Millisecond)
	close(slowStop)
	if err := <-errs; err != nil {
		t.Errorf("prompt: %v; want an answer from a new route", err)
	}
	r.check()
}

// slowStopper is an adapter that is dead at once, but not put away before free is closed.
type slowStopper struct {
	actors.Adapter
	stopping chan<- struct{}
	free     <-chan struct{}
}

func (s slowStopper) Stop(g adaptersGrace) error {
	select {
	case s.stopping <- struct{}{}:
	default:
	}
	err := s.Adapter.Stop(g)
	<-s.free
	return err
}
