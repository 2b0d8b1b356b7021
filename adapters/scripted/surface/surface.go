package surface

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agentos/adapters/scripted/wire"
)

// Surface is one protocol version. Where it returns an update that may be "",
// there is nothing to send.
type Surface interface {
	// Version is the protocolVersion it answers with.
	Version() int
	// Has tells whether it has a method of the agent.
	Has(method string) bool
	// Accepts tells whether a content block of that kind may be in a prompt.
	Accepts(kind string) bool
	// Callbacks tells whether the client's files and terminals can be used.
	Callbacks() bool

	// Initialized is the result of initialize.
	Initialized(f Features) string
	// Opened is the result of session/new, load and resume.
	Opened(o Opened) string
	// ConfigOptions is the list of config options.
	ConfigOptions(verbosity string) string
	// Commands is a list of commands for an available_commands_update.
	Commands() string

	// Taken is said when a prompt has become part of the conversation: updates,
	// and the answer to the prompt request, "" if the end of the turn answers it.
	Taken(messageID string, content []json.RawMessage) (updates []string, result string)
	// Ended is said when a turn is over, failed or not: an update, and the
	// answer to the prompt request, "" if Taken gave it.
	Ended(stop string, failure *wire.Error) (update, result string)
	// Past are the updates that replay a message of the user; agents' are chunks.
	Past(messageID string, content []json.RawMessage) []string
	// Restored is the update that ends a load or resume.
	Restored() string

	// Chunk is an update with a piece of a message; kind is its sessionUpdate.
	Chunk(kind, messageID, content string) string
	// Call is an update that announces a tool call (first) or changes it.
	Call(c Call, first bool) string
	// Permission is the params of a permission request about c.
	Permission(sessionID string, c Call) string
	// Blocked is the update that says that a turn waits for a person, or no
	// longer does.
	Blocked(waiting bool) string
	// CancelledEnds tells whether a cancelled permission means that the turn is
	// being cancelled.
	CancelledEnds() bool
	// Withdraws tells whether the agent takes the requests of a cancelled turn
	// back, rather than the client answering them unasked.
	Withdraws() bool
	// CloseUnknown tells whether closing a session that is not open succeeds.
	CloseUnknown() bool
}

// Features are what the command line leaves of the agent.
type Features struct {
	Load, Resume, SystemPrompt bool
	NoMessageIDs               bool // chunks carry no messageId, where the version allows that
	Version                    int  // the protocolVersion to claim; negative: the real one
}

// Client is what the agent may ask of the client: its version 1 capabilities.
type Client struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// Opened is what the answer to an opened session says.
type Opened struct {
	SessionID string // "" but for a new session
	Verbosity string
	Mode      string
}

// All returns the surfaces, the oldest first.
func All(f Features) []Surface { return []Surface{v1{noMessageIDs: f.NoMessageIDs}, v2{}} }

// agentInfo is how the agent names itself.
const agentInfo = `{"name":"scripted","title":"Scripted agent","version":"1.0.0"}`

// Call is what is said of a tool call. Empty members are not mentioned.
type Call struct {
	ID, Title, Kind, Status string
	Content                 string // raw array
	Input                   string // raw
}

// members are the call's members, without braces.
func (c Call) members() string {
	m := []string{`"toolCallId":` + wire.Quote(c.ID)}
	for _, text := range []struct{ name, value string }{{"title", c.Title}, {"kind", c.Kind}, {"status", c.Status}} {
		if text.value != "" {
			m = append(m, `"`+text.name+`":`+wire.Quote(text.value))
		}
	}
	if c.Content != "" {
		m = append(m, `"content":`+c.Content)
	}
	if c.Input != "" {
		m = append(m, `"rawInput":`+c.Input)
	}
	return strings.Join(m, ",")
}

// Text is text as a content block.
func Text(text string) string { return `{"type":"text","text":` + wire.Quote(text) + `}` }

// CallText is text as the content of a tool call.
func CallText(text string) string { return `[{"type":"content","content":` + Text(text) + `}]` }

// Listed is one session of a list; an empty title is none.
func Listed(id, cwd, title string, updated time.Time) string {
	shown := "null"
	if title != "" {
		shown = wire.Quote(title)
	}
	return fmt.Sprintf(`{"sessionId":%s,"cwd":%s,"title":%s,"updatedAt":"%s"}`,
		wire.Quote(id), wire.Quote(cwd), shown, updated.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// versioned is the version that initialize answers with.
func (f Features) versioned(real int) int {
	if f.Version >= 0 {
		return f.Version
	}
	return real
}

// verbosityOption is the one config option; idName is what a version calls its id.
func verbosityOption(idName, verbosity string) string {
	return fmt.Sprintf(`[{"%s":"verbosity","name":"Verbosity","description":"How much a plain reply says","type":"select","currentValue":"%s",`+
		`"options":[{"value":"short","name":"Short"},{"value":"long","name":"Long"}]}]`, idName, verbosity)
}
