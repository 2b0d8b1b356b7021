package core

import (
	"context"
	"encoding/json"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// query runs one read and turns its errors into those of S14.
func query(ctx context.Context, q persistence.Querier, maxBytes int64, sql string, args ...persistence.Value) ([]values, error) {
	rows, err := q.Query(ctx, persistence.Query{SQL: sql, Args: args, MaxBytes: maxBytes})
	if err != nil {
		return nil, persistence.Err(err)
	}
	return rows, nil
}

// damaged is the error for rows that no version of the runtime writes.
func damaged(id protocol.SessionID, cause error) error {
	return protocol.Errorf(protocol.CodeStorageError,
		"the stored rows of session %q are damaged; run agentos doctor to see how", string(id)).Because(cause)
}

// scan reads one row from left to right. The first surprise stays in err, and
// everything after it is the zero value.
type scan struct {
	row values
	at  int
	err error
}

func (s *scan) next() persistence.Value {
	if s.err == nil && s.at >= len(s.row) {
		s.err = fmt.Errorf("row of %d columns is too short", len(s.row))
	}
	if s.err != nil {
		return nil
	}
	v := s.row[s.at]
	s.at++
	return v
}

func (s *scan) wrong(v persistence.Value, want string) {
	if s.err == nil {
		s.err = fmt.Errorf("column %d holds a %T, want %s", s.at, v, want)
	}
}

// null reports whether the next column is NULL, and stays in front of it.
func (s *scan) null() bool { return s.err == nil && s.at < len(s.row) && s.row[s.at] == nil }

func (s *scan) int() int64 {
	v := s.next()
	n, ok := v.(int64)
	if !ok {
		s.wrong(v, "an integer")
	}
	return n
}

// intOr0 reads NULL as 0.
func (s *scan) intOr0() int64 {
	if s.null() {
		s.next()
		return 0
	}
	return s.int()
}

func (s *scan) bool() bool { return s.int() != 0 }

func (s *scan) text() string {
	v := s.next()
	t, ok := v.(string)
	if !ok {
		s.wrong(v, "text")
	}
	return t
}

// textOr reads NULL as "".
func (s *scan) textOr() string {
	if s.null() {
		s.next()
		return ""
	}
	return s.text()
}

// raw reads text as bytes, and NULL as nil.
func (s *scan) raw() []byte {
	if s.null() {
		s.next()
		return nil
	}
	return []byte(s.text())
}

// array reads a JSON array; the empty one is nil.
func (s *scan) array() []byte {
	if t := s.text(); t != "" && t != "[]" {
		return []byte(t)
	}
	return nil
}

// title reads text that may be absent and may be empty.
func (s *scan) title() *string {
	if s.null() {
		s.next()
		return nil
	}
	t := s.text()
	return &t
}

func (s *scan) hash() (h [32]byte) {
	v := s.next()
	b, ok := v.([]byte)
	if !ok || len(b) != len(h) {
		s.wrong(v, "32 bytes")
	}
	copy(h[:], b)
	return h
}

// json decodes a column of our own JSON into v; NULL leaves v alone.
func (s *scan) json(v any) {
	b := s.raw()
	if b == nil || s.err != nil {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		s.err = fmt.Errorf("column %d: %w", s.at, err)
	}
}

// record reads the columns of sessionColumns.
func (s *scan) record() protocol.Record {
	var r protocol.Record
	r.ID = protocol.SessionID(s.text())
	r.Spec.Agent = s.text()
	if !s.null() {
		r.Spec.Launch = new(protocol.Launch)
	}
	s.json(r.Spec.Launch)
	r.Spec.Cwd = s.text()
	r.Spec.Policy = protocol.Policy(s.text())
	r.Spec.SkipOSInstructions = s.bool()
	r.Spec.AdditionalInstructions = s.textOr()
	s.json(&r.Spec.AdditionalDirectories)
	s.json(&r.Spec.Env)
	r.Spec.MCPServers = s.array()
	r.State = protocol.State(s.text())
	r.Prompt = protocol.PromptID(s.textOr())
	r.StartedAt = protocol.TimeMS(s.intOr0())
	r.ACPSession = protocol.ACPSessionID(s.textOr())
	r.Prompted = s.bool()
	r.Armed = s.bool()
	r.RestoredBy = protocol.RestoredBy(s.textOr())
	r.PreviousACP = s.array()
	r.Capabilities = s.raw()
	r.AgentInfo = s.raw()
	r.ConfigRevision = s.int()
	r.ConfigOptions = s.array()
	r.Title = s.title()
	r.Metadata = s.raw()
	r.Latest = protocol.Sequence(s.int())
	r.OldestRetained = protocol.Sequence(s.int())
	r.RetainedEvents = s.int()
	r.RetainedBytes = s.int()
	r.CreatedAt = protocol.TimeMS(s.int())
	r.UpdatedAt = protocol.TimeMS(s.int())
	if len(r.Spec.AdditionalDirectories) == 0 {
		r.Spec.AdditionalDirectories = nil
	}
	if len(r.Spec.Env) == 0 {
		r.Spec.Env = nil
	}
	return r
}

// prompt reads the columns of promptColumns.
func (s *scan) prompt() protocol.Prompt {
	return protocol.Prompt{
		ID:         protocol.PromptID(s.text()),
		Key:        s.textOr(),
		Hash:       s.hash(),
		State:      protocol.PromptState(s.text()),
		Result:     s.raw(),
		Error:      s.raw(),
		FirstInput: protocol.Sequence(s.intOr0()),
		LastOutput: protocol.Sequence(s.intOr0()),
		CreatedAt:  protocol.TimeMS(s.int()),
		UpdatedAt:  protocol.TimeMS(s.int()),
	}
}

// permission reads the columns of recordColumns.
func (s *scan) permission() protocol.Permission {
	return protocol.Permission{
		ID:        protocol.RequestID(s.text()),
		Prompt:    protocol.PromptID(s.text()),
		State:     protocol.PermissionState(s.text()),
		Request:   s.raw(),
		Response:  s.raw(),
		Reason:    protocol.Reason(s.textOr()),
		Sequence:  protocol.Sequence(s.intOr0()),
		CreatedAt: protocol.TimeMS(s.int()),
		UpdatedAt: protocol.TimeMS(s.int()),
	}
}

// event reads the columns of eventColumns.
func (s *scan) event() protocol.Event {
	return protocol.Event{
		Sequence:   protocol.Sequence(s.int()),
		At:         protocol.TimeMS(s.int()),
		ACP:        int(s.int()),
		Kind:       protocol.EventKind(s.text()),
		Request:    protocol.RequestID(s.textOr()),
		Payload:    s.raw(),
		Status:     protocol.OutcomeStatus(s.textOr()),
		Reason:     protocol.Reason(s.textOr()),
		Incomplete: s.bool(),
	}
}

// pageEvent reads the columns of pageColumns.
func (s *scan) pageEvent() protocol.Event {
	e := protocol.Event{
		Sequence: protocol.Sequence(s.int()),
		At:       protocol.TimeMS(s.int()),
		ACP:      int(s.int()),
		Payload:  s.blob(),
	}
	rare := struct {
		Kind       protocol.EventKind
		Request    protocol.RequestID
		Status     protocol.OutcomeStatus
		Reason     protocol.Reason
		Incomplete int
	}{Kind: protocol.KindUpdate}
	s.json(&rare)
	e.Kind, e.Request, e.Status, e.Reason, e.Incomplete = rare.Kind, rare.Request, rare.Status, rare.Reason, rare.Incomplete != 0
	return e
}

// blob reads bytes that are the caller's own.
func (s *scan) blob() []byte {
	v := s.next()
	b, ok := v.([]byte)
	if !ok {
		s.wrong(v, "bytes")
	}
	return b
}
