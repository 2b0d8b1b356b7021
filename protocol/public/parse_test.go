package public_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/wire"
)

// payloads are odd ones, beside those of real agents.
var payloads = []string{
	`{}`, `5`, `[1,{"a":2}]`, `"text"`, `null`, `{"sessionUpdate":"x"}`, `{"a":1}`,
	`{"sessionUpdate":5}`, `{"sessionUpdate":"a","sessionUpdate":"b"}`, `{"sessionUpdate":"a","sessionUpdate":5}`,
	`{"sessionUpdate":5,"sessionUpdate":"unknown"}`, `{"sessionUpdate":"unknown","b":1}`, `{"sessionUpdate":"b","sessionUpdate":"a","sessionUpdate":"b"}`,
	`{"session\u0055pdate":"é\n","run":1,"native":{"x":[ 1 , 2 ]},"native":3,"offset":"z"}`,
	`{"sessionUpdate":"permission_request","requestId":"r","options":[]}`, `{"sessionUpdate":"permission_request","x":1,"requestId":"r"}`,
	`{"sessionUpdate":"permission_response","status":"accepted"}`,
	`{"toolCall":{},"requestId":7,"sessionId":"main","status":"s","reason":null}`, `{"native":5}`, `{"native":{}}`, `{"":"","durability":"ephemeral"}`,
}

func eachEvent(payload []byte, check func(protocol.Event)) {
	e := protocol.Event{Sequence: 7, At: at, ACP: 1, Payload: payload}
	for _, kind := range []protocol.EventKind{protocol.KindUpdate, protocol.KindPermissionRequest, protocol.KindPermissionResponse} {
		for _, run := range []protocol.RunID{"", "1.1"} {
			e.Kind, e.Run, e.Incomplete, e.Request, e.Status, e.Reason = kind, run, run != "", "", "", ""
			if kind != protocol.KindUpdate {
				e.Request, e.Run, e.Incomplete = `q"1`, "", false
			}
			if kind == protocol.KindPermissionResponse {
				e.Status, e.Reason = protocol.OutcomeNotPending, protocol.ReasonVMShutdown
			}
			check(e)
		}
	}
}

func checkBack(t *testing.T, payload []byte) {
	eachEvent(payload, func(e protocol.Event) {
		line := public.AppendEvent(nil, "main", e)
		id, back, err := public.ParseEvent(line)
		if err != nil || id != "main" {
			t.Fatalf("ParseEvent(%s) = %q, %v", line, id, err)
		}
		if again := public.AppendEvent(nil, id, back); string(again) != string(line) {
			t.Fatalf("event\n%s\nis read as\n%+v %s\nwhich is\n%s", line, back, back.Payload, again)
		}
		if back.Sequence != e.Sequence || back.At != e.At || back.Run != e.Run || back.Incomplete != e.Incomplete {
			t.Fatalf("event %+v is read as %+v", e, back)
		}
		if e.Kind != protocol.KindUpdate && (back.Kind != e.Kind || back.Request != e.Request || back.Status != e.Status || back.Reason != e.Reason) {
			t.Fatalf("event %+v is read as %+v", e, back)
		}
	})
	d := protocol.Delta{After: 3, Run: "r", Offset: 9, ACP: 2, Payload: payload}
	line := public.AppendDelta(nil, "main", d)
	id, back, err := public.ParseDelta(line)
	if err != nil || !public.IsDelta(line) || id != "main" || string(public.AppendDelta(nil, id, back)) != string(line) {
		t.Fatalf("delta %s is read as %+v %s, %v", line, back, back.Payload, err)
	}
}

func TestParseEvent_S5_1_ReadsWhatAppendEventWrote(t *testing.T) {
	for _, p := range payloads {
		checkBack(t, []byte(p))
	}
	n := 0
	for _, l := range wire.Lines() {
		if update, ok := rawjson.Get(l.Text, "params", "update"); ok && json.Valid(l.Text) {
			checkBack(t, update)
			n++
		}
	}
	if n < 100 {
		t.Errorf("only %d updates of real agents", n)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, p := range payloads {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = public.ParseEvent(b) // of anything: no panic
		_, _, _ = public.ParseDelta(b)
		_, _ = public.ParseAnswer(b)
		_, _ = public.ParseSession(b)
		_, _ = public.ParseState(b)
		if rawjson.Check(b) == nil {
			checkBack(t, b)
		}
	})
}

func TestParseAnswer_S6_6(t *testing.T) {
	for _, a := range []protocol.Answer{
		{Session: "main", Prompt: "p", StopReason: "end_turn", RestoredBy: protocol.RestoredNew},
		{Session: "ü\n", Prompt: "p", StopReason: "cancelled", Forced: true, RestoredBy: protocol.RestoredLive,
			Message: &protocol.Message{ID: "m", Content: [][]byte{[]byte(`{"type":"text","text":"\u00e9"}`), []byte(`{ "x" : 1e5 }`)}}},
		{Session: "main", Message: &protocol.Message{}},
		{Session: "main", Stored: []byte(`{"sessionId":"main","old":[1, 2],"stopReason":"x"}`), StopReason: "x"},
	} {
		text := public.AppendAnswer(nil, a)
		raw, _ := rawjson.Get(text, "result")
		back, err := public.ParseAnswer(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, back); diff != "" && a.Message == nil || string(public.AppendAnswer(nil, back)) != string(text) {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParse_S11_1_SessionsConfigQueuedAndState(t *testing.T) {
	title := "a \"title\""
	for _, s := range []protocol.SessionInfo{
		{ID: "main", Agent: "x", Cwd: "/", State: protocol.StateIdle, CreatedAt: at, UpdatedAt: at},
		{ID: "a/b", State: protocol.StateFailed, Prompt: "p", Error: json.RawMessage(`{"code":"x"}`), AdditionalDirectories: []string{"/a", "/b\n"},
			LatestSequence: 9, OldestRetainedSequence: 2, RetainedEvents: 8, RetainedBytes: 1 << 40, Title: &title, CreatedAt: at, UpdatedAt: at},
	} {
		back, err := public.ParseSession(public.AppendSession(nil, s))
		if diff := cmp.Diff(s, back); diff != "" || err != nil {
			t.Errorf("session, %v (-want +got):\n%s", err, diff)
		}
	}
	for _, c := range []protocol.ConfigInfo{{}, {Revision: 3, Options: json.RawMessage(`[{"id":"a"}]`), Modes: json.RawMessage(`{}`)}} {
		_, back, err := public.ParseConfig(public.AppendConfig(nil, "main", c))
		if diff := cmp.Diff(c, back); diff != "" || err != nil {
			t.Errorf("config, %v (-want +got):\n%s", err, diff)
		}
	}
	q := protocol.Queued{ID: "q", Position: 3, Key: "k", CreatedAt: at}
	raw, _ := rawjson.Get(public.AppendQueued(nil, q), "queued")
	if back, err := public.ParseQueued(raw); !cmp.Equal(q, back) || err != nil {
		t.Errorf("queued = %+v, %v", back, err)
	}
	for _, s := range []public.State{{State: protocol.StateIdle, Session: "main"}, {State: protocol.StateWaiting, Session: "b", Prompt: "p", Sequence: 4}} {
		if back, err := public.ParseState(public.AppendState(nil, s)); back != s || err != nil {
			t.Errorf("state = %+v, %v", back, err)
		}
	}
	if _, err := public.ParseSession([]byte(`{}`)); err == nil {
		t.Error("no session was read as one")
	}
	if _, _, err := public.ParseEvent([]byte(`{"error":{}}`)); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("no event: %v", err)
	}
}
