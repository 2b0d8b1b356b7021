package public

import (
	"strconv"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// AppendAnswer appends {"result":{...}}, the last word of a prompt whose turn
// has ended (S6.6). message is null if the agent said nothing, its id null if
// the agent names no messages.
func AppendAnswer(dst []byte, a protocol.Answer) []byte {
	if a.Stored != nil { // of an older runtime: as it is (S6.6)
		return append(rawjson.AppendLine(append(dst, `{"result":`...), a.Stored), '}')
	}
	dst = rawjson.AppendString(append(dst, `{"result":{"sessionId":`...), string(a.Session))
	dst = appendText(dst, "promptId", string(a.Prompt))
	dst = appendText(dst, "stopReason", a.StopReason)
	dst = appendMessage(append(dst, `,"message":`...), a.Message)
	dst = appendText(dst, "restoredBy", string(a.RestoredBy))
	if a.Forced {
		dst = append(dst, `,"forced":true`...)
	}
	return append(dst, "}}"...)
}

// AppendConfig appends how the agent of a session is set, with its own values raw:
// {"sessionId","revision","configOptions","modes"}; null for what it has not.
func AppendConfig(dst []byte, id protocol.SessionID, c protocol.ConfigInfo) []byte {
	dst = rawjson.AppendString(append(dst, `{"sessionId":`...), string(id))
	dst = strconv.AppendInt(append(dst, `,"revision":`...), c.Revision, 10)
	dst = appendRaw(append(dst, `,"configOptions":`...), c.Options)
	return append(appendRaw(append(dst, `,"modes":`...), c.Modes), '}')
}

// appendRaw appends a raw value on one line, nil as null.
func appendRaw(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, "null"...)
	}
	return rawjson.AppendLine(dst, raw)
}

// AppendQueued appends {"queued":{...}}, the last word of a prompt that does not
// wait for its turn (S6.9). position is 0 for one whose turn has begun.
func AppendQueued(dst []byte, q protocol.Queued) []byte {
	dst = rawjson.AppendString(append(dst, `{"queued":{"queueId":`...), string(q.ID))
	dst = strconv.AppendInt(append(dst, `,"position":`...), q.Position, 10)
	dst = appendOptional(append(dst, `,"key":`...), q.Key)
	dst = appendText(dst, "createdAt", q.CreatedAt.String())
	return append(dst, "}}"...)
}

func appendMessage(dst []byte, m *protocol.Message) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = appendOptional(append(dst, `{"id":`...), string(m.ID))
	dst = append(dst, `,"role":"agent","content":[`...)
	for i, block := range m.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendLine(dst, block)
	}
	return append(dst, "]}"...)
}

// appendOptional appends a text, "" as null.
func appendOptional(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, s)
}

// AppendSession appends a SessionInfo object (S11.1).
func AppendSession(dst []byte, s protocol.SessionInfo) []byte {
	dst = rawjson.AppendString(append(dst, `{"sessionId":`...), string(s.ID))
	dst = appendText(dst, "agent", s.Agent)
	dst = appendText(dst, "cwd", s.Cwd)
	dst = append(dst, `,"additionalDirectories":[`...)
	for i, dir := range s.AdditionalDirectories {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, dir)
	}
	dst = appendText(append(dst, ']'), "state", string(s.State))
	dst = appendOptional(append(dst, `,"promptId":`...), string(s.Prompt))
	dst = append(dst, `,"error":`...)
	if len(s.Error) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = rawjson.AppendLine(dst, s.Error)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"latestSequence", int64(s.LatestSequence)},
		{"oldestRetainedSequence", int64(s.OldestRetainedSequence)},
		{"retainedEvents", s.RetainedEvents},
		{"retainedBytes", s.RetainedBytes},
	} {
		dst = append(append(append(dst, `,"`...), n.name...), `":`...)
		dst = strconv.AppendInt(dst, n.value, 10)
	}
	dst = append(dst, `,"title":`...)
	if s.Title == nil {
		dst = append(dst, "null"...)
	} else {
		dst = rawjson.AppendString(dst, *s.Title)
	}
	dst = appendText(dst, "createdAt", s.CreatedAt.String())
	return append(appendText(dst, "updatedAt", s.UpdatedAt.String()), '}')
}
