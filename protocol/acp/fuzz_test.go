package acp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
	"agentos/protocol/testdata/wire"
)

// usable reports whether b is what the views may be given: rawjson.Check and
// rawjson.Repair have seen to it on the way.
func usable(b []byte) bool { return utf8.Valid(b) && rawjson.Check(b) == nil }

// wireValues are the params and results of real messages, of one method or all.
func wireValues(method string) (out [][]byte) {
	for _, l := range wire.Lines() {
		if !json.Valid(l.Text) {
			continue
		}
		name, _ := twin.GetString(l.Text, "method")
		if method != "" && name != method {
			continue
		}
		for _, member := range []string{"params", "result", "error"} {
			if v := twin.Get(l.Text, member); v != nil {
				out = append(out, v)
			}
		}
	}
	return out
}

// FuzzDecoders holds the views of updates and results to a decode into maps.
// word is a text that a chunk may be continued with.
func FuzzDecoders(f *testing.F) {
	for i, v := range wireValues("") {
		f.Add(v, "word")
		if update := twin.Get(v, "update"); update != nil && i%2 == 0 {
			f.Add(update, `"\`)
		}
	}
	for _, s := range []string{claudeInitialize, piInitialize, `null`, ``, `{"stopReason":"end_turn"}`, `{"title":null}`, `{"title":"\ud83d"}`, `{"currentModeId":"a","configOptions":[]}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"a","text":"b"}}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"m","content":{"text":"\ud83d","\u0074ype":"text"},"content":null}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","type":"text","text":"a"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"content":{"type":"text","text":"b"}}`,
		`{"protocolVersion":65535}`, `{"protocolVersion":65536}`, `{"protocolVersion":1E2}`,
		`{"protocolVersion":-0,"agentCapabilities":{"loadSession":true,"loadSession":null},"authMethods":[{"id":"a","type":"terminal"},{"id":1}]}`} {
		f.Add([]byte(s), "\n")
	}
	f.Fuzz(func(t *testing.T, b []byte, word string) {
		acp.ParseUpdate(b) // of whatever it is given: no panic
		acp.ParseSessionUpdate(b)
		acp.ParseInitialize(b)
		acp.ParseSession(b)
		acp.ParsePrompt(b)
		acp.ParseSessionInfo(b)
		acp.ParseCurrentMode(b)
		if !usable(b) {
			return
		}
		checkUpdate(t, b, word)
		checkSessionUpdate(t, b, word)
		checkInitialize(t, b)
		checkResults(t, b)
	})
}

func checkSessionUpdate(t *testing.T, b []byte, word string) {
	t.Helper()
	wantID, ok := twin.GetString(b, "sessionId")
	want := twin.Get(b, "update")
	id, update, err := acp.ParseSessionUpdate(b)
	if (err == nil) != (ok && want != nil) {
		t.Fatalf("ParseSessionUpdate(%q) = %v", b, err)
	}
	if err != nil {
		return
	}
	if id != wantID || !bytes.Equal(update, want) {
		t.Fatalf("ParseSessionUpdate(%q) = %q, %q; want %q, %q", b, id, update, wantID, want)
	}
	checkUpdate(t, update, word)
}

var chunkNames = map[string]acp.ChunkKind{
	"user_message_chunk": acp.User, "agent_message_chunk": acp.Agent, "agent_thought_chunk": acp.Thought, "compaction_summary_chunk": acp.Compaction,
}

func checkUpdate(t *testing.T, b []byte, word string) {
	t.Helper()
	u, err := acp.ParseUpdate(b)
	kind, _ := twin.GetString(b, "sessionUpdate")
	if (err == nil) != (kind != "") {
		t.Fatalf("ParseUpdate(%q) = %v", b, err)
	}
	if err != nil {
		return
	}
	want := acp.Update{Raw: b, Kind: kind, Chunk: chunkNames[kind]}
	if want.Chunk != acp.None {
		name := "messageId"
		if want.Chunk == acp.Compaction {
			name = "compactionId"
		}
		want.MessageID, want.HasMessageID = twin.GetString(b, name)
		want.ContentRaw = twin.Get(b, "content")
		want.TextAt, want.TextEnd = textOf(b)
		want.IsText = want.TextAt > 0
	}
	if !bytes.Equal(u.Raw, want.Raw) || u.Kind != want.Kind || u.Chunk != want.Chunk || u.MessageID != want.MessageID || u.HasMessageID != want.HasMessageID ||
		!bytes.Equal(u.ContentRaw, want.ContentRaw) || u.IsText != want.IsText || u.TextAt != want.TextAt || u.TextEnd != want.TextEnd {
		t.Fatalf("ParseUpdate(%q) = %+v; want %+v", b, u, want)
	}
	if content := acp.ContentOf(b); want.Chunk != acp.None && !bytes.Equal(content, want.ContentRaw) {
		t.Fatalf("ContentOf(%q) = %q; want %q", b, content, want.ContentRaw)
	}
	if u.IsText {
		checkMerge(t, u, word)
	} else if u.Text() != "" || acp.Mergeable(u, u) {
		t.Fatalf("%q is no text and has %q", b, u.Text())
	}
}

// textOf returns where the text of a chunk is: 0 if it has not exactly one
// content of exactly one type, text, and one text.
func textOf(b []byte) (at, end int) {
	content, ok := only(b, "content")
	if !ok || !twin.Is([]byte(content.Value), '{') {
		return 0, 0
	}
	kind, ok := only([]byte(content.Value), "type")
	text, ok2 := only([]byte(content.Value), "text")
	if name, _ := twin.String([]byte(kind.Value)); !ok || !ok2 || name != "text" || !twin.Is([]byte(text.Value), '"') {
		return 0, 0
	}
	at = content.At + text.At + 1
	return at, at + len(text.Value) - 2
}

// only returns the member of that name, if there is exactly one.
func only(b []byte, name string) (found twin.Entry, ok bool) {
	n := 0
	for _, e := range twin.Entries(b) {
		if e.Key == name {
			found = e
			n++
		}
	}
	return found, n == 1
}

// checkMerge continues a text with another: that is the text of both, and
// nothing else of the update changes (S7.3).
func checkMerge(t *testing.T, u acp.Update, word string) {
	t.Helper()
	if want, _ := twin.String([]byte(`"` + string(u.Raw[u.TextAt:u.TextEnd]) + `"`)); u.Text() != want {
		t.Fatalf("text of %q is %q; want %q", u.Raw, u.Text(), want)
	}
	encoded := rawjson.AppendString(nil, word)
	encoded = encoded[1 : len(encoded)-1]
	other := string(u.Raw[:u.TextAt]) + string(encoded) + string(u.Raw[u.TextEnd:])
	v, err := acp.ParseUpdate([]byte(other))
	if err != nil || !acp.Mergeable(u, v) || !acp.Mergeable(v, u) {
		t.Fatalf("%q cannot be continued with %q: %v", u.Raw, other, err)
	}
	merged := string(u.Raw[:u.TextEnd]) + string(v.Raw[v.TextAt:])
	both, err := acp.ParseUpdate([]byte(merged))
	if err != nil || !usable([]byte(merged)) || !acp.Mergeable(u, both) || both.Text() != u.Text()+v.Text() {
		t.Fatalf("%q and %q are %q, text %q: %v", u.Raw, other, merged, both.Text(), err)
	}
}

func checkInitialize(t *testing.T, b []byte) {
	t.Helper()
	var version int
	// Into an int, encoding/json takes what is spelled as an integer and fits.
	raw := twin.Get(b, "protocolVersion")
	is := raw != nil && string(raw) != "null" && json.Unmarshal(raw, &version) == nil && 0 <= version && version < 1<<16
	got, err := acp.ParseInitialize(b)
	if (err == nil) != is {
		t.Fatalf("ParseInitialize(%q) = %v", b, err)
	}
	if err != nil {
		return
	}
	if got.ProtocolVersion != version {
		t.Fatalf("version of %q is %d; want %d", b, got.ProtocolVersion, version)
	}
	caps := ofKind(twin.Get(b, "agentCapabilities"), '{')
	if !bytes.Equal(got.Capabilities, caps) || !bytes.Equal(got.AgentInfo, ofKind(twin.Get(b, "agentInfo"), '{')) {
		t.Fatalf("ParseInitialize(%q) = %+v", b, got)
	}
	for path, have := range map[string]bool{
		"loadSession": got.LoadSession, "promptCapabilities image": got.Image, "promptCapabilities audio": got.Audio,
		"promptCapabilities embeddedContext": got.EmbeddedContext, "mcpCapabilities http": got.MCPHTTP, "mcpCapabilities sse": got.MCPSSE,
	} {
		if want := caps != nil && string(twin.Get(caps, strings.Fields(path)...)) == "true"; have != want {
			t.Fatalf("%s of %q = %t", path, b, have)
		}
	}
	for name, have := range map[string]bool{"resume": got.Resume, "close": got.Close, "list": got.List,
		"additionalDirectories": got.AdditionalDirectories, "systemPrompt": got.SystemPromptAppend} {
		if want := caps != nil && twin.Is(twin.Get(caps, "sessionCapabilities", name), '{'); have != want {
			t.Fatalf("%s of %q = %t", name, b, have)
		}
	}
	var methods []acp.AuthMethod
	for _, e := range twin.Entries(orNull(ofKind(twin.Get(b, "authMethods"), '['))) {
		var m acp.AuthMethod
		if m.ID, is = twin.GetString([]byte(e.Value), "id"); !is {
			continue
		}
		m.Name, _ = twin.GetString([]byte(e.Value), "name")
		m.Description, _ = twin.GetString([]byte(e.Value), "description")
		kind, _ := twin.GetString([]byte(e.Value), "type")
		m.Terminal = kind == "terminal"
		methods = append(methods, m)
	}
	wantSame(t, b, got.AuthMethods, methods)
}

func wantSame[T comparable](t *testing.T, b []byte, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q: %+v; want %+v", b, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%q: %d is %+v; want %+v", b, i, got[i], want[i])
		}
	}
}

func ofKind(b []byte, kind byte) []byte {
	if !twin.Is(b, kind) {
		return nil
	}
	return b
}

func orNull(b []byte) []byte {
	if b == nil {
		return []byte("null")
	}
	return b
}

func checkResults(t *testing.T, b []byte) {
	t.Helper()
	s := acp.ParseSession(b)
	id, _ := twin.GetString(b, "sessionId")
	options := ofKind(twin.Get(b, "configOptions"), '[')
	if s.ID != id || !bytes.Equal(s.Modes, ofKind(twin.Get(b, "modes"), '{')) || !bytes.Equal(s.ConfigOptions, options) || !bytes.Equal(acp.ParseConfigOptions(b), options) {
		t.Fatalf("ParseSession(%q) = %+v", b, s)
	}
	want, _ := twin.GetString(b, "stopReason")
	if got, err := acp.ParsePrompt(b); got != want || (err == nil) != (want != "") {
		t.Fatalf("ParsePrompt(%q) = %q, %v; want %q", b, got, err, want)
	}
	wantMode, is := twin.GetString(b, "currentModeId")
	if mode, ok := acp.ParseCurrentMode(b); mode != wantMode || ok != is {
		t.Fatalf("ParseCurrentMode(%q) = %q, %t; want %q, %t", b, mode, ok, wantMode, is)
	}
	wantTitle, is := twin.GetString(b, "title")
	title, has := acp.ParseSessionInfo(b)
	if (title != nil) != is || is && *title != wantTitle || has != (is || string(twin.Get(b, "title")) == "null") {
		t.Fatalf("ParseSessionInfo(%q) = %v, %t; want %q, %t", b, title, has, wantTitle, is)
	}
}
