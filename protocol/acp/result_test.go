package acp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// What real agents answer to initialize.
const (
	claudeInitialize = `{"protocolVersion":1,"agentCapabilities":{"_meta":{"claudeCode":{"promptQueueing":true},"authStatus":{}},"promptCapabilities":{"image":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"auth":{"logout":{}},"providers":{},"loadSession":true,"sessionCapabilities":{"additionalDirectories":{},"close":{},"delete":{},"fork":{},"list":{},"resume":{},"systemPrompt":{"mode":{"override":{}}}}},"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","title":"Claude Agent","version":"0.101.0"},"authMethods":[],"_meta":{"steering":{"supported":true}}}`
	piInitialize     = `{"protocolVersion":1,"agentInfo":{"name":"pi-acp","title":"pi ACP adapter","version":"0.0.34"},"authMethods":[{"id":"pi_terminal_login","name":"Launch pi in the terminal","description":"Start pi","type":"terminal","args":["--terminal-login"],"env":{}}],"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":false,"sse":false},"promptCapabilities":{"image":true,"audio":false,"embeddedContext":false},"sessionCapabilities":{"list":{},"delete":{}}}}`
)

func raw(t testing.TB, text string, names ...string) []byte {
	t.Helper()
	value, ok := rawjson.Get([]byte(text), names...)
	if !ok {
		t.Fatalf("no %v", names)
	}
	return value
}

func TestParseInitialize(t *testing.T) {
	for _, c := range []struct {
		name, result string
		want         acp.Initialize
	}{
		{"claude", claudeInitialize, acp.Initialize{ProtocolVersion: 1, LoadSession: true, Resume: true, Close: true, List: true, AdditionalDirectories: true,
			SystemPromptAppend: true, Image: true, EmbeddedContext: true, MCPHTTP: true, MCPSSE: true,
			Capabilities: raw(t, claudeInitialize, "agentCapabilities"), AgentInfo: raw(t, claudeInitialize, "agentInfo")}},
		{"pi", piInitialize, acp.Initialize{ProtocolVersion: 1, LoadSession: true, List: true, Image: true,
			AuthMethods:  []acp.AuthMethod{{ID: "pi_terminal_login", Name: "Launch pi in the terminal", Description: "Start pi", Terminal: true}},
			Capabilities: raw(t, piInitialize, "agentCapabilities"), AgentInfo: raw(t, piInitialize, "agentInfo")}},
		{"least", `{"protocolVersion":2}`, acp.Initialize{ProtocolVersion: 2}},
		{"malformed members are as absent", `{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes","sessionCapabilities":{"resume":null,"close":true,"list":[]},"promptCapabilities":7,"mcpCapabilities":null},"agentInfo":null,"authMethods":[null,7,{"name":"x"},{"id":"a"}]}`,
			acp.Initialize{ProtocolVersion: 1, AuthMethods: []acp.AuthMethod{{ID: "a"}},
				Capabilities: []byte(`{"loadSession":"yes","sessionCapabilities":{"resume":null,"close":true,"list":[]},"promptCapabilities":7,"mcpCapabilities":null}`)}},
		{"capabilities malformed", `{"protocolVersion":1,"agentCapabilities":[true],"authMethods":{}}`, acp.Initialize{ProtocolVersion: 1}},
	} {
		got, err := acp.ParseInitialize([]byte(c.result))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
	for _, result := range []string{``, `null`, `{}`, `{"protocolVersion":"1"}`, `{"protocolVersion":1.5}`, `{"protocolVersion":-1}`, `{"protocolVersion":65536}`} {
		if got, err := acp.ParseInitialize([]byte(result)); err == nil {
			t.Errorf("ParseInitialize(%s) = %+v; want an error", result, got)
		}
	}
}

// LR-08: load and resume may answer null or an object without an id.
func TestParseSession_LR_08(t *testing.T) {
	for _, c := range []struct {
		result string
		want   acp.Session
	}{
		{`null`, acp.Session{}}, {`{}`, acp.Session{}}, {`[]`, acp.Session{}}, {``, acp.Session{}},
		{`{"sessionId":"s","modes":null,"configOptions":null}`, acp.Session{ID: "s"}},
		{`{"sessionId":"s","modes":{"currentModeId":"a"},"configOptions":[ ]}`, acp.Session{ID: "s", Modes: []byte(`{"currentModeId":"a"}`), ConfigOptions: []byte(`[ ]`)}},
		{`{"sessionId":7,"modes":[],"configOptions":{}}`, acp.Session{}},
	} {
		if diff := cmp.Diff(c.want, acp.ParseSession([]byte(c.result))); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.result, diff)
		}
	}
}

func TestParsePrompt(t *testing.T) {
	for _, reason := range []string{"end_turn", "cancelled", "_acme/odd"} {
		if got, err := acp.ParsePrompt([]byte(`{"usage":{},"stopReason":"` + reason + `"}`)); got != reason || err != nil {
			t.Errorf("ParsePrompt = %q, %v; want %q", got, err, reason)
		}
	}
	for _, result := range []string{``, `null`, `{}`, `{"stopReason":null}`, `{"stopReason":""}`, `"end_turn"`} {
		if got, err := acp.ParsePrompt([]byte(result)); err == nil {
			t.Errorf("ParsePrompt(%s) = %q; want an error", result, got)
		}
	}
}
