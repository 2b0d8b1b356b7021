package scripted

import (
	"bytes"
	"encoding/json"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/wire"
)

// prompt begins a turn. The turn answers the request where the surface does not.
func (a *agent) prompt(m wire.Message) (string, error) {
	var p struct {
		sessionParams
		Prompt []json.RawMessage `json:"prompt"`
	}
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	blocks, err := script.ParseBlocks(p.Prompt)
	if err != nil {
		return "", wire.Errorf(wire.CodeParams, "%v", err)
	}
	for i, b := range blocks {
		if !a.surface.Accepts(b.Kind) {
			return "", wire.Errorf(wire.CodeParams, "prompt block %d: %q is not supported", i, b.Kind)
		}
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	t, err := s.begin(a, m.ID, p.Prompt, blocks)
	if err != nil {
		return "", err
	}
	updates, result := a.surface.Taken(t.messageID, p.Prompt)
	for _, u := range updates {
		t.update(u)
	}
	if result != "" {
		a.conn.Answer(m.ID, result)
	}
	a.spawn(t.run)
	return "", errLater
}

// cancel is session/cancel sent as a request, which it is not: it is answered
// all the same.
func (a *agent) cancel(m wire.Message) (string, error) {
	var p sessionParams
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	if a.session(p.SessionID) == nil {
		return "", noSession(p.SessionID)
	}
	a.conn.Answer(m.ID, "{}") // first, so that its place in the output is certain
	a.cancelTurn(p.SessionID)
	return "", errLater
}

// cancelTurn cancels the running turn of a session, if both exist.
func (a *agent) cancelTurn(id string) {
	if s := a.session(id); s != nil {
		if t := s.running(); t != nil {
			t.cancel()
		}
	}
}

// cancelRequest cancels the turn whose prompt request has that id.
func (a *agent) cancelRequest(id json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if t := s.running(); t != nil && bytes.Equal(t.request, id) {
			t.cancel()
		}
	}
}

// session returns an open session, or nil.
func (a *agent) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}
