package sessions

import "agentos/protocol"

// Ready is what the owner of a Session has to do after one or more Steps.
type Ready struct {
	// Now may be delivered before Batch is durable. Of what is in it, deltas
	// MUST NOT overtake the Publish effects of earlier Readys.
	Now []Effect
	// Batch is the write, or nil. Batches MUST be stored in order, and none
	// after one that was refused.
	Batch *protocol.Batch
	// AfterCommit MUST be delivered after Batch and every earlier batch are
	// durable, in order, or not at all.
	AfterCommit []Effect
	// Timer is the next moment at which the machine wants a Tick; 0 for none. It
	// replaces the timer of the Ready before.
	Timer protocol.TimeMS
}

// Empty reports whether there is nothing to do but keep the timer.
func (r Ready) Empty() bool {
	return len(r.Now) == 0 && r.Batch == nil && len(r.AfterCommit) == 0
}

// Effect is one thing for the owner to do.
type Effect interface{ effect() }

// The effects.
type (
	// Publish shows a stored event to whoever watches.
	Publish struct{ Event protocol.Event }
	// PublishDelta shows a live piece of an open run.
	PublishDelta struct{ Delta protocol.Delta }
	// PublishState tells watchers the session's state. It follows the events
	// that led to it.
	PublishState struct {
		State    protocol.State
		Prompt   protocol.PromptID
		Sequence protocol.Sequence
	}
	// StartRoute brings up an adapter for the session as Record describes it.
	// RouteUp or RouteDown follows, always.
	StartRoute struct {
		Route  Route
		Record protocol.Record
	}
	// StopRoute ends a route. RouteDown follows, always; the machine counts the
	// route as gone already.
	StopRoute struct{ Route Route }
	// Dispatch sends a prompt, exactly once, if Session.Dispatch still allows it
	// at that moment.
	Dispatch struct {
		Route  Route
		Prompt protocol.PromptID
		ACP    protocol.ACPSessionID
		Blocks [][]byte
	}
	// SendCancel sends session/cancel for a dispatched prompt.
	SendCancel struct {
		Route  Route
		Prompt protocol.PromptID
		ACP    protocol.ACPSessionID
	}
	// AnswerCall answers a request of the adapter with a raw result.
	AnswerCall struct {
		Route  Route
		Call   Call
		Result []byte
	}
	// SetConfig asks the adapter for a setting; Configured follows, unless the
	// route goes down.
	SetConfig struct {
		Route   Route
		Token   Token // of the caller, to tell the answers apart
		ACP     protocol.ACPSessionID
		Setting protocol.Setting
	}
	// FindKey asks for what is stored under an idempotency key; KeyFound follows,
	// always.
	FindKey struct{ Key string }
	// FindPermission has the owner answer a caller from what is stored of a request
	// that is not pending (S8.3).
	FindPermission struct {
		Token   Token
		Request protocol.RequestID
	}
	// Reply answers a caller: with Err, or with a value that depends on the
	// input: Answer for Prompt, or Queued if it does not wait for its turn;
	// Permission for Permit; Config for Configure; none otherwise.
	Reply struct {
		Token      Token
		Answer     *protocol.Answer
		Queued     *protocol.Queued
		Permission *protocol.PermissionAnswer
		Config     *protocol.ConfigInfo
		Err        *protocol.Error
	}
	// Deleted says that the session is gone, and what is left of it can be swept.
	Deleted struct{}
	// Hold keeps the VM awake for a prompt, from reservation to the terminal commit
	// (S13), or for a Configure, from its Step to its Reply. For is its id.
	Hold struct{ For string }
	// Release ends the Hold of the same id. It follows from the machine that held
	// or from the Settle of its successor; what was held for something that was
	// never stored is the owner's to release when it starts over from Replay.
	Release struct{ For string }
	// Note is a line for the log. It holds no payload.
	Note struct{ Text string }
)

func (Publish) effect()        {}
func (PublishDelta) effect()   {}
func (PublishState) effect()   {}
func (StartRoute) effect()     {}
func (StopRoute) effect()      {}
func (Dispatch) effect()       {}
func (SendCancel) effect()     {}
func (AnswerCall) effect()     {}
func (SetConfig) effect()      {}
func (FindKey) effect()        {}
func (FindPermission) effect() {}
func (Deleted) effect()        {}
func (Reply) effect()          {}
func (Hold) effect()           {}
func (Release) effect()        {}
func (Note) effect()           {}
