package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"unicode/utf8"

	"agentos/protocol/jsonrpc"
)

// realLines are lines that real agents and clients said.
func realLines(t testing.TB) [][]byte {
	t.Helper()
	b, err := os.ReadFile("testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

func TestPeer_RealLinesAreMessages(t *testing.T) {
	lines := realLines(t)
	got := play(t, 20, jsonrpc.Options{}, append(bytes.Join(lines, []byte("\n")), '\n'))
	for kind, n := range got.Stats.Diagnostics {
		if k := jsonrpc.DiagnosticKind(kind); n != 0 && k != jsonrpc.OrphanAnswer {
			t.Errorf("%v = %d; want 0", k, n)
		}
	}
	s := got.Stats
	if total := s.Requests + s.Notifications + s.Answers + s.Of(jsonrpc.OrphanAnswer); total != int64(len(lines)) {
		t.Errorf("%d messages of %d lines", total, len(lines))
	}
}

func FuzzPeer(f *testing.F) {
	for _, line := range realLines(f) {
		f.Add(line)
	}
	for _, c := range oddLines {
		if len(c.text) < 4000 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		var messages []jsonrpc.Message
		var ends []jsonrpc.Response
		w := newSink()
		gate := make(chan struct{})
		p := jsonrpc.New(&chunks{gate, [][]byte{line}}, w, func(m jsonrpc.Message) { messages = append(messages, m) },
			jsonrpc.Options{OnCancel: func(jsonrpc.ID) {}})
		if _, err := p.Call("call", nil, func(r jsonrpc.Response) { ends = append(ends, r) }); err != nil {
			t.Fatal(err)
		}
		close(gate)
		await(t, p.Done(), "end")
		p.CloseWrite()
		await(t, w.closed, "end of writing")
		p.Close()
		if len(messages) > 1 || len(ends) != 1 {
			t.Fatalf("%q: %d messages, %d ends of one call", line, len(messages), len(ends))
		}
		for _, reply := range w.lines() {
			if !json.Valid([]byte(reply)) {
				t.Fatalf("%q: wrote %q", line, reply)
			}
		}
		for _, m := range messages {
			checkMessage(t, line, m)
		}
	})
}

// checkMessage compares a message with what encoding/json makes of the line.
func checkMessage(t *testing.T, line []byte, m jsonrpc.Message) {
	t.Helper()
	if utf8.Valid(line) && !bytes.Equal(m.Raw, bytes.TrimSuffix(line, []byte("\r"))) {
		t.Fatalf("raw %q of line %q", m.Raw, line)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &members); err != nil {
		t.Fatalf("%q was delivered: %v", line, err)
	}
	var method string
	if err := json.Unmarshal(members["method"], &method); err != nil || method != m.Method {
		t.Fatalf("%q: method %q; want %q, %v", line, m.Method, method, err)
	}
	if !bytes.Equal(m.Params, members["params"]) || string(m.ID) != string(members["id"]) {
		t.Fatalf("%q: params %s, id %s; want %s, %s", line, m.Params, m.ID, members["params"], members["id"])
	}
	if (m.Kind == jsonrpc.Request) != (m.ID != "") {
		t.Fatalf("%q: kind %v with id %q", line, m.Kind, m.ID)
	}
}
