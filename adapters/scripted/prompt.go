package scripted

import (
	"bytes"
	"encoding/json"
)

// sessionParams is what every request about a session has.
type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// prompt begins a turn, which answers the request.
func (a *agent) prompt(m message) (string, error) {
	var p struct {
		sessionParams
		Prompt []json.RawMessage `json:"prompt"`
	}
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	blocks, bad := parseBlocks(p.Prompt)
	if bad != nil {
		return "", bad
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	if err := a.surface.accepts(blocks); err != nil {
		return "", err
	}
	t, err := s.begin(a, m.ID, p.Prompt, blocks)
	if err != nil {
		return "", err
	}
	a.surface.taken(t)
	a.turns.Go(t.run)
	return "", errLater
}

// cancel is session/cancel sent as a request, which it is not: it is answered
// all the same.
func (a *agent) cancel(m message) (string, error) {
	var p sessionParams
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	if a.session(p.SessionID) == nil {
		return "", noSession(p.SessionID)
	}
	a.cancelTurn(p.SessionID)
	return "{}", nil
}

// cancelTurn cancels the running turn of a session, if both exist.
func (a *agent) cancelTurn(id string) {
	s := a.session(id)
	if s == nil {
		return
	}
	if t := s.running(); t != nil {
		t.cancel()
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
