package acp

import (
	"errors"

	"agentos/protocol/rawjson"
)

// Initialize is a view of the result of initialize. A capability that is
// absent, null or malformed is not supported.
type Initialize struct {
	ProtocolVersion int

	LoadSession           bool
	Resume                bool
	Close                 bool
	List                  bool
	AdditionalDirectories bool
	SystemPromptAppend    bool

	Image           bool
	Audio           bool
	EmbeddedContext bool

	MCPHTTP bool
	MCPSSE  bool

	AuthMethods  []AuthMethod
	Capabilities []byte // raw agentCapabilities; nil if absent
	AgentInfo    []byte // raw; nil if absent or null
}

// AuthMethod is a way to sign in.
type AuthMethod struct {
	ID, Name, Description string
	Terminal              bool // by running the agent's program in a terminal, never by authenticate
}

// ParseInitialize returns a view of the result. It fails only without a
// protocol version.
func ParseInitialize(result []byte) (Initialize, error) {
	raw, _ := rawjson.Get(result, "protocolVersion")
	version, ok := rawjson.Int(raw)
	if !ok || version < 0 || version > 65535 {
		return Initialize{}, errors.New("read result of initialize: no protocolVersion")
	}
	caps := getKind(result, '{', "agentCapabilities")
	has := func(names ...string) bool { return getKind(caps, '{', names...) != nil }
	is := func(names ...string) bool { return getKind(caps, 't', names...) != nil }
	v := Initialize{
		ProtocolVersion:       int(version),
		LoadSession:           is("loadSession"),
		Resume:                has("sessionCapabilities", "resume"),
		Close:                 has("sessionCapabilities", "close"),
		List:                  has("sessionCapabilities", "list"),
		AdditionalDirectories: has("sessionCapabilities", "additionalDirectories"),
		SystemPromptAppend:    has("sessionCapabilities", "systemPrompt"),
		Image:                 is("promptCapabilities", "image"),
		Audio:                 is("promptCapabilities", "audio"),
		EmbeddedContext:       is("promptCapabilities", "embeddedContext"),
		MCPHTTP:               is("mcpCapabilities", "http"),
		MCPSSE:                is("mcpCapabilities", "sse"),
		Capabilities:          caps,
		AgentInfo:             getKind(result, '{', "agentInfo"),
	}
	for raw := range rawjson.Elements(getKind(result, '[', "authMethods")) {
		var m AuthMethod
		if m.ID, ok = rawjson.GetString(raw, "id"); !ok {
			continue
		}
		m.Name, _ = rawjson.GetString(raw, "name")
		m.Description, _ = rawjson.GetString(raw, "description")
		kind, _ := rawjson.GetString(raw, "type")
		m.Terminal = kind == "terminal"
		v.AuthMethods = append(v.AuthMethods, m)
	}
	return v, nil
}

// Session is a view of the result of session/new, load or resume. The result
// may be null where there is nothing to say (load); then all is empty.
type Session struct {
	ID            string // "" if absent; new must have one
	Modes         []byte // raw object; nil if absent or null
	ConfigOptions []byte // raw array; nil if absent or null
}

// ParseSession returns a view of the result.
func ParseSession(result []byte) Session {
	id, _ := rawjson.GetString(result, "sessionId")
	return Session{
		ID:            id,
		Modes:         getKind(result, '{', "modes"),
		ConfigOptions: ParseConfigOptions(result),
	}
}

// ParsePrompt returns the stop reason of a turn, known or not.
func ParsePrompt(result []byte) (stopReason string, err error) {
	stopReason, ok := rawjson.GetString(result, "stopReason")
	if !ok || stopReason == "" {
		return "", errors.New("read result of session/prompt: no stopReason")
	}
	return stopReason, nil
}
