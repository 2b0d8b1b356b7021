package scripted

import (
	"encoding/json"
	"errors"
	"strconv"

	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// errLater says that a request is answered by another goroutine.
var errLater = errors.New("answered later")

// method answers one kind of request: a raw result, or an error, which is
// errLater, a *wire.Error, or anything else for an internal error.
type method func(a *agent, m wire.Message) (string, error)

// methods are all there are, initialize apart; a surface says which it has.
var methods = map[string]method{
	"session/new":               (*agent).create,
	"session/load":              (*agent).load,
	"session/resume":            (*agent).resume,
	"session/list":              (*agent).list,
	"session/close":             (*agent).close,
	"session/prompt":            (*agent).prompt,
	"session/cancel":            (*agent).cancel,
	"session/set_mode":          (*agent).setMode,
	"session/set_config_option": (*agent).setConfigOption,
}

// sessionParams is what every request about a session has.
type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// noSession is the answer about a session that does not exist or is not open.
func noSession(id string) *wire.Error {
	return &wire.Error{Code: wire.CodeNotFound, Message: "session not found", Data: json.RawMessage(`{"sessionId":` + wire.Quote(id) + `}`)}
}

// request answers a request, or lets its method do so later.
func (a *agent) request(m wire.Message) {
	result, err := a.call(m)
	var failure *wire.Error
	switch {
	case err == nil:
		a.conn.Answer(m.ID, result)
	case errors.Is(err, errLater):
	case errors.As(err, &failure):
		a.conn.Refuse(m.ID, failure)
	default:
		a.conn.Refuse(m.ID, wire.Errorf(wire.CodeInternal, "%v", err))
	}
}

func (a *agent) call(m wire.Message) (string, error) {
	if m.Method == "initialize" {
		return a.initialize(m)
	}
	if a.surface == nil {
		return "", wire.Errorf(wire.CodeInvalid, "the first request must be initialize")
	}
	a.worked = true
	do := methods[m.Method]
	if do == nil || !a.surface.Has(m.Method) || a.withheld(m.Method) {
		return "", &wire.Error{Code: wire.CodeNoMethod, Message: "method not found: " + m.Method, Data: json.RawMessage(`{"method":` + wire.Quote(m.Method) + `}`)}
	}
	return do(a, m)
}

// withheld tells whether a flag took a method away.
func (a *agent) withheld(method string) bool {
	switch method {
	case "session/resume":
		return a.options.noResume
	case "session/load":
		return a.options.noLoad
	case "session/close":
		return a.options.closeUnsupported
	}
	return false
}

// notice takes a notification. Unknown ones are ignored, as are all before
// initialize.
func (a *agent) notice(m wire.Message) {
	if a.surface == nil {
		return
	}
	switch m.Method {
	case "session/cancel":
		var p sessionParams
		if wire.Decode(m.Params, &p) == nil {
			a.cancelTurn(p.SessionID)
		}
	case "$/cancel_request":
		var p struct{ RequestID json.RawMessage }
		if wire.Decode(m.Params, &p) == nil && p.RequestID != nil {
			a.cancelRequest(p.RequestID)
		}
	}
}

// initialize settles the protocol version: the highest this agent has that is
// not above what the client asks for.
func (a *agent) initialize(m wire.Message) (string, error) {
	var p struct {
		ProtocolVersion    *int           `json:"protocolVersion"`
		ClientCapabilities surface.Client `json:"clientCapabilities"`
	}
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	switch {
	case p.ProtocolVersion == nil:
		return "", wire.Errorf(wire.CodeParams, "protocolVersion is missing")
	case a.worked:
		return "", wire.Errorf(wire.CodeInvalid, "initialize must come before all other requests")
	}
	features := a.options.features()
	var chosen surface.Surface
	var supported []json.RawMessage
	for _, s := range surface.All(features) {
		version := strconv.Itoa(s.Version())
		if a.options.protocol != "auto" && a.options.protocol != version {
			continue
		}
		supported = append(supported, json.RawMessage(version))
		if s.Version() <= *p.ProtocolVersion {
			chosen = s
		}
	}
	if chosen == nil {
		return "", &wire.Error{Code: wire.CodeVersion, Message: "unsupported protocol version",
			Data: json.RawMessage(`{"requested":` + strconv.Itoa(*p.ProtocolVersion) + `,"supported":` + wire.Array(supported) + `}`)}
	}
	a.surface = chosen
	if chosen.Callbacks() {
		a.client = p.ClientCapabilities
	}
	return chosen.Initialized(features), nil
}
