package surface

import (
	"encoding/json"
	"fmt"

	"agentos/adapters/scripted/wire"
)

// v2 is ACP version 2: the prompt request is answered when the prompt is in the
// conversation, and state updates tell the rest.
type v2 struct{}

func (v2) Version() int { return 2 }

func (v2) Has(method string) bool {
	switch method {
	case "session/new", "session/resume", "session/list", "session/close", "session/prompt", "session/cancel", "session/set_config_option":
		return true
	}
	return false
}

// Accepts refuses what was not advertised, which version 2 demands.
func (v2) Accepts(kind string) bool {
	switch kind {
	case "text", "image", "resource", "resource_link":
		return true
	}
	return false
}

func (v2) Callbacks() bool { return false }

func (v2) Initialized(f Features) string {
	more := ""
	if f.SystemPrompt {
		more = `,"systemPrompt":{}`
	}
	return fmt.Sprintf(`{"protocolVersion":%d,"info":%s,"capabilities":{"session":{"prompt":{"image":{},"embeddedContext":{}},"additionalDirectories":{}%s}},"authMethods":[]}`,
		f.versioned(2), agentInfo, more)
}

func (v v2) Opened(o Opened) string {
	id := ""
	if o.SessionID != "" {
		id = `"sessionId":` + wire.Quote(o.SessionID) + `,`
	}
	return `{` + id + `"configOptions":` + v.ConfigOptions(o.Verbosity) + `}`
}

func (v2) ConfigOptions(verbosity string) string { return verbosityOption("configId", verbosity) }

func (v2) Commands() string {
	return `[{"type":"command","name":"help","description":"Says what this agent can do"}]`
}

func (v v2) Taken(messageID string, content []json.RawMessage) (updates []string, result string) {
	updates = append([]string{state("running", "")}, v.Past(messageID, content)...)
	return updates, `{"messageId":` + wire.Quote(messageID) + `}`
}

func (v2) Ended(stop string, failure *wire.Error) (update, result string) {
	more := `,"stopReason":` + wire.Quote(stop)
	if failure != nil {
		more += `,"error":` + failure.Object()
	}
	return state("idle", more), ""
}

func (v2) Past(messageID string, content []json.RawMessage) []string {
	return []string{`{"sessionUpdate":"user_message","messageId":` + wire.Quote(messageID) + `,"content":` + wire.Array(content) + `}`}
}

// Restored reports the state, as it must after a replay and before the answer.
func (v2) Restored() string { return state("idle", "") }

func (v2) Chunk(kind, messageID, content string) string {
	return `{"sessionUpdate":"` + kind + `","messageId":` + wire.Quote(messageID) + `,"content":` + content + `}`
}

func (v2) Call(c Call, _ bool) string {
	return `{"sessionUpdate":"tool_call_update",` + c.members() + `}`
}

func (v2) Permission(sessionID string, c Call) string {
	return `{"sessionId":` + wire.Quote(sessionID) + `,"title":` + wire.Quote(c.Title) + `,"subject":{"type":"tool_call","toolCall":{` + c.members() + `}},"options":` + options + `}`
}

func (v2) Blocked(waiting bool) string {
	if waiting {
		return state("requires_action", "")
	}
	return state("running", "")
}

func (v2) CancelledEnds() bool { return false }

func (v2) Withdraws() bool { return true }

func (v2) CloseUnknown() bool { return true }

func state(name, more string) string {
	return `{"sessionUpdate":"state_update","state":"` + name + `"` + more + `}`
}
