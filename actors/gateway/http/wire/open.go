package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// openBody is the body of an opening. A member that is there is given explicitly
// and compared with a session that exists (S6.1), unless Given says which are.
type openBody struct {
	Session      *protocol.SessionID `json:"sessionId"`
	Agent        *string             `json:"agent"`
	Launch       *protocol.Launch    `json:"launch"`
	Cwd          *string             `json:"cwd"`
	Directories  *[]string           `json:"additionalDirectories"`
	Env          *map[string]string  `json:"env"`
	MCPServers   json.RawMessage     `json:"mcpServers"`
	Policy       *protocol.Policy    `json:"permissionPolicy"`
	Instructions *string             `json:"additionalInstructions"`
	SkipOS       *bool               `json:"skipOsInstructions"`
	Given        *[]string           `json:"given"`
}

// fields are the names of what can be given, as the body has them.
var fields = []struct {
	name  string
	field actors.Field
}{
	{"agent", actors.FieldAgent}, {"cwd", actors.FieldCwd}, {"additionalDirectories", actors.FieldDirectories},
	{"env", actors.FieldEnv}, {"mcpServers", actors.FieldMCPServers}, {"permissionPolicy", actors.FieldPolicy},
	{"additionalInstructions", actors.FieldInstructions}, {"skipOsInstructions", actors.FieldSkipOS},
}

// AppendOpen appends the body of an opening, with all that it says.
func AppendOpen(dst []byte, o actors.OpenSession) []byte {
	given := []string{}
	for _, f := range fields {
		if o.Given&f.field != 0 {
			given = append(given, f.name)
		}
	}
	s := o.Spec
	dst = rawjson.AppendString(append(dst, `{"sessionId":`...), string(o.Session))
	dst = appendValue(dst, "agent", s.Agent)
	dst = appendValue(dst, "launch", s.Launch)
	dst = appendValue(dst, "cwd", s.Cwd)
	dst = appendValue(dst, "additionalDirectories", s.AdditionalDirectories)
	dst = appendValue(dst, "env", s.Env)
	if s.MCPServers != nil {
		dst = append(append(dst, `,"mcpServers":`...), s.MCPServers...)
	}
	dst = appendValue(dst, "permissionPolicy", s.Policy)
	dst = appendValue(dst, "additionalInstructions", s.AdditionalInstructions)
	dst = appendValue(dst, "skipOsInstructions", s.SkipOSInstructions)
	return append(appendValue(dst, "given", given), '}')
}

// appendValue appends a member that has nothing raw in it.
func appendValue(dst []byte, name string, value any) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	text, err := json.Marshal(value)
	if err != nil {
		panic("wire: " + err.Error()) // these are texts, numbers and lists of them
	}
	return append(dst, text...)
}

// ParseOpen reads the body of an opening. What is not said has the defaults of
// S6.1; agent and cwd have none.
func ParseOpen(body []byte) (actors.OpenSession, error) {
	var b openBody
	if err := strict(body, &b); err != nil {
		return actors.OpenSession{}, err
	}
	return b.open()
}

func (b openBody) open() (actors.OpenSession, error) {
	o := actors.OpenSession{Session: or(b.Session, protocol.DefaultSession)}
	o.Spec = protocol.Spec{
		Agent: or(b.Agent, ""), Launch: b.Launch, Cwd: or(b.Cwd, ""), AdditionalDirectories: or(b.Directories, nil),
		Env: or(b.Env, nil), Policy: or(b.Policy, protocol.PolicyAsk),
		AdditionalInstructions: or(b.Instructions, ""), SkipOSInstructions: or(b.SkipOS, false),
	}
	if b.MCPServers != nil && rawjson.Kind(b.MCPServers) != 'n' {
		o.Spec.MCPServers = b.MCPServers
	}
	there := []bool{
		b.Agent != nil || b.Launch != nil, b.Cwd != nil, b.Directories != nil,
		b.Env != nil, o.Spec.MCPServers != nil, b.Policy != nil, b.Instructions != nil, b.SkipOS != nil,
	}
	for i, f := range fields {
		if b.Given == nil && there[i] || b.Given != nil && slices.Contains(*b.Given, f.name) {
			o.Given |= f.field
		}
	}
	return o, nil
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// strict decodes a body, all of it. Raw members keep their bytes.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return protocol.Errorf(protocol.CodeInvalidArgument, "the body is more than one JSON object")
		}
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalidArgument, "the body is not what this path takes: %w", err)
}
