package actors_test

import (
	"context"
	"testing"
	"time"

	"agentos/actors"
	"agentos/protocol"
)

// TestCA09_ACancelThatCannotBeDelivered: an agent that has closed its input and lives
// on cannot be told to stop. The turn ends cancelled for its caller, by force, and
// the next prompt has a new process. The clock stands still, so that it is not the
// grace of a cancel that is ignored which ends it.
func TestCA09_ACancelThatCannotBeDelivered(t *testing.T) {
	puppets := make(chan *puppet, 2)
	r := newRig(t)
	r.config.Clock = func() time.Time { return time.UnixMilli(1_796_072_693_695) }
	r.config.Adapters = func(_ context.Context, _ protocol.Record, h actors.Hooks) (actors.Adapter, error) {
		p := newPuppet(h)
		puppets <- p
		return p, nil
	}
	r.start()
	for range 2 {
		answers := make(chan *protocol.Answer, 1)
		go func() {
			a, err := r.prompt("go")
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
		p := <-puppets
		<-p.asked
		p.input.broken.Store(true)
		if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
			t.Error(err)
		}
		if a := <-answers; a == nil || a.StopReason != protocol.StopCancelled || !a.Forced {
			t.Fatalf("answer = %+v; want cancelled, by force", a)
		}
	}
	r.check()
}
