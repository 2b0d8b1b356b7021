package scripted

import (
	"context"
	"slices"
	"time"

	"agentos/adapters/scripted/store"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// What a turn waits for: time, and the client's answers. Every wait ends with
// the turn's cancel or the end of the process.

// answerGrace is how long a cancelled turn waits for the client's answers to
// its requests. The client must give them; a turn that never ends because it
// does not would hide that.
const answerGrace = 2 * time.Second

// sleep waits; false if the turn was cancelled meanwhile.
func (t *turn) sleep(d time.Duration) bool { return sleep(t.ctx, d) }

// sleep waits for d or the end of ctx; false if the latter came first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// sayLate sends the deltas that come after the answer, in the message the turn
// ended with.
func (t *turn) sayLate() {
	slices.Sort(t.late)
	var waited time.Duration
	for _, after := range t.late {
		if !sleep(t.agent.ctx, after-waited) {
			return
		}
		waited = after
		if t.last == "" {
			t.last = t.session.nextMessage()
		}
		m := store.Said{MessageID: t.last, Text: "(late)"}
		if err := t.session.remember(func() error { return t.session.store.Late(t.session.id, m) }); err != nil {
			t.agent.complain(err) // there is no request left to answer with it
		}
		t.update(t.agent.surface.Chunk("agent_message_chunk", m.MessageID, surface.Text(m.Text)))
	}
}

// await receives the answers to requests. When the turn is cancelled onCancel
// is called once, if given, with those that are open, and the client has
// answerGrace for them; what is still open then counts as cancelled.
func (t *turn) await(requests []wire.Request, onCancel func(open []wire.Request)) []wire.Reply {
	replies := make([]wire.Reply, len(requests))
	cancelled := t.ctx.Done()
	var deadline <-chan time.Time
	for i := 0; i < len(requests); {
		select {
		case replies[i] = <-requests[i].Reply:
			i++
		case <-cancelled:
			cancelled, deadline = nil, time.After(answerGrace)
			if onCancel != nil {
				onCancel(wire.Unanswered(requests[i:]))
			}
		case <-deadline:
			deadline = nil
			for ; i < len(requests); i++ {
				t.agent.conn.Forget(requests[i])
				replies[i] = wire.Reply{Err: wire.Errorf(wire.CodeCancelled, "the client did not answer")}
			}
		case <-t.agent.ctx.Done():
			for ; i < len(requests); i++ {
				replies[i] = wire.Reply{Err: wire.Errorf(wire.CodeCancelled, "the process is ending")}
			}
		}
	}
	return replies
}
