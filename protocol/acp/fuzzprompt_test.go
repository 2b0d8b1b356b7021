package acp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
)

// FuzzPrompt takes the content of prompts apart and puts it together again, for
// the agent and for the database.
func FuzzPrompt(f *testing.F) {
	for _, v := range wireValues(acp.MethodPrompt) {
		f.Add([]byte(twin.Get(v, "prompt")), "s", "text")
	}
	for _, s := range []string{`[{"type":"text","text":"x"}]`, ` [ {"type":"text","text":"\u0041"} , { "_x":1.10,"\u0074ype":"_acme" } ] `, `[]`, `[{"type":null}]`, `[{"type":"a"},1]`, `{}`, "[{\"type\":\"\xff\"}]",
		`[{"type":"x","a":` + strings.Repeat("[", 998) + strings.Repeat("]", 998) + "}]", `[{"type":"x","a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + "}]"} {
		f.Add([]byte(s), "id \"\\\n", "\x00\u2028<&>")
	}
	f.Fuzz(func(t *testing.T, raw []byte, id, text string) {
		blocks, err := acp.Blocks(raw)
		ok := utf8.Valid(raw) && json.Valid(raw) && twin.Depth(raw) <= protocol.MaxJSONDepth && twin.Is(bytes.TrimLeft(raw, " \t\r\n"), '[')
		var want []twin.Entry
		if ok {
			want = twin.Entries(raw)
		}
		for _, e := range want {
			_, named := twin.GetString([]byte(e.Value), "type")
			ok = ok && named
		}
		if ok = ok && len(want) > 0; (err == nil) != ok {
			t.Fatalf("Blocks(%q) = %v; want %t", raw, err, ok)
		}
		if err == nil && utf8.ValidString(id) && utf8.ValidString(text) {
			wantBlocks(t, blocks, want)
			checkPromptParams(t, blocks, want, id)
			checkStored(t, blocks, id)
			checkTexts(t, id, text, raw)
		}
	})
}

func wantBlocks(t *testing.T, got [][]byte, want []twin.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d blocks; want %d", len(got), len(want))
	}
	for i, e := range want {
		if string(got[i]) != e.Value {
			t.Fatalf("block %d is %q; want %q", i, got[i], e.Value)
		}
	}
}

func checkPromptParams(t *testing.T, blocks [][]byte, want []twin.Entry, id string) {
	t.Helper()
	params := acp.PromptParams(id, blocks)
	if got, ok := twin.GetString(params, "sessionId"); !ok || got != id {
		t.Fatalf("session of %q is %q; want %q", params, got, id)
	}
	var again [][]byte
	for _, e := range twin.Entries(twin.Get(params, "prompt")) {
		again = append(again, []byte(e.Value))
	}
	wantBlocks(t, again, want)
}

// checkStored stores each block as the chunk that it becomes (S6.2).
func checkStored(t *testing.T, blocks [][]byte, id string) {
	t.Helper()
	for _, block := range blocks {
		chunk := acp.UserChunk(block, id)
		if err := rawjson.Check(chunk); err != nil {
			t.Fatalf("the chunk of %q: %v", block, err)
		}
		u, err := acp.ParseUpdate(chunk)
		if err != nil || u.Chunk != acp.User || u.MessageID != id || !u.HasMessageID || !bytes.Equal(u.ContentRaw, block) {
			t.Fatalf("the chunk of %q is %+v, %v", block, u, err)
		}
		checkUpdate(t, chunk, "x")
	}
}

// checkTexts builds messages around any text and reads them back.
func checkTexts(t *testing.T, id, text string, raw []byte) {
	t.Helper()
	if got, _ := twin.GetString(acp.TextBlock(text), "text"); got != text {
		t.Fatalf("TextBlock(%q) = %s", text, acp.TextBlock(text))
	}
	params := acp.WithSystemPrompt(acp.LoadParams(id, text, []string{text, id}, raw), text)
	for name, want := range map[string]string{"sessionId": id, "cwd": text} {
		if got, _ := twin.GetString(params, name); got != want {
			t.Fatalf("%s of %q is %q; want %q", name, params, got, want)
		}
	}
	if got := twin.Get(params, "mcpServers"); !bytes.Equal(got, bytes.Trim(raw, " \t\r\n")) {
		t.Fatalf("mcpServers of %q are %q; want %q", params, got, raw)
	}
	instructions := twin.Entries(twin.Get(params, "systemPrompt", "content"))
	if len(instructions) != 1 || instructions[0].Value != string(acp.TextBlock(text)) {
		t.Fatalf("instructions of %q are %+v", params, instructions)
	}
	option := acp.SetConfigOptionParams(id, text, raw)
	if got := twin.Get(option, "value"); !bytes.Equal(got, bytes.Trim(raw, " \t\r\n")) {
		t.Fatalf("value of %q is %q", option, got)
	}
}

// FuzzHash: two contents have one hash exactly when the twin finds them to be
// the same, and no spelling of a content changes it (S6.8).
func FuzzHash(f *testing.F) {
	for i, p := range storedPrompts {
		content := []byte("[" + strings.Join(p.content, ",") + "]")
		f.Add(content, []byte(`[{"type":"text","text":"turn 0 [[chunks 7]] [[calls 2]]"}]`), uint64(i))
	}
	for i, v := range wireValues(acp.MethodPrompt) {
		f.Add([]byte(twin.Get(v, "prompt")), bytes.ReplaceAll(twin.Get(v, "prompt"), []byte("t"), []byte(`\u0074`)), uint64(i))
	}
	f.Add([]byte(`[{"type":"\ud83d","a":1.10}]`), []byte("[ {\"type\" : \"\\uD83D\",\"a\":1.10} ]"), uint64(7))
	f.Add([]byte(`[{"type":"\u0000\/\b\""}]`), []byte(`[{"type":"\u0000/\u0008\u0022"}]`), uint64(9))
	f.Fuzz(func(t *testing.T, a, b []byte, seed uint64) {
		blocks, err := acp.Blocks(a)
		if err != nil {
			return
		}
		got := acp.InputHash(blocks)
		if want := sha256.Sum256([]byte(`{"formatVersion":1,"content":` + twin.Canonical(a) + `}`)); got != want {
			t.Fatalf("InputHash of %q = %x; want %x", a, got, want)
		}
		respelled := twin.Respell(a, seed)
		if again, err := acp.Blocks([]byte(respelled)); err != nil || acp.InputHash(again) != got {
			t.Fatalf("%q and %q have different hashes, %v", a, respelled, err)
		}
		if other, err := acp.Blocks(b); err == nil {
			if same := twin.Canonical(a) == twin.Canonical(b); (acp.InputHash(other) == got) != same {
				t.Fatalf("%q and %q: same content is %t", a, b, same)
			}
		}
	})
}
