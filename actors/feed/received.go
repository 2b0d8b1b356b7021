package feed

import (
	"agentos/protocol"
	"agentos/protocol/public"
)

// Received returns i, an event or delta that another process has published, with
// the bytes it was received in, so that it is not encoded again. It is for the
// client's end of a subscription.
func Received(id protocol.SessionID, i Item, json []byte) Item {
	i = newItem(id, i)
	*i.json = json
	i.once.Do(func() {})
	return i
}

// Line returns what a subscriber over a wire, or `watch --json`, is sent for i:
// its JSON, or that of a state. The caller must not modify it.
func (i Item) Line() []byte {
	if i.State == nil {
		return i.JSON()
	}
	return public.AppendState(nil, public.State{
		State: i.State.State, Session: i.session, Prompt: i.State.Prompt, Sequence: i.State.Sequence,
	})
}

// NewState returns a state as a subscriber gets it.
func NewState(id protocol.SessionID, s State) Item {
	return Received(id, Item{State: &s}, nil)
}
