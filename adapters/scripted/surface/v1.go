package surface

import (
	"encoding/json"
	"fmt"

	"agentos/adapters/scripted/wire"
)

// v1 is ACP version 1: the prompt request stays open for the whole turn.
type v1 struct{ noMessageIDs bool }

func (v1) Version() int { return 1 }

func (v1) Has(method string) bool {
	switch method {
	case "session/load", "session/set_mode":
		return true
	}
	return v2{}.Has(method)
}

// Accepts takes everything: a test of exact payloads may send what no version knows.
func (v1) Accepts(string) bool { return true }

func (v1) Callbacks() bool { return true }

func (v1) Initialized(f Features) string {
	sessions := `"list":{},"close":{},"additionalDirectories":{}`
	if f.Resume {
		sessions += `,"resume":{}`
	}
	if f.SystemPrompt {
		sessions += `,"systemPrompt":{}`
	}
	return fmt.Sprintf(`{"protocolVersion":%d,"agentCapabilities":{"loadSession":%t,"promptCapabilities":{"image":true,"embeddedContext":true},`+
		`"sessionCapabilities":{%s}},"agentInfo":%s,"authMethods":[]}`, f.versioned(1), f.Load, sessions, agentInfo)
}

func (v v1) Opened(o Opened) string {
	id := ""
	if o.SessionID != "" {
		id = `"sessionId":` + wire.Quote(o.SessionID) + `,`
	}
	return `{` + id + `"modes":{"currentModeId":"` + o.Mode + `","availableModes":[{"id":"default","name":"Default"},{"id":"plan","name":"Plan"}]},` +
		`"configOptions":` + v.ConfigOptions(o.Verbosity) + `}`
}

func (v1) ConfigOptions(verbosity string) string { return verbosityOption("id", verbosity) }

func (v1) Commands() string { return `[{"name":"help","description":"Says what this agent can do"}]` }

func (v1) Taken(string, []json.RawMessage) (updates []string, result string) { return nil, "" }

func (v1) Ended(stop string, _ *wire.Error) (update, result string) {
	return "", `{"stopReason":` + wire.Quote(stop) + `}`
}

func (v v1) Past(messageID string, content []json.RawMessage) []string {
	updates := make([]string, len(content))
	for i, block := range content {
		updates[i] = v.Chunk("user_message_chunk", messageID, string(block))
	}
	return updates
}

func (v1) Restored() string { return "" }

func (v v1) Chunk(kind, messageID, content string) string {
	id := `"messageId":` + wire.Quote(messageID) + `,`
	if v.noMessageIDs {
		id = ""
	}
	return `{"sessionUpdate":"` + kind + `",` + id + `"content":` + content + `}`
}

func (v1) Call(c Call, first bool) string {
	kind := "tool_call_update"
	if first {
		kind = "tool_call"
	}
	return `{"sessionUpdate":"` + kind + `",` + c.members() + `}`
}

func (v1) Permission(sessionID string, c Call) string {
	return `{"sessionId":` + wire.Quote(sessionID) + `,"toolCall":{` + c.members() + `},"options":` + options + `}`
}

func (v1) Blocked(bool) string { return "" }

func (v1) CancelledEnds() bool { return true }

func (v1) Withdraws() bool { return false }

func (v1) CloseUnknown() bool { return false }
