package main

import (
	"context"
	"fmt"
	"time"

	"agentos/protocol"
)

// settleGrace is how long requests may take that no turn is behind, when the
// process ends.
const settleGrace = 250 * time.Millisecond

// linger waits for the turns that others run in this process, and for those of the
// queue, which nobody else would run until the next prompt. own is a turn that has
// ended already. It reports whether they have ended; closing now stops the wait.
// Behind it nothing new begins.
func (r *access) linger(own protocol.PromptID, now <-chan struct{}) bool {
	held := r.holder()
	if held == nil {
		return true
	}
	ctx, cancel := until(context.Background(), now)
	defer cancel()
	if n := held.holds.others(own); n > 0 {
		r.app.note(waitingFor(n, held.door.server.Prompts()))
		if held.holds.wait(ctx) != nil {
			return false
		}
	}
	held.door.server.Refuse()
	for { // one may have come in before the door was closed
		if held.holds.wait(ctx) != nil {
			return false
		}
		settled, enough := context.WithTimeout(ctx, settleGrace)
		err := held.door.server.Idle(settled)
		enough()
		if err == nil || held.holds.others("") == 0 {
			return ctx.Err() == nil
		}
	}
}

// waitingFor says what a process stays for.
func waitingFor(turns, attached int) string {
	if attached == 0 {
		return "running what is queued; Ctrl-C stops that, and leaves the rest in the queue"
	}
	return fmt.Sprintf("other commands run %s in this process, which ends with them; Ctrl-C ends both now", plural(turns, "turn"))
}

// finish ends a command's use of the VM: what others do here first. now has it
// closed at once.
func (r *access) finish(now <-chan struct{}) error {
	r.linger("", now)
	return r.close(context.Background())
}

// next is the signal that has not come yet.
func (s *signals) next() <-chan struct{} {
	select {
	case <-s.first:
		return s.second
	default:
		return s.first
	}
}
