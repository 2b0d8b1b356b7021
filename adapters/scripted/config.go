package scripted

import (
	"encoding/json"

	"agentos/adapters/scripted/wire"
)

// setConfigOption answers session/set_config_option with all options.
func (a *agent) setConfigOption(m wire.Message) (string, error) {
	var p struct {
		sessionParams
		ConfigID string          `json:"configId"`
		Value    json.RawMessage `json:"value"`
	}
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	if p.ConfigID != "verbosity" {
		return "", wire.Errorf(wire.CodeParams, "there is no config option %q", p.ConfigID)
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil || (value != verbosityShort && value != verbosityLong) {
		return "", wire.Errorf(wire.CodeParams, "verbosity is short or long")
	}
	s.mu.Lock()
	s.verbosity = value
	s.mu.Unlock()
	return `{"configOptions":` + a.surface.ConfigOptions(value) + `}`, nil
}

// setMode answers session/set_mode. The modes change nothing but what
// [[session]] says.
func (a *agent) setMode(m wire.Message) (string, error) {
	var p struct {
		sessionParams
		ModeID string `json:"modeId"`
	}
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	if p.ModeID != modeDefault && p.ModeID != modePlan {
		return "", wire.Errorf(wire.CodeParams, "there is no mode %q", p.ModeID)
	}
	s.mu.Lock()
	s.mode = p.ModeID
	s.mu.Unlock()
	return "{}", nil
}
