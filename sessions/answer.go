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
func Message(events []protocol.Event) *protocol.Message {
	if len(events) == 0 {
		return nil
	}
	m := &protocol.Message{}
	for _, e := range events {
		u, err := acp.ParseUpdate(e.Payload)
		if err != nil || u.Chunk != acp.Agent {
			continue
		}
		m.Content = append(m.Content, u.ContentRaw)
		m.ID = protocol.MessageID(u.MessageID)
	}
	if len(m.Content) == 0 {
		return nil
	}
	return m
}

// result is what is stored of an answer: the message itself is in the events
// (S6.6).
func result(a *protocol.Answer, p protocol.Prompt) []byte {
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
	return append(b, '}')
}
