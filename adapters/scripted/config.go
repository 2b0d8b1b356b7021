package scripted

import (
	"encoding/json"
	"strconv"
)

// setConfigOption answers session/set_config_option with all options.
func (a *agent) setConfigOption(m message) (string, error) {
	var p struct {
		sessionParams
		ConfigID string          `json:"configId"`
		Value    json.RawMessage `json:"value"`
	}
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	var value string
	if p.ConfigID != "verbosity" {
		return "", fault(codeParams, "no config option %q", p.ConfigID)
	}
	if json.Unmarshal(p.Value, &value) != nil || (value != verbosityShort && value != verbosityLong) {
		return "", fault(codeParams, "verbosity is short or long")
	}
	s.mu.Lock()
	s.verbosity = value
	s.mu.Unlock()
	return `{"configOptions":` + a.surface.configOptions(s) + `}`, nil
}

// setMode answers session/set_mode. The modes change nothing but what
// [[session]] says.
func (a *agent) setMode(m message) (string, error) {
	var p struct {
		sessionParams
		ModeID string `json:"modeId"`
	}
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return "", noSession(p.SessionID)
	}
	if p.ModeID != modeDefault && p.ModeID != modePlan {
		return "", fault(codeParams, "no mode %q", p.ModeID)
	}
	s.mu.Lock()
	s.mode = p.ModeID
	s.mu.Unlock()
	return "{}", nil
}

// verbosityOption is the one config option; idName is what its version calls
// the option's id.
func verbosityOption(idName string, s *session) string {
	verbosity, _ := s.settings()
	return `[{"` + idName + `":"verbosity","name":"Verbosity","description":"How much a plain reply says","type":"select","currentValue":"` + verbosity +
		`","options":[{"value":"short","name":"Short"},{"value":"long","name":"Long"}]}]`
}

func decimal(n int) string { return strconv.Itoa(n) }
