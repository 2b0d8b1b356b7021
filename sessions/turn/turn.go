// Package turn is the life of one turn, from the reservation of its prompt to
// its end. It is pure: it knows phases, cancelling and the agent's last message,
// and nothing of routes, events or storage.
//
// A Turn is soft state: a crash loses it, and what the database says about the
// prompt decides (sessions.md S6.10).
package turn

import "agentos/protocol"

// Phase says how far a turn has come.
type Phase int

// The phases, in order (S6.2).
const (
	Reserved   Phase = iota // nothing is stored or sent; the route is coming up
	Accepted                // the prompt is stored, or being stored; nothing was sent
	Dispatched              // the prompt was sent, exactly once
)

// Turn is one turn.
type Turn struct {
	ID         protocol.PromptID
	Callers    []uint64            // who waits for its end, by token; not looked into
	Queued     bool                // it comes from the queue, and is there until it is accepted
	Key        string              // idempotency key that it holds, "" if none
	Hash       [32]byte            // of its input
	IfAsked    int                 // what the caller wants done with questions; not looked into
	RestoredBy protocol.RestoredBy // how its adapter session was had
	Before     protocol.MessageID  // of the last agent message before it, "" if unknown
	phase      Phase

	cancelled bool            // a cancel was asked for
	deadline  protocol.TimeMS // when an ignored cancel becomes a forced one; 0 if none
	verdict   *protocol.Error // why the turn will fail whatever the adapter answers; nil if open

	output  int64            // bytes of adapter output stored in the turn
	message []protocol.Event // agent messages since the last user event
	earlier protocol.MessageID
}

// Reserve returns a turn that nothing is stored of yet.
func Reserve(id protocol.PromptID, callers ...uint64) *Turn {
	return &Turn{ID: id, Callers: callers}
}

// Phase returns how far the turn has come.
func (t *Turn) Phase() Phase { return t.phase }

// Accept moves a reserved turn on.
func (t *Turn) Accept() {
	if t.phase != Reserved {
		panic("turn: accepted twice")
	}
	t.phase = Accepted
}

// Dispatch moves an accepted turn on and reports whether the prompt may be sent
// now. It is true at most once in the life of a turn.
func (t *Turn) Dispatch() bool {
	if t.phase != Accepted {
		return false
	}
	t.phase = Dispatched
	return true
}

// Cancel notes that the turn shall end; if the adapter has not ended it by
// deadline it is Overdue. It reports whether this is the first such wish, the
// one that session/cancel is sent for.
func (t *Turn) Cancel(deadline protocol.TimeMS) (first bool) {
	if t.cancelled {
		return false
	}
	t.cancelled, t.deadline = true, deadline
	return true
}

// Cancelled reports whether an end was asked for.
func (t *Turn) Cancelled() bool { return t.cancelled }

// Deadline returns when an ignored cancel becomes a forced one; 0 if none runs.
func (t *Turn) Deadline() protocol.TimeMS { return t.deadline }

// Overdue reports whether a cancel has been ignored for too long.
func (t *Turn) Overdue(now protocol.TimeMS) bool { return t.deadline != 0 && now >= t.deadline }

// Condemn fixes why the turn will have failed when it ends. The first reason
// stands.
func (t *Turn) Condemn(why *protocol.Error) {
	if t.verdict == nil {
		t.verdict = why
	}
}

// Verdict returns why the turn will have failed, or nil.
func (t *Turn) Verdict() *protocol.Error { return t.verdict }

// Output counts n more bytes of adapter output and returns the sum.
func (t *Turn) Output(n int) int64 {
	t.output += int64(n)
	return t.output
}

// Said notes a stored agent message and its id; Heard notes a stored user
// message, after which the agent's message starts anew (S6.6).
func (t *Turn) Said(e protocol.Event, id protocol.MessageID) {
	t.message = append(t.message, e)
	if id == t.Before {
		t.earlier = id
	}
}

// Earlier returns the id of the message before the turn if more of that message
// was said in it, else "".
func (t *Turn) Earlier() protocol.MessageID { return t.earlier }

// Heard notes a stored user message.
func (t *Turn) Heard() { t.message = nil }

// Message returns the agent's message events since the last user event.
func (t *Turn) Message() []protocol.Event { return t.message }
