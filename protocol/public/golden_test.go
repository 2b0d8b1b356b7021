package public_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"agentos/protocol"
	"agentos/protocol/public"
)

var update = flag.Bool("update", false, "write the golden files")

const at = protocol.TimeMS(1796068800123) // 2026-11-30T20:00:00.123Z

func text(s string) *string { return &s }

func updateEvent(payload string) protocol.Event {
	return protocol.Event{Sequence: 12, At: at, ACP: 1, Kind: protocol.KindUpdate, Payload: []byte(payload)}
}

var goldens = []struct {
	name string
	got  func() []byte
}{
	{"event_chunk", func() []byte {
		return public.AppendEvent(nil, "main", updateEvent(`{"sessionUpdate":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"<b> \u2028 \ud83d"}}`))
	}},
	{"event_run", func() []byte {
		e := updateEvent(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
		e.Run = "r7"
		return public.AppendEvent(nil, "main", e)
	}},
	{"event_incomplete", func() []byte {
		e := updateEvent(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hal"}}`)
		e.Incomplete = true
		return public.AppendEvent(nil, "main", e)
	}},
	{"event_tool_call", func() []byte {
		return public.AppendEvent(nil, "main", updateEvent(`{"sessionUpdate":"tool_call","toolCallId":"t1","title":"ls","status":"pending","rawInput":{"n": 9007199254740993, "x":1.10},"requestId":1,"offset":2,"_meta":{"a/b":null}}`))
	}},
	{"event_reserved_members", func() []byte {
		return public.AppendEvent(nil, `q"uote`, updateEvent(`{"z":1,"type":"mine","sequence": 5,"sessionUpdate":"_acme/hologram","sessionId":"theirs","\u0072un":true,"native":{"a":[ ]},"timestamp":"t","durability":0,"acpVersion":9,"incomplete":false,"type":"again","z":2}`))
	}},
	{"event_many_lines", func() []byte {
		return public.AppendEvent(nil, "main", updateEvent("{\n  \"sessionUpdate\" : \"user_message_chunk\",\n  \"content\": {\r\n\t\"type\":\"text\",\"text\":\"a\\nb\"}\n}"))
	}},
	{"event_no_object", func() []byte { return public.AppendEvent(nil, "main", updateEvent("[1,\n2]")) }},
	{"event_no_kind", func() []byte { return public.AppendEvent(nil, "main", updateEvent(`{"sessionUpdate":5,"a":1}`)) }},
	{"event_kind_twice", func() []byte {
		return public.AppendEvent(nil, "main", updateEvent(`{"sessionUpdate":"a","sessionUpdate":"b","sessionUpdate":"b","x":1}`))
	}},
	{"permission_request", func() []byte {
		return public.AppendEvent(nil, "asks", protocol.Event{Sequence: 2, At: at, ACP: 1, Kind: protocol.KindPermissionRequest, Request: "req-1",
			Payload: []byte(`{"sessionId":"asks","toolCall":{"toolCallId":"t1","title":"Write a.txt","status":"pending"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"}],"status":"theirs"}`)})
	}},
	{"permission_accepted", func() []byte {
		return public.AppendEvent(nil, "asks", protocol.Event{Sequence: 3, At: at, ACP: 1, Kind: protocol.KindPermissionResponse, Request: "req-1",
			Status: protocol.OutcomeAccepted, Payload: []byte(`{"outcome":{"outcome":"selected","optionId":"allow"}}`)})
	}},
	{"permission_not_pending", func() []byte {
		return public.AppendEvent(nil, "asks", protocol.Event{Sequence: 3, At: at, ACP: 1, Kind: protocol.KindPermissionResponse, Request: "req-1",
			Status: protocol.OutcomeNotPending, Reason: protocol.ReasonVMShutdown, Incomplete: true,
			Payload: []byte(`{"outcome":{"outcome":"cancelled"},"reason":"theirs"}`)})
	}},
	{"delta", func() []byte {
		return public.AppendDelta(nil, "main", protocol.Delta{After: 12, Run: "r7", Offset: 40, ACP: 1,
			Payload: []byte(`{"sessionUpdate":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"word"},"offset":1,"sequence":2}`)})
	}},
	{"error", func() []byte {
		e := protocol.Errorf(protocol.CodeAgentError, "agent said <no>: %w", errors.New("secret cause"))
		e.Cause = errors.New("hidden")
		return public.AppendError(nil, e.With("data", json.RawMessage(`{"n": 1.10}`)).With("agentCode", -32603).With("message", "<x>"))
	}},
	{"error_retryable", func() []byte {
		return public.AppendError(nil, protocol.Errorf(protocol.CodeSessionBusy, "session main is running prompt p1"))
	}},
	{"answer", func() []byte {
		return public.AppendAnswer(nil, protocol.Answer{Session: "main", Prompt: "p1", StopReason: "end_turn", RestoredBy: protocol.RestoredLive,
			Message: &protocol.Message{ID: "m2", Content: [][]byte{[]byte(`{"type":"text","text":"hi"}`), []byte("{\"type\":\"image\",\n\"data\":\"\"}")}}})
	}},
	{"answer_silent_forced", func() []byte {
		return public.AppendAnswer(nil, protocol.Answer{Session: "main", Prompt: "p1", StopReason: protocol.StopCancelled, RestoredBy: protocol.RestoredNew, Forced: true})
	}},
	{"answer_unnamed_message", func() []byte {
		return public.AppendAnswer(nil, protocol.Answer{Session: "main", Prompt: "p1", StopReason: "end_turn", RestoredBy: protocol.RestoredLoad,
			Message: &protocol.Message{}})
	}},
	{"session_idle", func() []byte {
		return public.AppendSession(nil, protocol.SessionInfo{ID: "main", Agent: "scripted", Cwd: "/home/user", State: protocol.StateIdle,
			OldestRetainedSequence: 1, CreatedAt: at, UpdatedAt: at})
	}},
	{"session_failed", func() []byte {
		return public.AppendSession(nil, protocol.SessionInfo{ID: "main", Agent: "claude", Cwd: "/w", AdditionalDirectories: []string{"/a", `/b "c"`},
			State: protocol.StateFailed, Prompt: "p9", Error: json.RawMessage(public.ErrorObject(protocol.Errorf(protocol.CodeAdapterExited, "the agent exited"))),
			LatestSequence: 90, OldestRetainedSequence: 11, RetainedEvents: 80, RetainedBytes: 12345, Title: text("A <title>"), CreatedAt: at, UpdatedAt: at + 5})
	}},
}

// One golden file a message; each is one line of valid JSON.
func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			got := append(g.got(), '\n')
			file := filepath.Join("testdata", g.name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got  %swant %s", got, want)
			}
			if !json.Valid(got) {
				t.Errorf("not valid JSON: %s", got)
			}
			for i, c := range got[:len(got)-1] {
				if c == '\n' || c == '\r' {
					t.Errorf("byte %d ends the line", i)
				}
			}
		})
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(goldens) {
		t.Errorf("%d golden files, %v; want %d", len(files), err, len(goldens))
	}
}
