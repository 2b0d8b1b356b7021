package scripted

import "encoding/json"

// v2 is ACP version 2: the prompt request is answered when the prompt is in the
// conversation, and state updates tell the rest.
type v2 struct{}

func (v2) version() int { return 2 }

func (v2) methods() map[string]method { return v2Methods }

var v2Methods = map[string]method{
	"session/new":               (*agent).create,
	"session/resume":            (*agent).resume,
	"session/list":              (*agent).list,
	"session/close":             (*agent).close,
	"session/prompt":            (*agent).prompt,
	"session/cancel":            (*agent).cancel,
	"session/set_config_option": (*agent).setConfigOption,
}

func (v2) initialized(o options) string {
	version, prompts := 2, ""
	if o.answerVersion >= 0 {
		version = o.answerVersion
	}
	if o.systemPrompt {
		prompts = `,"systemPrompt":{}`
	}
	return `{"protocolVersion":` + decimal(version) + `,"info":` + agentInfo +
		`,"capabilities":{"session":{"prompt":{"image":{},"embeddedContext":{}},"additionalDirectories":{}` + prompts + `}}}`
}

// accepts refuses what was not advertised: version 2 demands it.
func (v2) accepts(blocks []block) error {
	for i, b := range blocks {
		switch b.kind {
		case "text", "image", "resource", "resource_link":
		default:
			return fault(codeParams, "prompt block %d: %q is not supported", i, b.kind)
		}
	}
	return nil
}

func (v v2) opened(s *session, isNew bool) string {
	id := ""
	if isNew {
		id = `"sessionId":` + quote(s.id) + `,`
	}
	return `{` + id + `"configOptions":` + v.configOptions(s) + `}`
}

// closedUnknown succeeds: closing what is not open leaves it closed.
func (v2) closedUnknown(string) (string, error) { return "{}", nil }

func (v2) configOptions(s *session) string { return verbosityOption("configId", s) }

func (v2) commands() string {
	return `[{"type":"command","name":"help","description":"Says what this agent can do"}]`
}

func (v v2) replay(c *conn, sessionID string, e entry) {
	if e.user {
		c.update(sessionID, userMessage(e.messageID, e.content))
		return
	}
	for _, content := range e.content {
		c.update(sessionID, v.chunk("agent_message_chunk", e.messageID, string(content)))
	}
}

// restored reports the state, which comes after a replay and before the answer.
func (v2) restored(c *conn, sessionID string) { c.update(sessionID, stateUpdate("idle", "")) }

func (v2) taken(t *turn) {
	t.update(stateUpdate("running", ""))
	t.update(userMessage(t.messageID, t.content))
	t.agent.conn.answer(t.request, `{"messageId":`+quote(t.messageID)+`}`)
}

func (v2) ended(t *turn, stop string, failure *rpcError) {
	more := `,"stopReason":` + quote(stop)
	if failure != nil {
		more += `,"error":` + failure.object()
	}
	t.update(stateUpdate("idle", more))
}

func (v2) chunk(kind, messageID, content string) string {
	return `{"sessionUpdate":"` + kind + `","messageId":` + quote(messageID) + `,"content":` + content + `}`
}

func (v2) call(c toolCall, _ bool) string {
	return `{"sessionUpdate":"tool_call_update",` + c.members() + `}`
}

func (v2) permission(sessionID string, c toolCall) string {
	return `{"sessionId":` + quote(sessionID) + `,"title":` + quote(c.title) + `,"subject":{"type":"tool_call","toolCall":{` + c.members() + `}},"options":` + permissionOptions + `}`
}

func (v2) blocked(t *turn, waiting bool) {
	state := "running"
	if waiting {
		state = "requires_action"
	}
	t.update(stateUpdate(state, ""))
}

// abandon takes the request back; the client then answers it as cancelled.
func (v2) abandon(c *conn, p pending) { c.notify("$/cancel_request", `{"requestId":`+p.id+`}`) }

func stateUpdate(state, more string) string {
	return `{"sessionUpdate":"state_update","state":"` + state + `"` + more + `}`
}

func userMessage(messageID string, content []json.RawMessage) string {
	return `{"sessionUpdate":"user_message","messageId":` + quote(messageID) + `,"content":` + array(content) + `}`
}
