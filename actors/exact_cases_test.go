package actors_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// allocated returns how many bytes f allocates, and whatever runs beside it.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestUN01_ByteByByte: characters that come in pieces are stored as they were said.
func TestUN01_ByteByByte(t *testing.T) {
	said := `{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"读 ≤ 😀"}}`
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for _, b := range []byte(updateLine("w", said)) {
				w.put(string([]byte{b}))
			}
			return endTurn
		})
	})
	if a := r.mustPrompt("读 ≤ 😀"); messageText(a.Message) != "读 ≤ 😀" {
		t.Errorf("answer = %q", messageText(a.Message))
	}
	if diff := cmp.Diff([]string{said}, r.payloads("main")); diff != "" {
		t.Errorf("history: -want +got\n%s", diff)
	}
	if n, _ := r.diagnosed("main", jsonrpc.Repaired); n != 0 {
		t.Errorf("%d lines were mended; there was nothing to mend", n)
	}
}

// halves are updates with a lone surrogate, or a NUL, wherever a text may stand.
var halves = []string{
	`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"cut HALF"}}`,
	`{"sessionUpdate":"agent_message_chunk","messageId":"HALF","content":{"type":"text","text":"id"}}`,
	`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"HALF","mimeType":"HALF"}}`,
	`{"sessionUpdate":"session_info_update","title":"cut HALF"}`,
	`{"sessionUpdate":"config_option_update","configOptions":[{"id":"HALF","name":"HALF","currentValue":"HALF"}]}`,
	`{"sessionUpdate":"current_mode_update","currentModeId":"HALF"}`,
	`{"sessionUpdate":"tool_call","toolCallId":"HALF","title":"HALF","rawInput":{"HALF":"HALF"}}`,
	`{"sessionUpdate":"tool_call_update","toolCallId":"HALF","status":"HALF"}`,
	`{"sessionUpdate":"HALF","x":1}`,
	`{"sessionUpdate":"x","HALF":1,"_meta":{"HALF":"HALF"}}`,
}

// TestUN02_LoneSurrogateAnywhere: a text that is none, in any place, is stored as it came; what
// is shown of it is UTF-8; and nothing after it is lost, over a restart too.
func TestUN02_LoneSurrogateAnywhere(t *testing.T) {
	for _, half := range []string{`\ud83d`, `\udc00`, `\u0000`} {
		t.Run(half, func(t *testing.T) {
			var sent []string
			for _, u := range halves {
				sent = append(sent, strings.ReplaceAll(u, "HALF", half))
			}
			turns := 0
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(c wireCall) string {
					turns++
					if turns != 2 {
						w.update("w", textUpdate("m", fmt.Sprint("turn ", turns)))
						return endTurn
					}
					for _, u := range sent {
						w.update("w", u)
					}
					return `{"stopReason":"` + half + `"}`
				})
			})
			w := r.watch("main", 0)
			for range 6 {
				r.mustPrompt("next")
			}
			checkHalves(t, r, sent)
			r.restart()
			for range 2 {
				r.mustPrompt("after a restart")
			}
			checkHalves(t, r, sent)
			for _, i := range w.all() {
				if line := i.JSON(); i.State == nil && (!utf8.Valid(line) || !json.Valid(line)) {
					t.Errorf("shown: %q", line)
				}
			}
			r.check()
		})
	}
}

// checkHalves wants each of the updates in the history, as it was sent.
func checkHalves(t *testing.T, r *wireRig, sent []string) {
	t.Helper()
	stored := map[string]bool{}
	turns := 0
	for _, e := range r.history("main") {
		stored[string(e.Payload)] = true
		if kindOf(e) == "user_message_chunk" {
			turns++
		}
	}
	for _, u := range sent {
		if !stored[u] {
			t.Errorf("not stored as it came: %s", u)
		}
	}
	if turns < 6 {
		t.Errorf("%d turns are stored; want all", turns)
	}
	info := r.info("main")
	if info.State != protocol.StateIdle || info.Title == nil || !utf8.ValidString(*info.Title) || !strings.HasPrefix(*info.Title, "cut ") {
		t.Errorf("session = %+v; want it idle, with the title as UTF-8", info)
	}
}

// TestUN02_PromptWithALoneSurrogate: one that a person sends is stored and sent on as it is.
func TestUN02_PromptWithALoneSurrogate(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) { w.serve("w", func(wireCall) string { return endTurn }) })
	r.mustPrompt("one")
	block := `{"type":"text","text":"cut \ud83d \u0000","_meta":{"\udc00":1.0}}`
	if err := r.promptRaw(`[` + block + `]`); err != nil {
		t.Fatal(err)
	}
	r.mustPrompt("three")
	sent := r.wire.of("session/prompt")
	if len(sent) != 3 || !strings.HasSuffix(sent[1].line, `"prompt":[`+block+`]}}`) {
		t.Errorf("sent %q", sent[1].line)
	}
	if e := r.history("main")[1]; string(contentOf(e.Payload)) != block {
		t.Errorf("stored %s", e.Payload)
	}
	r.check()
}

// TestUM01_UnknownUpdates: kinds that nobody has heard of are stored raw and shown
// as they came; one without a kind is left out and logged; the turn succeeds.
func TestUM01_UnknownUpdates(t *testing.T) {
	known := []string{`{"sessionUpdate":"usage_update","used":1,"size":2}`, `{"sessionUpdate":"hologram_update","x":[1]}`}
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for _, u := range append(known, `{"x":1}`, `{"sessionUpdate":null}`, `null`, `[]`) {
				w.update("w", u)
			}
			w.update("w", textUpdate("m", "text"))
			return endTurn
		})
	})
	w := r.watch("main", 0)
	if a := r.mustPrompt("hello"); a.StopReason != "end_turn" || messageText(a.Message) != "text" {
		t.Errorf("answer = %+v", a)
	}
	if diff := cmp.Diff(append(known, textUpdate("m", "text")), r.payloads("main")); diff != "" {
		t.Errorf("history: -want +got\n%s", diff)
	}
	hologram := w.until(t, "the unknown update", func(i feed.Item) bool {
		return i.Event != nil && kindOf(*i.Event) == "hologram_update"
	})
	if line := string(hologram.JSON()); !strings.HasSuffix(line, `,"type":"hologram_update","x":[1]}`) {
		t.Errorf("shown as %s", line)
	}
	if n := r.logs.FilterMessage("strange message").Len(); n != 4 {
		t.Errorf("%d updates without a kind are in the log; want 4", n)
	}
	r.check()
}

// TestUM02_ErrorDataIsKept: what an agent's error brings along reaches the caller
// and the database byte for byte.
func TestUM02_ErrorDataIsKept(t *testing.T) {
	const data = `{"b":1,"a":9007199254740993,"_meta":{"pi":{"level":"<error>"}},"n":1.10}`
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32603,"message":"boom","data":` + data + "}}\n")
			return ""
		})
	})
	_, err := r.prompt("hello")
	pe, _ := err.(*protocol.Error)
	if pe == nil || pe.Code != protocol.CodeAgentError || string(pe.Details["data"].(json.RawMessage)) != data {
		t.Errorf("prompt = %v, %v", err, pe)
	}
	r.restart()
	if stored := string(r.info("main").Error); !strings.Contains(stored, `"data":`+data) {
		t.Errorf("stored error = %s", stored)
	}
}
