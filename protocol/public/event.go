package public

import (
	"bytes"
	"strconv"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// The members of the envelopes. A payload's member of the same name is shown in
// `native`, whether or not the envelope has the member this time: else what a
// name means would depend on the event. Durable updates and deltas share one
// list, so that an update looks the same live and in history.
var (
	updateMembers = []string{
		"durability", "sessionId", "sequence", "timestamp", "acpVersion", "type", "run", "incomplete", "native",
		"afterSequence", "offset",
	}
	permissionMembers = []string{
		"durability", "sessionId", "sequence", "timestamp", "acpVersion", "type", "run", "incomplete", "native",
		"requestId",
	}
	outcomeMembers = append([]string{"status", "reason"}, permissionMembers...)
)

// timeLayout is how protocol.TimeMS formats itself; appending it saves a copy on
// the way of every event.
const timeLayout = "2006-01-02T15:04:05.000Z"

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
	dst = e.At.Time().AppendFormat(append(dst, `,"timestamp":"`...), timeLayout)
	dst = strconv.AppendInt(append(dst, `","acpVersion":`...), int64(e.ACP), 10)
	var room [roomFor]rawjson.Member
	members := membersOf(room[:0], e.Payload)
	switch e.Kind {
	case protocol.KindPermissionRequest:
		dst = append(dst, `,"type":"permission_request"`...)
		dst = appendText(dst, "requestId", string(e.Request))
		return append(appendNative(appendMarks(dst, e), e.Payload, members, permissionMembers, nil), '}')
	case protocol.KindPermissionResponse:
		dst = append(dst, `,"type":"permission_response"`...)
		dst = appendText(dst, "requestId", string(e.Request))
		dst = appendText(dst, "status", string(e.Status))
		if e.Reason != "" {
			dst = appendText(dst, "reason", string(e.Reason))
		}
		return append(appendNative(appendMarks(dst, e), e.Payload, members, outcomeMembers, nil), '}')
	}
	dst, kind := appendType(dst, e.Payload, members)
	return append(appendNative(appendMarks(dst, e), e.Payload, members, updateMembers, kind), '}')
}

// AppendDelta appends the public form of a live piece of an open run (S5.2).
func AppendDelta(dst []byte, id protocol.SessionID, d protocol.Delta) []byte {
	dst = rawjson.AppendString(append(dst, `{"durability":"ephemeral","sessionId":`...), string(id))
	dst = strconv.AppendInt(append(dst, `,"afterSequence":`...), int64(d.After), 10)
	dst = appendText(dst, "run", string(d.Run))
	dst = strconv.AppendInt(append(dst, `,"offset":`...), d.Offset, 10)
	dst = strconv.AppendInt(append(dst, `,"acpVersion":`...), int64(d.ACP), 10)
	var room [roomFor]rawjson.Member
	members := membersOf(room[:0], d.Payload)
	dst, kind := appendType(dst, d.Payload, members)
	return append(appendNative(dst, d.Payload, members, updateMembers, kind), '}')
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

// roomFor is how many members an update has at most, but for strange ones: with
// room for them on the stack a payload is read once and nothing is allocated.
const roomFor = 12

// membersOf fills list with the members of a payload; nil if there are more. Then
// the payload is read again each time: a list would take many times the memory
// of a payload that is nothing but tiny members, and it may be of 64 MiB.
func membersOf(list []rawjson.Member, payload []byte) []rawjson.Member {
	for m := range rawjson.Members(payload) {
		if len(list) == cap(list) {
			return nil
		}
		list = append(list, m)
	}
	return list
}

// appendType appends the type of an update, its sessionUpdate as spelled, and
// returns that; nil if there is none. Of several the last one counts.
func appendType(dst, payload []byte, members []rawjson.Member) (_, kind []byte) {
	dst = append(dst, `,"type":`...)
	if members == nil {
		kind, _ = rawjson.Get(payload, "sessionUpdate")
	}
	for _, m := range members {
		if m.Is("sessionUpdate") {
			kind = m.Value
		}
	}
	if rawjson.Kind(kind) == '"' {
		return append(dst, kind...), kind
	}
	return append(append(append(dst, '"'), unknownType...), '"'), nil
}

// appendNative appends the members of a payload: those whose name is reserved
// inside native, the others flat. The order within either is the payload's. kind
// is the value of the sessionUpdate that the envelope shows as its type, so that
// it is not repeated; nil if it shows none.
func appendNative(dst, payload []byte, members []rawjson.Member, reserved []string, kind []byte) []byte {
	if rawjson.Kind(payload) != '{' {
		if len(payload) == 0 {
			return dst
		}
		return rawjson.AppendLine(append(dst, `,"native":`...), payload)
	}
	if members == nil {
		return appendMany(dst, payload, reserved, kind)
	}
	kept := 0
	for _, m := range members {
		switch {
		case isKind(m, kind):
		case m.IsAny(reserved):
			members[kept] = m
			kept++
		default:
			dst = appendMember(append(dst, ','), m)
		}
	}
	for i, m := range members[:kept] {
		dst = appendMember(append(dst, opening(i == 0)...), m)
	}
	return closing(dst, kept > 0)
}

// appendMany is appendNative for a payload whose members are not listed.
func appendMany(dst, payload []byte, reserved []string, kind []byte) []byte {
	kept := 0
	for m := range rawjson.Members(payload) {
		if m.IsAny(reserved) {
			kept++
		} else if !isKind(m, kind) {
			dst = appendMember(append(dst, ','), m)
		}
	}
	if kept == 0 {
		return dst
	}
	first := true
	for m := range rawjson.Members(payload) {
		if m.IsAny(reserved) {
			dst = appendMember(append(dst, opening(first)...), m)
			first = false
		}
	}
	return closing(dst, true)
}

func isKind(m rawjson.Member, kind []byte) bool {
	return kind != nil && m.Is("sessionUpdate") && bytes.Equal(m.Value, kind)
}

// opening is what comes before a member of native.
func opening(first bool) string {
	if first {
		return `,"native":{`
	}
	return ","
}

func closing(dst []byte, opened bool) []byte {
	if opened {
		return append(dst, '}')
	}
	return dst
}

func appendMember(dst []byte, m rawjson.Member) []byte {
	dst = append(append(dst, m.Key...), ':')
	return rawjson.AppendLine(dst, m.Value)
}
