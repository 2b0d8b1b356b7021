package public

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

var errNoEnvelope = errors.New("the line is no public event")

// IsDelta reports whether a line is a delta's, and not an event's.
func IsDelta(line []byte) bool {
	for m := range rawjson.Members(line) {
		return m.Is("durability") && rawjson.IsString(m.Value, "ephemeral")
	}
	return false
}

// ParseEvent reads what AppendEvent wrote; AppendEvent of the result is line
// again. The payload has the members of the one that was stored and their bytes;
// what the public form does not show of it, the place of sessionUpdate and of the
// members of native among the others, may differ. It is a copy.
//
// An update of the kind "permission_request" whose own first member is named
// requestId looks like a request of ours, here and to every reader of the line.
func ParseEvent(line []byte) (protocol.SessionID, protocol.Event, error) {
	p := parser{reserved: updateMembers}
	if err := p.read(line); err != nil {
		return "", protocol.Event{}, fmt.Errorf("parse event: %w", err)
	}
	switch kind := string(p.kind); kind {
	case `"permission_request"`, `"permission_response"`:
		q := parser{reserved: permissionMembers, event: protocol.Event{Kind: protocol.KindPermissionRequest}}
		if kind == `"permission_response"` {
			q = parser{reserved: outcomeMembers, event: protocol.Event{Kind: protocol.KindPermissionResponse}}
		}
		if err := q.read(line); err != nil {
			return "", protocol.Event{}, fmt.Errorf("parse event: %w", err)
		}
		if e := q.done(); bytes.Equal(AppendEvent(nil, q.session, e), line) {
			return q.session, e, nil
		}
	}
	p.event.Kind = protocol.KindUpdate
	return p.session, p.done(), nil
}

// ParseDelta reads what AppendDelta wrote, as ParseEvent does.
func ParseDelta(line []byte) (protocol.SessionID, protocol.Delta, error) {
	p := parser{reserved: updateMembers}
	if err := p.read(line); err != nil {
		return "", protocol.Delta{}, fmt.Errorf("parse delta: %w", err)
	}
	p.event.Kind = protocol.KindUpdate
	e := p.done()
	return p.session, protocol.Delta{After: p.after, Run: e.Run, Offset: p.offset, ACP: e.ACP, Payload: e.Payload}, nil
}

// parser takes the members of a line apart: those of the envelope from those of
// the payload.
type parser struct {
	reserved []string

	session protocol.SessionID
	event   protocol.Event
	kind    []byte // the type, raw
	after   protocol.Sequence
	offset  int64
	flat    []rawjson.Member // of the payload
	native  []byte           // raw; nil if there is none
	whole   []byte           // native with the white space around it, if it is a whole payload
}

func (p *parser) read(line []byte) error {
	for m := range rawjson.Members(line) {
		if !m.IsAny(p.reserved) {
			p.flat = append(p.flat, m)
			continue
		}
		if err := p.member(m); err != nil {
			return err
		}
		if p.native != nil { // a whole payload is the last member
			p.whole = bytes.TrimSuffix(line[m.KeyAt+len(m.Key)+1:], []byte{'}'})
		}
	}
	if p.session == "" || p.kind == nil {
		return errNoEnvelope
	}
	return nil
}

func (p *parser) member(m rawjson.Member) error {
	text, _ := rawjson.String(m.Value)
	number, _ := rawjson.Int(m.Value)
	switch m.Name() {
	case "sessionId":
		p.session = protocol.SessionID(text)
	case "sequence":
		p.event.Sequence = protocol.Sequence(number)
	case "timestamp":
		at, err := time.Parse(timeLayout, text)
		if err != nil {
			return fmt.Errorf("timestamp: %w", err)
		}
		p.event.At = protocol.TimeOf(at)
	case "acpVersion":
		p.event.ACP = int(number)
	case "type":
		p.kind = m.Value
	case "run":
		p.event.Run = protocol.RunID(text)
	case "incomplete":
		p.event.Incomplete = string(m.Value) == "true"
	case "afterSequence":
		p.after = protocol.Sequence(number)
	case "offset":
		p.offset = number
	case "requestId":
		p.event.Request = protocol.RequestID(text)
	case "status":
		p.event.Status = protocol.OutcomeStatus(text)
	case "reason":
		p.event.Reason = protocol.Reason(text)
	case "native":
		p.native = m.Value
	}
	return nil
}

// done returns the event with its payload put together again.
func (p *parser) done() protocol.Event {
	e := p.event
	if len(p.flat) == 0 && p.native != nil && rawjson.Kind(p.native) != '{' {
		e.Payload = slices.Clone(p.whole)
		return e
	}
	out := []byte{'{'}
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	var last []byte // the last sessionUpdate among the members
	for _, m := range p.flat {
		if m.Is("sessionUpdate") {
			last = m.Value
		}
	}
	named := e.Kind == protocol.KindUpdate && (string(p.kind) != `"`+unknownType+`"` || last == nil || rawjson.Kind(last) == '"')
	if named && last == nil {
		add([]byte(`"sessionUpdate"`), p.kind)
	}
	for _, m := range p.flat {
		add(m.Key, m.Value)
	}
	if named && last != nil { // of several the last one counts
		add([]byte(`"sessionUpdate"`), p.kind)
	}
	for m := range rawjson.Members(p.native) {
		add(m.Key, m.Value)
	}
	e.Payload = append(out, '}')
	return e
}
