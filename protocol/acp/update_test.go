package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

func TestParseUpdate_S7(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		kind      string
		chunk     acp.ChunkKind
		id        string
		hasID     bool
		text      string // "" if not IsText
		content   string
		side      bool
	}{
		{"user", `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a"},"messageId":"m"}`, "user_message_chunk", acp.User, "m", true, "a", `{"type":"text","text":"a"}`, false},
		{"agent without id", `{"sessionUpdate":"agent_message_chunk","content":{"text":"a\n\"b\"","type":"text"}}`, "agent_message_chunk", acp.Agent, "", false, "a\n\"b\"", `{"text":"a\n\"b\"","type":"text"}`, false},
		{"thought, id null", `{"messageId":null,"content":{"type":"text","text":"x"},"sessionUpdate":"agent_thought_chunk"}`, "agent_thought_chunk", acp.Thought, "", false, "x", `{"type":"text","text":"x"}`, false},
		{"id empty is an id", `{"sessionUpdate":"agent_message_chunk","messageId":"","content":{"type":"text","text":"x"}}`, "agent_message_chunk", acp.Agent, "", true, "x", `{"type":"text","text":"x"}`, false},
		{"id malformed", `{"sessionUpdate":"agent_message_chunk","messageId":7,"content":{"type":"text","text":"x"}}`, "agent_message_chunk", acp.Agent, "", false, "x", `{"type":"text","text":"x"}`, false},
		{"compaction", `{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","messageId":"no","content":{"type":"text","text":"x"}}`, "compaction_summary_chunk", acp.Compaction, "c", true, "x", `{"type":"text","text":"x"}`, false},
		{"white space and unknown members", ` { "sessionUpdate" : "agent_message_chunk" , "x":[1], "content" : { "type" : "text" , "text" : "x y" , "annotations":null } } `, "agent_message_chunk", acp.Agent, "", false, "x y", `{ "type" : "text" , "text" : "x y" , "annotations":null }`, false},
		{"kind with escapes", `{"sessionUpdate":"agent\u005fmessage_chunk","content":{"type":"te\u0078t","text":"x"}}`, "agent_message_chunk", acp.Agent, "", false, "x", `{"type":"te\u0078t","text":"x"}`, false},
		{"UN-02 lone surrogate", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"cut \ud83d"}}`, "agent_message_chunk", acp.Agent, "", false, "cut \uFFFD", `{"type":"text","text":"cut \ud83d"}`, false},
		{"image", `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","text":"x"}}`, "agent_message_chunk", acp.Agent, "", false, "", `{"type":"image","data":"","text":"x"}`, false},
		{"text twice", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","text":"y"}}`, "agent_message_chunk", acp.Agent, "", false, "", `{"type":"text","text":"x","text":"y"}`, false},
		{"type twice", `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","type":"text","text":"x"}}`, "agent_message_chunk", acp.Agent, "", false, "", `{"type":"image","type":"text","text":"x"}`, false},
		{"content twice", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"content":{"type":"text","text":"y"}}`, "agent_message_chunk", acp.Agent, "", false, "", `{"type":"text","text":"y"}`, false},
		{"text no string", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":5}}`, "agent_message_chunk", acp.Agent, "", false, "", `{"type":"text","text":5}`, false},
		{"content no object", `{"sessionUpdate":"agent_message_chunk","content":"x"}`, "agent_message_chunk", acp.Agent, "", false, "", `"x"`, false},
		{"no content", `{"sessionUpdate":"agent_message_chunk"}`, "agent_message_chunk", acp.Agent, "", false, "", "", false},
		{"last kind counts", `{"sessionUpdate":"tool_call","sessionUpdate":"plan"}`, "plan", acp.None, "", false, "", "", false},
		{"UM-01 usage", `{"sessionUpdate":"usage_update","used":1,"size":2}`, "usage_update", acp.None, "", false, "", "", true},
		{"UM-01 unknown", `{"sessionUpdate":"hologram_update","x":[1]}`, "hologram_update", acp.None, "", false, "", "", false},
		{"tool call", `{"sessionUpdate":"tool_call","messageId":"m","content":[]}`, "tool_call", acp.None, "", false, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := acp.ParseUpdate([]byte(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			if string(u.Raw) != c.raw || u.Kind != c.kind || u.Chunk != c.chunk || u.MessageID != c.id || u.HasMessageID != c.hasID ||
				u.Text() != c.text || u.IsText != (c.text != "") || string(u.ContentRaw) != c.content || u.Side() != c.side {
				t.Errorf("ParseUpdate = %+v, text %q, side %t", u, u.Text(), u.Side())
			}
			if u.IsText {
				if at, end := u.Raw[u.TextAt-1], u.Raw[u.TextEnd]; at != '"' || end != '"' {
					t.Errorf("the text is between %q and %q", at, end)
				}
			}
		})
	}
}

func TestParseUpdate_UM_01_Malformed(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{}`, `{"sessionUpdate":null}`, `{"sessionUpdate":5}`, `{"sessionUpdate":""}`, `{"x":{"sessionUpdate":"plan"}}`} {
		if u, err := acp.ParseUpdate([]byte(raw)); err == nil {
			t.Errorf("ParseUpdate(%s) = %+v; want an error", raw, u)
		}
	}
}

func TestUpdate_S7_1_SideKinds(t *testing.T) {
	for kind, want := range map[string]bool{
		"usage_update": true, "session_info_update": true, "available_commands_update": true, "current_mode_update": true,
		"config_option_update": true, "notice": true,
		"tool_call": false, "tool_call_update": false, "plan": false, "plan_update": false, "compaction_update": false,
		"subagent_update": false, "_acme/x": false, "agent_message_chunk": false,
	} {
		u, err := acp.ParseUpdate([]byte(`{"sessionUpdate":"` + kind + `"}`))
		if err != nil || u.Side() != want {
			t.Errorf("Side of %s = %t, %v; want %t", kind, u.Side(), err, want)
		}
	}
}

func TestMergeable_S7_3(t *testing.T) {
	const base = `{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"a"}}`
	for _, c := range []struct {
		name, other string
		want        bool
	}{
		{"another text", strings.Replace(base, `"a"`, `"longer \ud83d"`, 1), true},
		{"same", base, true},
		{"empty text", strings.Replace(base, `"a"`, `""`, 1), true},
		{"another id", strings.Replace(base, `"m"`, `"n"`, 1), false},
		{"another kind", strings.Replace(base, "message_chunk", "thought_chunk", 1), false},
		{"meta", strings.Replace(base, `"}}`, `"},"_meta":{}}`, 1), false},
		{"annotations", strings.Replace(base, `"}}`, `","annotations":null}}`, 1), false},
		{"white space", strings.Replace(base, `,"content"`, `, "content"`, 1), false},
		{"another order", `{"messageId":"m","sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`, false},
		{"image", `{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"image","data":"a"}}`, false},
	} {
		a, _ := acp.ParseUpdate([]byte(base))
		b, _ := acp.ParseUpdate([]byte(c.other))
		if got := acp.Mergeable(a, b); got != c.want {
			t.Errorf("%s: Mergeable = %t; want %t", c.name, got, c.want)
		}
		if got := acp.Mergeable(b, a); got != c.want {
			t.Errorf("%s: Mergeable the other way = %t; want %t", c.name, got, c.want)
		}
	}
	image, _ := acp.ParseUpdate([]byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"a"}}`))
	if acp.Mergeable(image, image) {
		t.Error("an image is mergeable with itself")
	}
}

// Putting one text behind the other inside the quotes gives the text of both.
func TestMergeable_S7_3_ConcatenationIsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.SampledFrom([]string{`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`, ` {"_meta":{"text":"x"}, "content" : {"text" : `}).Draw(t, "head")
		tail := `}}`
		if head[0] == ' ' {
			tail = ` , "type":"text"}, "sessionUpdate":"user_message_chunk"} `
		}
		var texts []string
		var updates []acp.Update
		for range 2 {
			text := rapid.String().Draw(t, "text")
			texts = append(texts, text)
			u, err := acp.ParseUpdate([]byte(head + string(rawjson.AppendString(nil, text)) + tail))
			if err != nil || !u.IsText || u.Text() != text {
				t.Fatalf("ParseUpdate = %+v, %v; want text %q", u, err, text)
			}
			updates = append(updates, u)
		}
		a, b := updates[0], updates[1]
		if !acp.Mergeable(a, b) {
			t.Fatalf("not mergeable: %s and %s", a.Raw, b.Raw)
		}
		merged := string(a.Raw[:a.TextEnd]) + string(b.Raw[b.TextAt:])
		u, err := acp.ParseUpdate([]byte(merged))
		if err != nil || u.Text() != texts[0]+texts[1] {
			t.Fatalf("merged %s = %q, %v; want %q", merged, u.Text(), err, texts[0]+texts[1])
		}
	})
}

func TestParseSessionUpdate(t *testing.T) {
	id, update, err := acp.ParseSessionUpdate([]byte(`{"_meta":{},"sessionId":"old","update":1,"update": {"b":1.10} ,"sessionId":"s\n"}`))
	if id != "s\n" || string(update) != `{"b":1.10}` || err != nil {
		t.Errorf("ParseSessionUpdate = %q, %s, %v", id, update, err)
	}
	for _, params := range []string{``, `null`, `[]`, `{"update":{}}`, `{"sessionId":5,"update":{}}`, `{"sessionId":"s"}`} {
		if _, _, err := acp.ParseSessionUpdate([]byte(params)); err == nil {
			t.Errorf("ParseSessionUpdate(%s) = nil; want an error", params)
		}
	}
}

func TestParseSessionInfo(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want any // nil: cleared
		has  bool
	}{
		{`{"sessionUpdate":"session_info_update","title":"A \"b\""}`, `A "b"`, true},
		{`{"title":""}`, "", true},
		{`{"title":null}`, nil, true},
		{`{"title":"a","title":null}`, nil, true},
		{`{"updatedAt":"x"}`, nil, false},
		{`{"title":5}`, nil, false},
	} {
		title, has := acp.ParseSessionInfo([]byte(c.raw))
		var got any
		if title != nil {
			got = *title
		}
		if diff := cmp.Diff(c.want, got); diff != "" || has != c.has {
			t.Errorf("%s: has %t, -want +got\n%s", c.raw, has, diff)
		}
	}
}

func TestParseConfigAndMode(t *testing.T) {
	if got := acp.ParseConfigOptions([]byte(`{"configOptions": [ {"id":"x"} ] }`)); string(got) != `[ {"id":"x"} ]` {
		t.Errorf("ParseConfigOptions = %s", got)
	}
	for _, raw := range []string{`{"configOptions":null}`, `{"configOptions":{}}`, `{}`, `null`} {
		if got := acp.ParseConfigOptions([]byte(raw)); got != nil {
			t.Errorf("ParseConfigOptions(%s) = %s; want nil", raw, got)
		}
	}
	if mode, ok := acp.ParseCurrentMode([]byte(`{"currentModeId":"plan"}`)); mode != "plan" || !ok {
		t.Errorf("ParseCurrentMode = %q, %t", mode, ok)
	}
}

func TestContentOf(t *testing.T) {
	block := `{ "type":"text","text":"\u0041" }`
	chunk := acp.UserChunk([]byte(block), "m\"1")
	if !json.Valid(chunk) || string(acp.ContentOf(chunk)) != block {
		t.Errorf("ContentOf(%s) = %s; want %s", chunk, acp.ContentOf(chunk), block)
	}
	u, err := acp.ParseUpdate(chunk)
	if err != nil || u.Chunk != acp.User || u.MessageID != "m\"1" || u.Text() != "A" {
		t.Errorf("ParseUpdate = %+v, %v", u, err)
	}
	if got := acp.ContentOf([]byte(`{}`)); got != nil {
		t.Errorf("ContentOf({}) = %s; want nil", got)
	}
}

func BenchmarkParseUpdate(b *testing.B) {
	raw := []byte(`{"sessionUpdate":"agent_message_chunk","messageId":"4a504473-7c30-4b30-91a7-edbed80a7940","content":{"type":"text","text":"a few words "}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := acp.ParseUpdate(raw); err != nil {
			b.Fatal(err)
		}
	}
}
