package sessions

import (
	"strconv"

	"agentos/protocol"
	"agentos/protocol/acp"
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
