package acp

import (
	"errors"

	"agentos/protocol/rawjson"
)

// The kinds of options that a policy may pick (S8.1). An option of another kind
// is for people only.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// Permission is a view of the params of session/request_permission.
type Permission struct {
	Raw        []byte
	SessionID  string
	Options    []Option // those that can be chosen, in the order offered
	ToolCallID string   // "" if the request names none
	Title      string   // "" if the request has none
}

// Option is one answer that is offered. Name and Kind are "" if they are
// missing or malformed.
type Option struct {
	ID, Name, Kind string
}

// ParsePermission returns a view of the params. An option without an id is left
// out: it cannot be chosen. Of options with one id the first counts.
func ParsePermission(params []byte) (Permission, error) {
	p := Permission{Raw: params}
	var ok bool
	if p.SessionID, ok = rawjson.GetString(params, "sessionId"); !ok {
		return Permission{}, errors.New("read session/request_permission: no sessionId")
	}
	options := getKind(params, '[', "options")
	if options == nil {
		return Permission{}, errors.New("read session/request_permission: no options")
	}
	offered := make(map[string]bool) // not p.Option: an agent may send a million options
	for raw := range rawjson.Elements(options) {
		id, ok := rawjson.GetString(raw, "optionId")
		if !ok || offered[id] {
			continue
		}
		offered[id] = true
		name, _ := rawjson.GetString(raw, "name")
		kind, _ := rawjson.GetString(raw, "kind")
		p.Options = append(p.Options, Option{ID: id, Name: name, Kind: kind})
	}
	p.ToolCallID, _ = rawjson.GetString(params, "toolCall", "toolCallId")
	p.Title, _ = rawjson.GetString(params, "toolCall", "title")
	return p, nil
}

// Option returns the option with that id.
func (p Permission) Option(id string) (Option, bool) {
	for _, o := range p.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}

// OfKind returns the first option of a kind.
func (p Permission) OfKind(kind string) (Option, bool) {
	for _, o := range p.Options {
		if o.Kind == kind {
			return o, true
		}
	}
	return Option{}, false
}

// PublicRequest returns a copy of params in which the bytes of every top-level
// sessionId value are those of sessionID; nothing else changes (S4.1).
func PublicRequest(params []byte, sessionID string) []byte {
	id := rawjson.AppendString(nil, sessionID)
	out := make([]byte, 0, len(params)+len(id))
	from := 0
	for m := range rawjson.Members(params) {
		if m.Is("sessionId") {
			out = append(append(out, params[from:m.ValueAt]...), id...)
			from = m.ValueAt + len(m.Value)
		}
	}
	return append(out, params[from:]...)
}

// Selected returns the result that chooses an option.
func Selected(optionID string) []byte {
	out := []byte(`{"outcome":{"outcome":"selected","optionId":`)
	return append(rawjson.AppendString(out, optionID), "}}"...)
}

// CancelledOutcome is the result for a permission that nobody decided (S4.1). It
// is raw: it must not be modified.
var CancelledOutcome = []byte(`{"outcome":{"outcome":"cancelled"}}`)
