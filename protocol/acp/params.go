package acp

import (
	"bytes"
	"strconv"

	"agentos/protocol/rawjson"
)

// InitializeParams returns the params of initialize. It offers no file system
// and no terminal: those are callbacks that must work when no editor is there
// to serve them. It takes config options that are on or off, which an agent may
// not have for a client that does not say so.
func InitializeParams(version int, clientName, clientVersion string) []byte {
	out := strconv.AppendInt([]byte(`{"protocolVersion":`), int64(version), 10)
	out = append(out, `,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"session":{"configOptions":{"boolean":{}}}}`...)
	out = rawjson.AppendString(append(out, `,"clientInfo":{"name":`...), clientName)
	out = rawjson.AppendString(append(out, `,"version":`...), clientVersion)
	return append(out, "}}"...)
}

// NewParams returns the params of session/new. mcp is a raw array, nil for
// none; dirs are left out when there are none, because agents that do not know
// them may refuse them.
func NewParams(cwd string, dirs []string, mcp []byte) []byte {
	return appendWorkspace([]byte(`{`), cwd, dirs, mcp)
}

// LoadParams returns the params of session/load: everything is given whole
// again (S10.4).
func LoadParams(id, cwd string, dirs []string, mcp []byte) []byte {
	out := rawjson.AppendString([]byte(`{"sessionId":`), id)
	return appendWorkspace(append(out, ','), cwd, dirs, mcp)
}

// ResumeParams returns the params of session/resume.
func ResumeParams(id, cwd string, dirs []string, mcp []byte) []byte {
	return LoadParams(id, cwd, dirs, mcp)
}

func appendWorkspace(out []byte, cwd string, dirs []string, mcp []byte) []byte {
	out = rawjson.AppendString(append(out, `"cwd":`...), cwd)
	for i, dir := range dirs {
		if i == 0 {
			out = append(out, `,"additionalDirectories":[`...)
		} else {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, dir)
	}
	if len(dirs) > 0 {
		out = append(out, ']')
	}
	if mcp == nil {
		mcp = []byte("[]")
	}
	out = append(append(out, `,"mcpServers":`...), mcp...)
	return append(out, '}')
}

// WithSystemPrompt adds instructions to the params of session/new, load or
// resume, for agents that advertise Initialize.SystemPromptAppend.
func WithSystemPrompt(params []byte, text string) []byte {
	params = bytes.TrimRight(params, " \t\r\n")
	out := append(make([]byte, 0, len(params)+len(text)+64), params[:len(params)-1]...)
	out = append(out, `,"systemPrompt":{"mode":"append","content":[`...)
	return append(append(out, TextBlock(text)...), "]}}"...)
}

// PromptParams returns the params of session/prompt around raw content blocks.
func PromptParams(id string, blocks [][]byte) []byte {
	out := rawjson.AppendString([]byte(`{"sessionId":`), id)
	return append(appendBlocks(append(out, `,"prompt":`...), blocks), '}')
}

func appendBlocks(out []byte, blocks [][]byte) []byte {
	out = append(out, '[')
	for i, block := range blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, block...)
	}
	return append(out, ']')
}

// SessionParams returns the params of methods that name a session and nothing
// else: session/cancel and session/close.
func SessionParams(id string) []byte {
	return append(rawjson.AppendString([]byte(`{"sessionId":`), id), '}')
}

// SetModeParams returns the params of session/set_mode.
func SetModeParams(id, mode string) []byte {
	out := rawjson.AppendString([]byte(`{"sessionId":`), id)
	return append(rawjson.AppendString(append(out, `,"modeId":`...), mode), '}')
}

// SetConfigOptionParams returns the params of session/set_config_option. value
// is raw: a string, or true or false, which name their type.
func SetConfigOptionParams(id, option string, value []byte) []byte {
	out := rawjson.AppendString([]byte(`{"sessionId":`), id)
	out = rawjson.AppendString(append(out, `,"configId":`...), option)
	if k := rawjson.Kind(value); k == 't' || k == 'f' {
		out = append(out, `,"type":"boolean"`...)
	}
	return append(append(append(out, `,"value":`...), value...), '}')
}
