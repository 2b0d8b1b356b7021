package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
	"agentos/protocol/jsonrpc"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
	"agentos/protocol/testdata/wire"
)

// FuzzPeer gives a stream, in reads of some size, to a peer that has a call (1)
// open, and holds all that comes of it to what encoding/json makes of each line.
func FuzzPeer(f *testing.F) {
	lines := wire.Lines()
	for i, l := range lines {
		f.Add(l.Text, uint8(i))
		if i%8 == 0 {
			f.Add(slicesJoin(lines[i:min(i+3, len(lines))]), uint8(i))
		}
	}
	for _, c := range oddLines {
		if len(c.text) < 4000 {
			f.Add([]byte(c.text+"\r\n"+`{"jsonrpc":"2.0","id":1,"result":{}}`), uint8(len(c.text)))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1E2,"method":"m"}`), uint8(0))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":"x","message":"a","message":null,"data":1,"data":[ ]}}`), uint8(0))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		if len(stream) > 64<<10 {
			return
		}
		var pieces [][]byte
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+int(size)*8)
			pieces, rest = append(pieces, bytes.Clone(rest[:n])), rest[n:]
		}
		got := play(t, 1, jsonrpc.Options{}, pieces...)
		want := expectation{open: true, events: got.Events, replies: got.Replies}
		if len(stream) > 0 {
			for _, line := range bytes.Split(bytes.TrimSuffix(stream, []byte("\n")), []byte("\n")) {
				want.lines++
				want.line(line)
			}
		}
		if want.open {
			want.event("none 1")
		}
		if diff := cmp.Diff(want.wantEvents, got.Events); diff != "" {
			t.Fatalf("events of %q: -want +got\n%s", stream, diff)
		}
		if diff := cmp.Diff(want.wantReplies, append([]string(nil), got.Replies...)); diff != "" {
			t.Fatalf("replies to %q: -want +got\n%s", stream, diff)
		}
		if diff := cmp.Diff(want.raw, got.Raw); diff != "" {
			t.Fatalf("raw of %q: -want +got\n%s", stream, diff)
		}
		for kind, n := range got.Stats.Diagnostics {
			if n != want.counts[jsonrpc.DiagnosticKind(kind)] {
				t.Fatalf("%q: %v = %d; want %d", stream, jsonrpc.DiagnosticKind(kind), n, want.counts[jsonrpc.DiagnosticKind(kind)])
			}
		}
		if got.Stats.LinesRead != want.lines || got.Stats.BytesRead != int64(len(stream)) {
			t.Fatalf("%q: %d lines, %d bytes were read", stream, got.Stats.LinesRead, got.Stats.BytesRead)
		}
	})
}

func slicesJoin(lines []wire.Line) (out []byte) {
	for _, l := range lines {
		out = append(append(out, l.Text...), "\r\n"...)
	}
	return out
}

// expectation is what should come of a stream so far. What is done about a
// damaged line is for tables, so events and replies of such are taken over from
// what there was, if they can be of that line.
type expectation struct {
	events, replies []string // what there was

	open        bool
	lines       int64
	wantEvents  []string
	wantReplies []string
	raw         []string
	counts      [64]int64
}

func (x *expectation) event(s string) { x.wantEvents = append(x.wantEvents, s) }

func (x *expectation) count(kind jsonrpc.DiagnosticKind, reply string) {
	x.counts[kind]++
	if reply != "" {
		x.wantReplies = append(x.wantReplies, reply)
	}
}

func (x *expectation) line(line []byte) {
	text, replaced := rawjson.Repair(bytes.TrimSuffix(line, []byte("\r")))
	if replaced > 0 {
		x.count(jsonrpc.Repaired, "")
	}
	switch first := bytes.TrimLeft(text, " \t\r"); {
	case len(first) == 0:
	case !json.Valid(text):
		// Both what is wrong and what is too deep may be: the first counts.
		if _, deep := rawjson.Check(text).(*rawjson.DepthError); deep {
			x.damaged(jsonrpc.TooDeep, text)
		} else {
			x.damaged(jsonrpc.Junk, text)
		}
	case twin.Depth(text) > protocol.MaxJSONDepth:
		x.damaged(jsonrpc.TooDeep, text)
	case first[0] == '[':
		x.count(jsonrpc.Batch, refusedBatch)
	case first[0] != '{':
		x.count(jsonrpc.NotMessage, "")
	default:
		x.object(text)
	}
}

func (x *expectation) damaged(kind jsonrpc.DiagnosticKind, text []byte) {
	x.count(kind, "")
	if n := len(x.wantEvents); x.open && n < len(x.events) && x.events[n] == "damaged 1 "+kind.String() && bytes.IndexByte(text, '1') >= 0 {
		x.open = false
		x.event(x.events[n])
	}
	if n := len(x.wantReplies); n < len(x.replies) {
		reply := []byte(x.replies[n])
		message, _ := twin.GetString(reply, "error", "message")
		if id := twin.Get(reply, "id"); bytes.Contains(text, id) && strings.Contains(message, "JSON at byte ") {
			x.wantReplies = append(x.wantReplies, x.replies[n])
		}
	}
}

func (x *expectation) object(text []byte) {
	version, _ := twin.GetString(text, "jsonrpc")
	id, method, result, err := twin.Get(text, "id"), twin.Get(text, "method"), twin.Get(text, "result"), twin.Get(text, "error")
	switch {
	case version != "2.0", id == nil && method == nil && result == nil && err == nil:
		x.count(jsonrpc.NotMessage, "")
	case method != nil:
		x.incoming(text, id, method)
	case !x.open || string(id) != "1":
		x.count(jsonrpc.OrphanAnswer, "")
	default:
		x.answer(text, result, err)
	}
}

// isID reports whether a raw value is a string or an integer.
func isID(raw []byte) bool {
	return len(raw) > 0 && len(raw) <= 1024 && (raw[0] == '"' || strings.Trim(string(raw), "-0123456789") == "")
}

func (x *expectation) incoming(text, id, rawMethod []byte) {
	method, named := twin.String(rawMethod)
	params := twin.Get(text, "params")
	switch {
	case id != nil && !isID(id):
		x.count(jsonrpc.BadRequest, refused)
		return
	case !named && id == nil:
		x.count(jsonrpc.BadRequest, "")
		return
	case !named:
		x.count(jsonrpc.BadRequest, strings.Replace(refused, `"id":null`, `"id":`+string(id), 1))
		return
	case method == "$/cancel_request":
		if target := twin.Get(params, "requestId"); isID(target) {
			x.event("cancel " + string(target))
		} else {
			x.count(jsonrpc.BadRequest, "")
		}
		if id != nil {
			x.wantReplies = append(x.wantReplies, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":null}`)
		}
		return
	case id == nil:
		x.event(fmt.Sprintf("note %s %s", method, params))
	default:
		x.event(fmt.Sprintf("request %s %s %s", id, method, params))
	}
	x.raw = append(x.raw, string(text))
}

func (x *expectation) answer(text, result, err []byte) {
	x.open = false
	x.raw = append(x.raw, string(text))
	switch {
	case err != nil && string(err) != "null":
		var code int64
		raw := twin.Get(err, "code")
		hasCode := raw != nil && string(raw) != "null" && json.Unmarshal(raw, &code) == nil
		if !hasCode {
			code = -32603
		}
		message, hasMessage := twin.GetString(err, "message")
		if text, is := twin.String(err); is {
			message, hasMessage = text, true
		}
		if !hasMessage {
			message = "error without a message"
		}
		if !hasCode || !hasMessage {
			x.count(jsonrpc.BadAnswer, "")
		}
		x.event(fmt.Sprintf("error 1 %d %s %s", code, message, twin.Get(err, "data")))
	case result == nil:
		x.count(jsonrpc.BadAnswer, "")
		x.event("answer 1 null")
	default:
		x.event(fmt.Sprintf("answer 1 %s", result))
	}
}
