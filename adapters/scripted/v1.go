package scripted

import (
	"fmt"
)

// agentInfo is how this agent names itself in every version.
const agentInfo = `{"name":"scripted","title":"Scripted agent","version":"1.0.0"}`

// v1 is ACP version 1: the prompt request stays open for the whole turn.
type v1 struct{ noMessageIDs bool }

func (v1) version() int { return 1 }

func (v1) methods() map[string]method { return v1Methods }

var v1Methods = map[string]method{
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

func (v1) initialized(o options) string {
	sessions := `"list":{},"close":{},"additionalDirectories":{}`
	if !o.noResume {
		sessions += `,"resume":{}`
	}
	if o.systemPrompt {
		sessions += `,"systemPrompt":{}`
	}
	version := 1
	if o.answerVersion >= 0 {
		version = o.answerVersion
	}
	return fmt.Sprintf(`{"protocolVersion":%d,"agentCapabilities":{"loadSession":%t,"promptCapabilities":{"image":true,"embeddedContext":true},`+
		`"sessionCapabilities":{%s}},"agentInfo":%s,"authMethods":[]}`, version, !o.noLoad, sessions, agentInfo)
}

// accepts takes everything: a test of exact payloads may send what no version knows.
func (v1) accepts([]block) error { return nil }

func (v v1) opened(s *session, isNew bool) string {
	id := ""
	if isNew {
		id = `"sessionId":` + quote(s.id) + `,`
	}
	_, mode := s.settings()
	return `{` + id + `"modes":{"currentModeId":"` + mode + `","availableModes":[{"id":"default","name":"Default"},{"id":"plan","name":"Plan"}]},` +
		`"configOptions":` + v.configOptions(s) + `}`
}

func (v1) closedUnknown(sessionID string) (string, error) { return "", noSession(sessionID) }

func (v1) configOptions(s *session) string { return verbosityOption("id", s) }

func (v1) commands() string { return `[{"name":"help","description":"Says what this agent can do"}]` }

func (v v1) replay(c *conn, sessionID string, e entry) {
	kind := "agent_message_chunk"
	if e.user {
		kind = "user_message_chunk"
	}
	for _, content := range e.content {
		c.update(sessionID, v.chunk(kind, e.messageID, string(content)))
	}
}

func (v1) restored(*conn, string) {}

func (v1) taken(*turn) {}

func (v1) ended(t *turn, stop string, failure *rpcError) {
	if failure != nil {
		t.agent.conn.refuse(t.request, failure)
		return
	}
	t.agent.conn.answer(t.request, `{"stopReason":`+quote(stop)+`}`)
}

func (v v1) chunk(kind, messageID, content string) string {
	id := `"messageId":` + quote(messageID) + `,`
	if v.noMessageIDs {
		id = ""
	}
	return `{"sessionUpdate":"` + kind + `",` + id + `"content":` + content + `}`
}

func (v1) call(c toolCall, first bool) string {
	if first {
		return `{"sessionUpdate":"tool_call",` + c.members() + `}`
	}
	return `{"sessionUpdate":"tool_call_update",` + c.members() + `}`
}

func (v1) permission(sessionID string, c toolCall) string {
	return `{"sessionId":` + quote(sessionID) + `,"toolCall":{` + c.members() + `},"options":` + permissionOptions + `}`
}

func (v1) blocked(*turn, bool) {}

// abandon does nothing: in version 1 the client answers all requests of a turn
// that it cancels.
func (v1) abandon(*conn, pending) {}
