package acp_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// The prompts of two databases that AgentOS 0.2.21 wrote: what was stored of
// their content and the hash stored with it.
var storedPrompts = []struct {
	content []string
	hash    string
}{
	{[]string{`{"type":"text","text":"turn 0 [[chunks 7]] [[calls 2]]"}`}, "938EF9C8EF1E1EB9F16D334E5CAEB5E1E4DBDD44AAF5E90B088E37A3D2FBCAB7"},
	{[]string{`{"type":"text","text":"turn 1 [[chunks 7]] [[calls 2]]"}`}, "15A47EF45C1B367F47533BE8E61E91176458C2B6BD7AA8F7E50ACF219508961D"},
	{[]string{`{"type":"text","text":"turn 2 [[chunks 7]] [[calls 2]]"}`}, "F068AAFB05A08E3AAEC0C8DEA3C13A751B893CDCF84BB9C42424C51F31CEE8AA"},
	{[]string{`{"type":"text","text":"turn 3 [[chunks 7]] [[calls 2]]"}`}, "DB279471356B7796FEE0B9DCDA773EDBF6A3A7D09831CAC3A553B9945330CD40"},
	{[]string{`{"type":"text","text":"turn 4 [[chunks 7]] [[calls 2]]"}`}, "AE5701D0CE938A60041FE0089DDFE71708E16ADDE78A4F0A713B7399340347FB"},
	{[]string{"{\"type\":\"text\",\"text\":\"unicode 读 ≤ 😀 \u2028 end\"}", `{"type":"resource_link","uri":"file:///home/agentos/a.txt","name":"a.txt"}`},
		"126C7CD0259CDCDCEB01DAD709D66961FD3CFEFDE7AFF5D4BCC40CE70D998587"},
	{[]string{`{"type":"text","text":"please [[ask]]"}`}, "0F52A146C2064DD5DDC46CDEEDB6DBF1EFC885F68B9D9AFC1373475C344C1226"},
	{[]string{`{"type":"text","text":"unanswered [[ask]]"}`}, "5AC96682E83FB03DC35A5D33201D41FD1B9A8F14BD8CC2A5D8C9507DCD9B0004"},
	{[]string{`{"type":"text","text":"broken turn [[slow 100 100]]"}`}, "D83935FD803CAB316D7F05FD96C4EB76F4440C45714B543CA6FF1F0305EF702D"},
}

func hashOf(blocks ...string) string {
	var raw [][]byte
	for _, b := range blocks {
		raw = append(raw, []byte(b))
	}
	h := acp.InputHash(raw)
	return strings.ToUpper(hex.EncodeToString(h[:]))
}

func TestInputHash_S6_8_ReproducesStoredHashes(t *testing.T) {
	for _, p := range storedPrompts {
		if got := hashOf(p.content...); got != p.hash {
			t.Errorf("InputHash(%q) = %s; want %s", p.content, got, p.hash)
		}
	}
}

func TestInputHash_S6_8_SpellingDoesNotCountButContentDoes(t *testing.T) {
	unicode := storedPrompts[5]
	spelled := hashOf(`{ "type" : "te\u0078t", "text":"unicode \u8bfb \u2264 \ud83d\ude00 \u2028 end" }`, unicode.content[1])
	if spelled != unicode.hash {
		t.Errorf("another spelling = %s; want %s", spelled, unicode.hash)
	}
	for _, other := range [][]string{
		{unicode.content[0]},
		{unicode.content[1], unicode.content[0]},
		{`{"text":"turn 0 [[chunks 7]] [[calls 2]]","type":"text"}`},
		{`{"type":"text","text":1}`}, {`{"type":"text","text":1.0}`}, {`{"type":"text","text":"1"}`}, {},
	} {
		got := hashOf(other...)
		for _, p := range storedPrompts {
			if got == p.hash {
				t.Errorf("InputHash(%q) is that of %q", other, p.content)
			}
		}
	}
	if hashOf(`{"a":1}`) == hashOf(`{"a":1.0}`) || hashOf(`{"a":"\ud83d"}`) == hashOf(`{"a":"\ud83e"}`) {
		t.Error("different content has one hash")
	}
}

func TestBlocks(t *testing.T) {
	blocks, err := acp.Blocks([]byte(` [ {"type":"text","text":"\u0041"} , { "_x":1.10,"type":"_acme" } ] `))
	if err != nil || len(blocks) != 2 || string(blocks[0]) != `{"type":"text","text":"\u0041"}` || string(blocks[1]) != `{ "_x":1.10,"type":"_acme" }` {
		t.Errorf("Blocks = %q, %v", blocks, err)
	}
	for _, raw := range []string{"", "null", "{}", `"x"`, "[]", "[1]", "[null]", `["x"]`, "[{}]", `[{"type":5}]`, `[{"type":"text"},[]]`, `[{"type":"text"}`,
		"[{\"type\":\"\xff\"}]", "[" + strings.Repeat(`{"type":"x","a":`, 1000) + "1" + strings.Repeat("}", 1000) + "]"} {
		_, err := acp.Blocks([]byte(raw))
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.CodeInvalidPrompt {
			t.Errorf("Blocks(%.40q) = %v; want invalid_prompt", raw, err)
		}
	}
}

// What Blocks takes can be stored: the chunk around a block is valid too (S4.3).
func TestBlocks_S4_3_DeepestBlockCanBeStored(t *testing.T) {
	deep := `{"type":"x","a":` + strings.Repeat("[", 998) + strings.Repeat("]", 998) + "}"
	blocks, err := acp.Blocks([]byte("[" + deep + "]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rawjson.Check(acp.UserChunk(blocks[0], "m")); err != nil {
		t.Errorf("the chunk of the deepest block: %v", err)
	}
}

func TestTextBlock(t *testing.T) {
	if got, want := string(acp.TextBlock("a \"<b>\"\n\u2028\xff")), "{\"type\":\"text\",\"text\":\"a \\\"<b>\\\"\\n\u2028\uFFFD\"}"; got != want {
		t.Errorf("TextBlock = %s; want %s", got, want)
	}
}

func TestParams(t *testing.T) {
	mcp := []byte(`[{"name":"x", "n":1.10}]`)
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"initialize", acp.InitializeParams(1, `agent"os`, "0.1.0"),
			`{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"session":{"configOptions":{"boolean":{}}}},"clientInfo":{"name":"agent\"os","version":"0.1.0"}}`},
		{"new", acp.NewParams("/w", nil, nil), `{"cwd":"/w","mcpServers":[]}`},
		{"new with all", acp.NewParams("/w", []string{"/a", `/"b"`}, mcp), `{"cwd":"/w","additionalDirectories":["/a","/\"b\""],"mcpServers":[{"name":"x", "n":1.10}]}`},
		{"load", acp.LoadParams("s", "/w", []string{"/a"}, mcp), `{"sessionId":"s","cwd":"/w","additionalDirectories":["/a"],"mcpServers":[{"name":"x", "n":1.10}]}`},
		{"resume", acp.ResumeParams("s", "/w", nil, nil), `{"sessionId":"s","cwd":"/w","mcpServers":[]}`},
		{"system prompt", acp.WithSystemPrompt(acp.NewParams("/w", nil, nil), "be \"kind\""),
			`{"cwd":"/w","mcpServers":[],"systemPrompt":{"mode":"append","content":[{"type":"text","text":"be \"kind\""}]}}`},
		{"prompt", acp.PromptParams("s", [][]byte{[]byte(`{"type":"text", "text":"\u0041"}`), []byte(`{"type":"x"}`)}),
			`{"sessionId":"s","prompt":[{"type":"text", "text":"\u0041"},{"type":"x"}]}`},
		{"session", acp.SessionParams(`s"`), `{"sessionId":"s\""}`},
		{"mode", acp.SetModeParams("s", "plan"), `{"sessionId":"s","modeId":"plan"}`},
		{"option", acp.SetConfigOptionParams("s", "model", []byte(`"big"`)), `{"sessionId":"s","configId":"model","value":"big"}`},
		{"boolean option", acp.SetConfigOptionParams("s", "fast", []byte(`true`)), `{"sessionId":"s","configId":"fast","type":"boolean","value":true}`},
	} {
		if string(c.got) != c.want || !json.Valid(c.got) {
			t.Errorf("%s: %s\nwant %s", c.name, c.got, c.want)
		}
	}
}
