package surface_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

func TestAll_OldestFirst(t *testing.T) {
	all := surface.All(surface.Features{})
	for i, s := range all {
		if s.Version() != i+1 {
			t.Errorf("surface %d has version %d", i, s.Version())
		}
		for _, method := range strings.Fields("session/new session/resume session/list session/close session/prompt session/cancel session/set_config_option") {
			if !s.Has(method) {
				t.Errorf("version %d lacks %s", s.Version(), method)
			}
		}
		for _, method := range strings.Fields("session/load session/set_mode") {
			if s.Has(method) != (s.Version() == 1) {
				t.Errorf("version %d: Has(%s) = %t", s.Version(), method, s.Has(method))
			}
		}
		if s.Has("session/unknown") {
			t.Errorf("version %d has an unknown method", s.Version())
		}
	}
}

// Whatever the texts, what a surface makes is JSON on one line.
func TestSurfaces_MakeJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		call := surface.Call{ID: text, Title: text, Kind: "other", Status: "pending", Content: surface.CallText(text), Input: `{}`}
		content := []json.RawMessage{json.RawMessage(surface.Text(text)), json.RawMessage(`1`)}
		failure := &wire.Error{Code: 1, Message: text, Data: json.RawMessage(`[]`)}
		f := surface.Features{
			Load: rapid.Bool().Draw(t, "load"), Resume: rapid.Bool().Draw(t, "resume"), SystemPrompt: rapid.Bool().Draw(t, "system"),
			NoMessageIDs: rapid.Bool().Draw(t, "ids"), Version: rapid.IntRange(-1, 3).Draw(t, "version"),
		}
		for _, s := range surface.All(f) {
			taken, taking := s.Taken(text, content)
			ended, ending := s.Ended(text, failure)
			made := append(taken, taking, ended, ending, s.Initialized(f), s.Restored(), s.Blocked(true), s.Blocked(false), s.Commands(), s.ConfigOptions("short"),
				s.Opened(surface.Opened{SessionID: text, Verbosity: "long", Mode: "plan"}), s.Opened(surface.Opened{Verbosity: "long", Mode: "plan"}),
				s.Chunk("agent_message_chunk", text, surface.Text(text)), s.Call(call, true), s.Call(surface.Call{ID: text}, false), s.Permission(text, call),
				surface.Listed(text, text, text, time.Unix(0, 0)))
			made = append(made, s.Past(text, content)...)
			for _, m := range made {
				if m != "" && (!json.Valid([]byte(m)) || strings.Contains(m, "\n")) {
					t.Fatalf("version %d makes %q", s.Version(), m)
				}
			}
			if (taking == "") == (ending == "") {
				t.Fatalf("version %d answers a prompt %q and %q; want it once", s.Version(), taking, ending)
			}
		}
	})
}

// S8.3: nothing but an option that was offered is ever an allow.
func TestS8_3_OutcomeNeverInventsAnAllow(t *testing.T) {
	for _, tt := range []struct{ result, want string }{
		{`{"outcome":{"outcome":"selected","optionId":"allow"}}`, "allow"},
		{`{"outcome":{"outcome":"selected","optionId":"reject_always"}}`, "reject_always"},
		{`{"outcome":{"outcome":"cancelled"}}`, "cancelled"},
		{`{"outcome":{"outcome":"cancelled","optionId":"allow"}}`, "cancelled"},
		{`{"outcome":{"outcome":"selected"}}`, "not approved"},
		{`{"outcome":{"outcome":"selected","optionId":"allow_once"}}`, "not approved"},
		{`{"outcome":{"outcome":"allow","optionId":"allow"}}`, "not approved"},
		{`{"outcome":"allow"}`, "not approved"},
		{`{"optionId":"allow"}`, "not approved"},
		{`null`, "not approved"},
		{``, "not approved"},
	} {
		got := surface.Outcome(wire.Reply{Result: json.RawMessage(tt.result)})
		if first, _, _ := strings.Cut(got, ","); first != tt.want {
			t.Errorf("Outcome(%s) = %q; want %q", tt.result, got, tt.want)
		}
	}
	for code, want := range map[int]string{wire.CodeCancelled: "cancelled", -32601: "not approved, error -32601: no"} {
		if got := surface.Outcome(wire.Reply{Err: &wire.Error{Code: code, Message: "no"}}); got != want {
			t.Errorf("Outcome of error %d = %q; want %q", code, got, want)
		}
	}
}
