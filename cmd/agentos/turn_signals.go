package main

import (
	"context"
	"fmt"
	"time"

	"agentos/protocol"
)

// heed waits for signals. The first one cancels the turn, durably; its end is
// waited for. The second one ends it whatever the agent does.
func (t *turn) heed(id protocol.SessionID, ended <-chan struct{}, giveUp func()) {
	select {
	case <-ended:
		return
	case <-t.signals.first:
	}
	t.stopped = true
	if t.app.notes.Terminal {
		fmt.Fprintln(t.app.err) // behind the terminal's own ^C
	}
	t.note("cancelling the turn; a second interrupt stops waiting for the agent")
	for {
		// Again and again: a cancel that overtakes its turn hits nothing, and one
		// that was heard before does no harm.
		if err := bounded(func(ctx context.Context) error { return t.cancel(ctx, id) }); err != nil {
			t.note("cancel: " + err.Error())
		}
		select {
		case <-ended:
			return
		case <-time.After(cancelAgain):
		case <-t.signals.second:
			if t.vm.holder() != nil {
				t.interrupt(id, ended)
			} // else its process goes on cancelling it
			giveUp()
			return
		}
	}
}

// cancel ends our own turn, and no other: also one that waits in the queue. Of a
// prompt whose key has had its turn begun by somebody else there is none.
func (t *turn) cancel(ctx context.Context, id protocol.SessionID) error {
	if t.flags.queue {
		switch err := t.vm.QueueRemove(ctx, id, t.prompt); protocol.CodeOf(err) {
		case "":
			return nil
		case protocol.CodeRequestNotFound, protocol.CodeSessionBusy, protocol.CodeSessionNotFound: // it has begun
		default:
			return err
		}
	}
	return t.vm.Cancel(ctx, id, t.prompt)
}

// interrupt ends the turn now: the session settles it at once, and only the
// agent's process may take longer.
func (t *turn) interrupt(id protocol.SessionID, ended <-chan struct{}) {
	unloaded := make(chan error, 1)
	go func() { // ends in time; the process may end before it
		unloaded <- bounded(func(ctx context.Context) error { return t.vm.Unload(ctx, id) })
	}()
	select {
	case <-ended:
	case err := <-unloaded:
		if err != nil {
			t.note("unload: " + err.Error())
		}
	}
}
