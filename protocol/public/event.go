package public

import (
	"slices"
	"strconv"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// The members of the envelopes. A payload's member of the same name is shown in
// `native`, whether or not the envelope has the member this time: else what a
// name means would depend on the event.
var (
	eventMembers      = []string{"durability", "sessionId", "sequence", "timestamp", "acpVersion", "type", "run", "incomplete", "native"}
	permissionMembers = append([]string{"requestId"}, eventMembers...)
	outcomeMembers    = append([]string{"status", "reason"}, permissionMembers...)
	deltaMembers      = []string{"durability", "sessionId", "afterSequence", "run", "offset", "acpVersion", "type", "native"}
)

// unknownType is the type of an update that does not name its kind. Such are
// not stored by this runtime, but a database may come from elsewhere.
const unknownType = "unknown"

// AppendEvent appends the public form of a durable event (S5.1): the envelope,
// then the payload's own members, flat and raw. The payload's sessionUpdate is
// the type and is not repeated. A payload that is not an object is the value of
// `native`.
func AppendEvent(dst []byte, id protocol.SessionID, e protocol.Event) []byte {
	dst = rawjson.AppendString(append(dst, `{"durability":"durable","sessionId":`...), string(id))
	dst = strconv.AppendInt(append(dst, `,"sequence":`...), int64(e.Sequence), 10)
	dst = append(append(dst, `,"timestamp":"`...), e.At.String()...)
	dst = strconv.AppendInt(append(dst, `","acpVersion":`...), int64(e.ACP), 10)
	switch e.Kind {
	case protocol.KindPermissionRequest:
		dst = append(dst, `,"type":"permission_request"`...)
		dst = appendText(dst, "requestId", string(e.Request))
		return append(appendNative(appendMarks(dst, e), e.Payload, permissionMembers), '}')
	case protocol.KindPermissionResponse:
		dst = append(dst, `,"type":"permission_response"`...)
		dst = appendText(dst, "requestId", string(e.Request))
		dst = appendText(dst, "status", string(e.Status))
		if e.Reason != "" {
			dst = appendText(dst, "reason", string(e.Reason))
		}
		return append(appendNative(appendMarks(dst, e), e.Payload, outcomeMembers), '}')
	}
	dst = appendType(dst, e.Payload)
	return append(appendNative(appendMarks(dst, e), e.Payload, eventMembers, "sessionUpdate"), '}')
}

// AppendDelta appends the public form of a live piece of an open run (S5.2).
func AppendDelta(dst []byte, id protocol.SessionID, d protocol.Delta) []byte {
	dst = rawjson.AppendString(append(dst, `{"durability":"ephemeral","sessionId":`...), string(id))
	dst = strconv.AppendInt(append(dst, `,"afterSequence":`...), int64(d.After), 10)
	dst = appendText(dst, "run", string(d.Run))
	dst = strconv.AppendInt(append(dst, `,"offset":`...), d.Offset, 10)
	dst = strconv.AppendInt(append(dst, `,"acpVersion":`...), int64(d.ACP), 10)
	dst = appendType(dst, d.Payload)
	return append(appendNative(dst, d.Payload, deltaMembers, "sessionUpdate"), '}')
}

// appendMarks appends what only some events have.
func appendMarks(dst []byte, e protocol.Event) []byte {
	if e.Run != "" {
		dst = appendText(dst, "run", string(e.Run))
	}
	if e.Incomplete {
		dst = append(dst, `,"incomplete":true`...)
	}
	return dst
}

func appendText(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return rawjson.AppendString(dst, value)
}

// appendType appends the type of an update: its sessionUpdate, as spelled.
func appendType(dst, payload []byte) []byte {
	dst = append(dst, `,"type":`...)
	if kind, ok := rawjson.Get(payload, "sessionUpdate"); ok && rawjson.Kind(kind) == '"' {
		return append(dst, kind...)
	}
	return append(append(append(dst, '"'), unknownType...), '"')
}

// appendNative appends the members of a payload: those whose name is reserved
// inside native, those that the envelope shows already not at all, and the
// others flat. The order within either is the payload's.
func appendNative(dst, payload []byte, reserved []string, shown ...string) []byte {
	if rawjson.Kind(payload) != '{' {
		if len(payload) == 0 {
			return dst
		}
		return rawjson.AppendLine(append(dst, `,"native":`...), payload)
	}
	var kept []rawjson.Member
	for m := range rawjson.Members(payload) {
		switch {
		case isOneOf(m, shown) && rawjson.Kind(m.Value) == '"':
		case isOneOf(m, reserved):
			kept = append(kept, m)
		default:
			dst = appendMember(append(dst, ','), m)
		}
	}
	for i, m := range kept {
		if i == 0 {
			dst = append(dst, `,"native":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendMember(dst, m)
	}
	if kept != nil {
		dst = append(dst, '}')
	}
	return dst
}

func isOneOf(m rawjson.Member, names []string) bool { return slices.ContainsFunc(names, m.Is) }

func appendMember(dst []byte, m rawjson.Member) []byte {
	dst = append(append(dst, m.Key...), ':')
	return rawjson.AppendLine(dst, m.Value)
}
