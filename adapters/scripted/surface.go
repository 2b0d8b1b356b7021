package scripted

import "encoding/json"

// surface is what differs between the protocol versions. The conversation is
// the same below both; a surface only puts it into its version's words. Values
// returned are raw JSON.
type surface interface {
	// version is the protocolVersion it answers with.
	version() int
	// initialized is the result of initialize.
	initialized(o options) string
	// methods are those it has, initialize apart.
	methods() map[string]method
	// accepts says why a prompt with those blocks is refused.
	accepts(blocks []block) error
	// opened is the result of session/new (isNew), load and resume.
	opened(s *session, isNew bool) string
	// closedUnknown answers session/close of a session that is not open.
	closedUnknown(sessionID string) (string, error)
	// configOptions is the list of config options.
	configOptions(s *session) string
	// commands is the list of commands that --early-updates announces.
	commands() string

	// replay sends a message of the past; restored ends a load or resume.
	replay(c *conn, sessionID string, e entry)
	restored(c *conn, sessionID string)

	// taken says that a prompt is in the conversation; ended that its turn is
	// over. Each answers the prompt request in one version.
	taken(t *turn)
	ended(t *turn, stop string, failure *rpcError)

	// chunk is an update with a piece of a message; kind is its sessionUpdate.
	chunk(kind, messageID, content string) string
	// call is an update that announces a tool call (first) or changes it.
	call(c toolCall, first bool) string
	// permission is the params of a permission request about c.
	permission(sessionID string, c toolCall) string
	// blocked says that the turn waits for a person, or no longer does.
	blocked(t *turn, waiting bool)
	// abandon tells the client that a permission request is no longer needed.
	abandon(c *conn, p pending)
}

// surfaces are all there are, the newest last.
func surfaces(o options) []surface {
	return []surface{v1{noMessageIDs: o.noMessageIDs}, v2{}}
}

// clientCapabilities are what this agent may ask of the client.
type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// initialize settles the protocol version: the highest this agent has that is
// not above what the client asks for.
func (a *agent) initialize(m message) (string, error) {
	var p struct {
		ProtocolVersion    *int               `json:"protocolVersion"`
		ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	}
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	switch {
	case p.ProtocolVersion == nil:
		return "", fault(codeParams, "protocolVersion is missing")
	case a.worked:
		return "", fault(codeInvalid, "initialize must come before all other requests")
	}
	var chosen surface
	var supported []json.RawMessage
	for _, s := range surfaces(a.options) {
		if a.options.protocol != "auto" && a.options.protocol != decimal(s.version()) {
			continue
		}
		supported = append(supported, json.RawMessage(decimal(s.version())))
		if s.version() <= *p.ProtocolVersion {
			chosen = s
		}
	}
	if chosen == nil {
		return "", &rpcError{Code: codeVersion, Message: "unsupported protocol version",
			Data: json.RawMessage(`{"requested":` + decimal(*p.ProtocolVersion) + `,"supported":` + array(supported) + `}`)}
	}
	a.surface = chosen
	if chosen.version() == 1 { // later versions have no such callbacks
		a.client = p.ClientCapabilities
	}
	return chosen.initialized(a.options), nil
}
