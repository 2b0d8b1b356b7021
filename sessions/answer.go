package sessions

import (
	"strconv"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// Message builds the agent's message of a turn from its agent_message events
// after the last user event (S6.6); nil if there are none. It serves the live
// answer and a stored one alike.
//
// earlier is the id of the last agent message before the turn if more of it came
// in the turn; a stored result has it by this name. What an adapter still says of
// that message, most of all after a cancel, belongs to the turn before and is
// left out, unless the turn says nothing else: some adapters have one id for
// everything.
func Message(events []protocol.Event, earlier protocol.MessageID) *protocol.Message {
	var own, all protocol.Message
	for _, e := range events {
		u, err := acp.ParseUpdate(e.Payload)
		if err != nil || u.Chunk != acp.Agent || u.ContentRaw == nil {
			continue
		}
		extend(&all, u)
		if u.MessageID == "" || u.MessageID != string(earlier) {
			extend(&own, u)
		}
	}
	switch {
	case len(own.Content) > 0:
		return &own
	case len(all.Content) > 0:
		return &all
	}
	return nil
}

// extend adds a chunk. Blocks without an id, like an adapter's own warnings, do
// not take the message's id away.
func extend(m *protocol.Message, u acp.Update) {
	m.Content = append(m.Content, u.ContentRaw)
	if u.MessageID != "" {
		m.ID = protocol.MessageID(u.MessageID)
	}
}

// Spoken appends to said, what the agent has said since the last user event, what
// is said in more, the events behind it: what Message is made of (S6.6).
func Spoken(said, more []protocol.Event) []protocol.Event {
	for _, e := range more {
		u, err := acp.ParseUpdate(e.Payload)
		switch {
		case e.Kind != protocol.KindUpdate || err != nil:
		case u.Chunk == acp.User:
			said = nil
		case u.Chunk == acp.Agent:
			said = append(said, e)
		}
	}
	return said
}

// Recall returns what the caller of a prompt that has ended got: from its row,
// and from the Spoken events of its turn. Of a prompt that has not ended there
// is nothing to recall; it is busy.
func Recall(id protocol.SessionID, p protocol.Prompt, spoken []protocol.Event) StoredKey {
	found := StoredKey{Hash: p.Hash}
	switch p.State {
	case protocol.PromptCompletedState:
		a := recallAnswer(p.Result, spoken)
		a.Session, a.Prompt, a.Recalled = id, p.ID, true
		found.Answer = &a
	case protocol.PromptFailedState, protocol.PromptCancelledState:
		found.Err = public.ParseErrorObject(p.Error)
	default:
		found.Err = protocol.Errorf(protocol.CodeSessionBusy, "prompt %s of session %q has not ended", p.ID, id)
	}
	return found
}

// recallAnswer reads a stored result. An older runtime stored the message along
// with it, and its result is handed out as it is.
func recallAnswer(raw []byte, spoken []protocol.Event) (a protocol.Answer) {
	var earlier protocol.MessageID
	for m := range rawjson.Members(raw) {
		text, _ := rawjson.String(m.Value)
		switch {
		case m.Is("stopReason"):
			a.StopReason = text
		case m.Is("restoredBy"):
			a.RestoredBy = protocol.RestoredBy(text)
		case m.Is("forced"):
			a.Forced = string(m.Value) == "true"
		case m.Is("earlier"):
			earlier = protocol.MessageID(text)
		case m.Is("message"):
			a.Stored, a.Message = raw, storedMessage(m.Value)
		}
	}
	if a.Stored == nil {
		a.Message = Message(spoken, earlier)
	}
	return a
}

func storedMessage(raw []byte) *protocol.Message {
	content, ok := rawjson.Get(raw, "content")
	if !ok {
		return nil
	}
	id, _ := rawjson.GetString(raw, "id")
	m := &protocol.Message{ID: protocol.MessageID(id)}
	for block := range rawjson.Elements(content) {
		m.Content = append(m.Content, block)
	}
	return m
}

// result is what is stored of an answer: the message itself is in the events
// (S6.6).
func result(a *protocol.Answer, p protocol.Prompt, earlier protocol.MessageID) []byte {
	b := append([]byte(nil), `{"stopReason":`...)
	b = rawjson.AppendString(b, a.StopReason)
	b = append(b, `,"first":`...)
	b = strconv.AppendInt(b, int64(p.FirstInput), 10)
	b = append(b, `,"last":`...)
	b = strconv.AppendInt(b, int64(p.LastOutput), 10)
	b = append(b, `,"messageId":`...)
	if a.Message == nil || a.Message.ID == "" {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendString(b, string(a.Message.ID))
	}
	b = append(b, `,"restoredBy":`...)
	b = rawjson.AppendString(b, string(a.RestoredBy))
	if a.Forced {
		b = append(b, `,"forced":true`...)
	}
	if earlier != "" {
		b = rawjson.AppendString(append(b, `,"earlier":`...), string(earlier))
	}
	return append(b, '}')
}
