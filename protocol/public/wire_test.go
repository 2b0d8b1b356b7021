package public_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
	"agentos/protocol/testdata/wire"
)

// overWire reads all lines as one stream, half a buffer a read, as a session
// reads an agent, and returns the messages in order. The answers among the
// lines are to calls of others.
func overWire(t *testing.T, lines []wire.Line) (messages []jsonrpc.Message, stats jsonrpc.Stats) {
	t.Helper()
	var stream bytes.Buffer
	for _, l := range lines {
		stream.Write(append(l.Text, '\n'))
	}
	p := jsonrpc.New(iotest.HalfReader(&stream), io.Discard, func(m jsonrpc.Message) { messages = append(messages, m) }, jsonrpc.Options{})
	<-p.Done()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return messages, p.Stats()
}

// What real agents say arrives line for line, byte for byte, and nothing of it
// is taken for damage.
func TestWire_S4_1_LinesArriveAsTheyAre(t *testing.T) {
	lines := wire.Lines()
	messages, stats := overWire(t, lines)
	var want []string
	var answers, junk, others int64
	for _, l := range lines {
		method := twin.Get(orEmpty(l.Text), "method")
		switch {
		case !json.Valid(l.Text):
			junk++
		case method != nil && twin.Get(l.Text, "jsonrpc") != nil && validID(l.Text):
			want = append(want, string(l.Text))
		case twin.Get(orEmpty(l.Text), "jsonrpc") != nil && method == nil:
			answers++
		default:
			others++
		}
	}
	var got []string
	for _, m := range messages {
		got = append(got, string(m.Raw))
		if !bytes.Equal(m.Params, twin.Get(m.Raw, "params")) || string(m.ID) != string(twin.Get(m.Raw, "id")) {
			t.Errorf("params and id of %s are %s and %s", m.Raw, m.Params, m.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(want) < 150 || answers < 100 {
		t.Errorf("only %d messages and %d answers: where are the lines?", len(want), answers)
	}
	if stats.LinesRead != int64(len(lines)) || stats.Of(jsonrpc.OrphanAnswer) != answers || stats.Of(jsonrpc.Junk) != junk ||
		stats.Of(jsonrpc.NotMessage)+stats.Of(jsonrpc.Batch)+stats.Of(jsonrpc.BadRequest) != others || stats.Replaced != 0 {
		t.Errorf("%+v; want %d answers, %d junk, %d others", stats, answers, junk, others)
	}
}

func orEmpty(b []byte) []byte {
	if !json.Valid(b) {
		return []byte("{}")
	}
	return b
}

func validID(b []byte) bool {
	id := twin.Get(b, "id")
	return id == nil || twin.Is(id, '"') || len(strings.Trim(string(id), "-0123456789")) == 0
}

// Each update goes the whole way, from the line to the public event of history
// and live, and all of it can be had back from there.
func TestWire_S5_1_UpdatesToPublicAndBack(t *testing.T) {
	messages, _ := overWire(t, wire.Lines())
	kinds := map[string]int{}
	for _, m := range messages {
		if m.Method != acp.MethodUpdate {
			continue
		}
		_, payload, err := acp.ParseSessionUpdate(m.Params)
		if err != nil {
			t.Errorf("%s: %v", m.Raw, err)
			continue
		}
		if !bytes.Contains(m.Raw, payload) {
			t.Errorf("the update of %s is no piece of it", m.Raw)
		}
		u, err := acp.ParseUpdate(payload)
		if err != nil {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		kinds[u.Kind]++
		if u.IsText {
			text, _ := twin.GetString(payload, "content", "text")
			if u.Text() != text {
				t.Errorf("text of %s is %q; want %q", payload, u.Text(), text)
			}
		}
		event := public.AppendEvent(nil, "main", protocol.Event{Sequence: 7, At: at, ACP: 1, Kind: protocol.KindUpdate, Payload: payload})
		delta := public.AppendDelta(nil, "main", protocol.Delta{After: 6, Run: "r", ACP: 1, Payload: payload})
		for _, shown := range [][]byte{event, delta} {
			if diff := cmp.Diff(sorted(twin.Entries(payload)), sorted(payloadOf(t, shown))); diff != "" {
				t.Errorf("%s is shown as %s: -want +got\n%s", payload, shown, diff)
			}
		}
	}
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update",
		"available_commands_update", "config_option_update", "session_info_update", "usage_update"} {
		if kinds[kind] == 0 {
			t.Errorf("no agent says %s; there are %v", kind, kinds)
		}
	}
}

// payloadOf takes the payload's own members out of a public event.
func payloadOf(t *testing.T, shown []byte) (members []twin.Entry) {
	t.Helper()
	envelope := strings.Fields(reservedIn[protocol.KindUpdate])
	for _, e := range twin.Entries(shown) {
		switch {
		case e.Key == "type":
			members = append(members, twin.Entry{Spelled: `"sessionUpdate"`, Key: "sessionUpdate", Value: e.Value})
		case e.Key == "native":
			members = append(members, twin.Entries([]byte(e.Value))...)
		case slices.Contains(envelope, e.Key):
		default:
			members = append(members, e)
		}
	}
	return members
}

func sorted(entries []twin.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Spelled+":"+e.Value)
	}
	slices.Sort(out)
	return out
}

// Each request for permission is stored under the public id and shown, and the
// options are those that were offered.
func TestWire_S8_RequestsToPublic(t *testing.T) {
	messages, _ := overWire(t, wire.Lines())
	n := 0
	for _, m := range messages {
		if m.Method != acp.MethodRequestPermission {
			continue
		}
		n++
		p, err := acp.ParsePermission(m.Params)
		if err != nil {
			t.Errorf("%s: %v", m.Raw, err)
			continue
		}
		payload := acp.PublicRequest(m.Params, "main")
		if want := strings.Replace(string(m.Params), `"sessionId":"`+p.SessionID+`"`, `"sessionId":"main"`, 1); string(payload) != want {
			t.Errorf("stored as %s; want %s", payload, want)
		}
		shown := public.AppendEvent(nil, "main", protocol.Event{Sequence: 7, At: at, ACP: 1, Kind: protocol.KindPermissionRequest, Request: "r", Payload: payload})
		options := twin.Get(shown, "options")
		if !bytes.Equal(options, twin.Get(m.Params, "options")) || len(twin.Entries(options)) != len(p.Options) || len(p.Options) == 0 {
			t.Errorf("%s is shown as %s", m.Params, shown)
		}
		if _, ok := p.OfKind(acp.AllowOnce); !ok {
			t.Errorf("%s has nothing to allow once", m.Params)
		}
		if !rawjson.OneLine(shown) || p.ToolCallID == "" {
			t.Errorf("%s is shown as %s", m.Params, shown)
		}
	}
	if n < 10 {
		t.Errorf("only %d requests", n)
	}
}
