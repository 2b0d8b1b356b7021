package public_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
	"agentos/protocol/testdata/wire"
)

// reservedIn says which members of a payload are shown in native, by the kind
// of event: written again here, so that a list of the product that loses or
// gains a name is noticed (S5.1).
var reservedIn = map[protocol.EventKind]string{
	protocol.KindUpdate:             "durability sessionId sequence timestamp acpVersion type run incomplete native afterSequence offset",
	protocol.KindPermissionRequest:  "durability sessionId sequence timestamp acpVersion type run incomplete native requestId",
	protocol.KindPermissionResponse: "durability sessionId sequence timestamp acpVersion type run incomplete native requestId status reason",
}

// lined is a value as it stands in a line.
func lined(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// wantPublic puts the public form of a payload together from what encoding/json
// finds in it: head has the envelope without its type.
func wantPublic(head, middle string, kind protocol.EventKind, payload []byte) string {
	if !strings.HasPrefix(strings.TrimLeft(string(payload), " \t\r\n"), "{") {
		typ := ""
		if kind == protocol.KindUpdate {
			typ = `,"type":"unknown"`
		}
		return head + typ + middle + `,"native":` + lined(string(payload)) + "}"
	}
	out, native, spelled := head, "", ""
	entries := twin.Entries(payload)
	if kind == protocol.KindUpdate {
		for _, e := range entries {
			if e.Key == "sessionUpdate" {
				spelled = e.Value
			}
		}
		if !strings.HasPrefix(spelled, `"`) {
			spelled = ""
			out += `,"type":"unknown"`
		} else {
			out += `,"type":` + spelled
		}
	}
	out += middle
	for _, e := range entries {
		member := e.Spelled + ":" + lined(e.Value)
		switch {
		case spelled != "" && e.Key == "sessionUpdate" && e.Value == spelled:
		case slices.Contains(strings.Fields(reservedIn[kind]), e.Key):
			native += "," + member
		default:
			out += "," + member
		}
	}
	if native != "" {
		out += `,"native":{` + native[1:] + "}"
	}
	return out + "}"
}

func quoted(s string) string { return twin.Canonical(rawjson.AppendString(nil, s)) }

// FuzzAppendEvent holds the public form of every kind of event, and of errors and
// answers, to what can be put together from a decode of the payload.
func FuzzAppendEvent(f *testing.F) {
	for i, l := range wire.Lines() {
		if !json.Valid(l.Text) {
			continue
		}
		for _, path := range [][]string{{"params", "update"}, {"params"}, {"result"}, {"error"}} {
			if v := twin.Get(l.Text, path...); v != nil {
				f.Add(v, "main", int64(i))
				break
			}
		}
	}
	for _, g := range goldens {
		f.Add(g.got(), `q"`, int64(7))
	}
	for _, s := range []string{`{"sessionUpdate":"a","sessionUpdate":"b","sessionUpdate":1}`, ` { "\u0074ype" : {"a":
		1} , "sessionUpdate":"\u0061" , "sessionUpdate" : "a" } `, " 7\n", `{"code":"x","details":{"a":1,"a":[ ]," ":"\n"},"message":null}`} {
		f.Add([]byte(s), "\u2028", int64(-1))
	}
	f.Fuzz(func(t *testing.T, payload []byte, id string, n int64) {
		if !utf8.Valid(payload) || rawjson.Check(payload) != nil || !utf8.ValidString(id) {
			return
		}
		e := protocol.Event{Sequence: protocol.Sequence(n), At: protocol.TimeMS(n & (1<<47 - 1)), ACP: 1, Payload: payload, Incomplete: n&1 != 0}
		if n&2 != 0 {
			e.Run = protocol.RunID(id)
		}
		checkEvents(t, protocol.SessionID(id), e)
		checkErrorObject(t, payload)
		answer := public.AppendAnswer(nil, protocol.Answer{Stored: payload})
		if want := `{"result":` + lined(string(payload)) + "}"; string(answer) != want {
			t.Fatalf("answer %q; want %q", answer, want)
		}
	})
}

func checkEvents(t *testing.T, id protocol.SessionID, e protocol.Event) {
	t.Helper()
	head := fmt.Sprintf(`{"durability":"durable","sessionId":%s,"sequence":%d,"timestamp":"%s","acpVersion":1`, quoted(string(id)), e.Sequence, e.At)
	marks := ""
	if e.Run != "" {
		marks += `,"run":` + quoted(string(e.Run))
	}
	if e.Incomplete {
		marks += `,"incomplete":true`
	}
	want := func(got []byte, want string) {
		t.Helper()
		if string(got) != want || !json.Valid(got) || !rawjson.OneLine(got) {
			t.Fatalf("%q gives\n%s\nwant\n%s", e.Payload, got, want)
		}
	}
	e.Kind = protocol.KindUpdate
	want(public.AppendEvent(nil, id, e), wantPublic(head, marks, e.Kind, e.Payload))

	e.Kind, e.Request = protocol.KindPermissionRequest, "r\"1"
	typed := head + `,"type":"permission_request","requestId":"r\"1"`
	want(public.AppendEvent(nil, id, e), wantPublic(typed, marks, e.Kind, e.Payload))

	e.Kind, e.Status, e.Reason = protocol.KindPermissionResponse, protocol.OutcomeNotPending, protocol.ReasonVMShutdown
	typed = head + `,"type":"permission_response","requestId":"r\"1","status":"not_pending","reason":"vm_shutdown"`
	want(public.AppendEvent(nil, id, e), wantPublic(typed, marks, e.Kind, e.Payload))

	delta := protocol.Delta{After: e.Sequence, Run: "r7", Offset: int64(e.At), ACP: 1, Payload: e.Payload}
	head = fmt.Sprintf(`{"durability":"ephemeral","sessionId":%s,"afterSequence":%d,"run":"r7","offset":%d,"acpVersion":1`, quoted(string(id)), delta.After, delta.Offset)
	want(public.AppendDelta(nil, id, delta), wantPublic(head, "", protocol.KindUpdate, e.Payload))
}

// checkErrorObject reads any JSON as a stored error and writes it again.
func checkErrorObject(t *testing.T, raw []byte) {
	t.Helper()
	e := public.ParseErrorObject(raw)
	code, _ := twin.GetString(raw, "code")
	if code == "" {
		if e.Code != protocol.CodeInternal || e.Details != nil {
			t.Fatalf("ParseErrorObject(%q) = %+v", raw, e)
		}
		return
	}
	message, _ := twin.GetString(raw, "message")
	details := map[string]string{}
	if d := twin.Get(raw, "details"); twin.Is(d, '{') {
		for _, entry := range twin.Entries(d) {
			details[entry.Key] = entry.Value
		}
	}
	if string(e.Code) != code || e.Message != message || len(e.Details) != len(details) {
		t.Fatalf("ParseErrorObject(%q) = %+v", raw, e)
	}
	again := public.ErrorObject(e)
	if !json.Valid(again) || !rawjson.OneLine(again) {
		t.Fatalf("%q gives %q", raw, again)
	}
	for name, value := range details {
		if got, ok := e.Details[name].(json.RawMessage); !ok || string(got) != value {
			t.Fatalf("detail %q of %q is %s; want %s", name, raw, got, value)
		}
		if got := twin.Get(again, "details", name); string(got) != lined(value) {
			t.Fatalf("detail %q of %q is written as %s", name, raw, got)
		}
	}
	if twice := public.ErrorObject(public.ParseErrorObject(again)); string(twice) != string(again) {
		t.Fatalf("%q, read and written, is %q", again, twice)
	}
}
