package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// chunk is an update with a piece of a message.
func chunk(kind, message, text string) []byte {
	id := ""
	if message != "" {
		id = `"messageId":"` + message + `",`
	}
	b := append([]byte(nil), `{"sessionUpdate":"`+kind+`",`+id+`"content":{"type":"text","text":`...)
	return append(rawjson.AppendString(b, text), "}}"...)
}

func update(raw string) protocol.Event {
	return protocol.Event{Kind: protocol.KindUpdate, Payload: []byte(raw)}
}

// run is one run of chunks.
type run struct {
	kind, message string
	pieces        []string
	toolAfter     bool
}

func (r run) text() string { return strings.Join(r.pieces, "") }

var runGen = rapid.Custom(func(t *rapid.T) run {
	return run{
		kind:      rapid.SampledFrom([]string{"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}).Draw(t, "kind"),
		message:   rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(t, "message"),
		pieces:    rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bc", "é", "\n", "\r", "\r\n", "\x1b[2J", " 世界", ""}), 1, 6).Draw(t, "pieces"),
		toolAfter: rapid.Bool().Draw(t, "tool"),
	}
})

// show prints the runs. lost says which deltas do not come and stored which
// events come from the database, where they name no run.
func show(runs []run, lost, stored func() bool) string {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	l.Event(update(`{"sessionUpdate":"tool_call","toolCallId":"t0","title":"first"}`))
	for i, r := range runs {
		id := protocol.RunID(fmt.Sprint("run", i))
		offset := int64(0)
		for _, piece := range r.pieces {
			if !lost() {
				l.Delta(protocol.Delta{Run: id, Offset: offset, Payload: chunk(r.kind, r.message, piece)})
			}
			offset += int64(len(piece))
		}
		e := protocol.Event{Kind: protocol.KindUpdate, Payload: chunk(r.kind, r.message, r.text()), Run: id}
		if stored() {
			e.Run = ""
		}
		l.Event(e)
		if r.toolAfter {
			l.Event(update(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t%d","title":"tool"}`, i+1)))
		}
	}
	l.End()
	return b.String()
}

func never() bool  { return false }
func always() bool { return true }

// Whatever deltas are lost, and wherever the events come from, what is printed
// is what the stored events alone print: nothing twice, nothing missing.
func TestS5_2_LostDeltasChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(runGen, 0, 6).Draw(t, "runs")
		coin := func(label string) func() bool {
			return func() bool { return rapid.Bool().Draw(t, label) }
		}
		want := show(runs, always, always)
		if diff := cmp.Diff(want, show(runs, never, never)); diff != "" {
			t.Fatalf("with every delta (-stored +live):\n%s", diff)
		}
		if diff := cmp.Diff(want, show(runs, coin("lost"), coin("stored"))); diff != "" {
			t.Fatalf("with some deltas (-stored +live):\n%s", diff)
		}
		for _, r := range runs {
			if text := strings.TrimSuffix(transcript.Text(r.text()), "^M"); !strings.Contains(want, text) {
				t.Fatalf("%q is not in %q", text, want)
			}
		}
	})
}

// Each piece is printed when it comes.
func TestS5_2_DeltasAreShownAtOnce(t *testing.T) {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	for i, want := range []string{"one ", "one two ", "one two three"} {
		piece := []string{"one ", "two ", "three"}[i]
		l.Delta(protocol.Delta{Run: "r", Offset: int64(len(want) - len(piece)), Payload: chunk("agent_message_chunk", "m", piece)})
		if b.String() != want {
			t.Fatalf("after piece %d: %q; want %q", i, b.String(), want)
		}
	}
	// A subscriber that joined in mid-run is told the text from its beginning.
	l.Delta(protocol.Delta{Run: "r", Offset: 0, Payload: chunk("agent_message_chunk", "m", "one two three four")})
	if want := "one two three four"; b.String() != want {
		t.Fatalf("after the whole text: %q; want %q", b.String(), want)
	}
}

// Behind a gap nothing is printed until the run's event fills it.
func TestS5_2_AGapIsFilledByTheEvent(t *testing.T) {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	l.Delta(protocol.Delta{Run: "r", Offset: 0, Payload: chunk("agent_message_chunk", "m", "one ")})
	l.Delta(protocol.Delta{Run: "r", Offset: 8, Payload: chunk("agent_message_chunk", "m", "three")})
	if got, want := b.String(), "one "; got != want {
		t.Fatalf("before the event: %q; want %q", got, want)
	}
	l.Event(protocol.Event{Kind: protocol.KindUpdate, Run: "r", Payload: chunk("agent_message_chunk", "m", "one two three")})
	if got, want := b.String(), "one two three"; got != want {
		t.Fatalf("after the event: %q; want %q", got, want)
	}
}

// What was shown of a run that was never stored is no part of a later one.
func TestS6_4_ARunThatWasLostHidesNothing(t *testing.T) {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	l.Delta(protocol.Delta{Run: "r", Offset: 0, Payload: chunk("agent_message_chunk", "", "lost words")})
	l.Event(update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"tool"}`))
	l.Event(protocol.Event{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "", "other words that were stored")})
	if got, want := b.String(), "lost words\nother words that were stored"; got != want {
		t.Fatalf("printed %q; want %q", got, want)
	}
}

// A carriage return that waits for a line feed is shown when none comes.
func TestLive_HeldCarriageReturn(t *testing.T) {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	l.Event(protocol.Event{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "m", "one\r")})
	l.Event(protocol.Event{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "n", "two\r")})
	l.Event(protocol.Event{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "n", "\nthree")})
	l.End()
	if got, want := b.String(), "one^M\ntwo\nthree\n"; got != want {
		t.Fatalf("printed %q; want %q", got, want)
	}
}

func TestLive(t *testing.T) {
	permission := protocol.Event{Kind: protocol.KindPermissionRequest, Request: "p",
		Payload: []byte(`{"sessionId":"s","options":[{"optionId":"a","name":"Allow","kind":"allow_once"}],"toolCall":{"toolCallId":"1","title":"rm -rf /"}}`)}
	for _, c := range []struct {
		name   string
		events []protocol.Event
		want   string
	}{
		{"the user's own input is not repeated", []protocol.Event{
			{Kind: protocol.KindUpdate, Payload: chunk("user_message_chunk", "u", "hello")},
			{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "m", "hi")},
			{Kind: protocol.KindUpdate, Payload: chunk("user_message_chunk", "u2", "from elsewhere")},
		}, "hi\nuser: from elsewhere\n"},
		{"a call is shown when it has ended", []protocol.Event{
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"grep"}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"pending"}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","content":[]}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"unknown","status":"failed"}`),
		}, "• grep: completed\n• unknown: failed\n"},
		{"an id that is used again is another call", []protocol.Event{
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a","status":"completed"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"b","status":"completed"}`),
		}, "• a: completed\n• b: completed\n"},
		{"a call that is announced twice is one", []protocol.Event{
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a"}`),
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"a"}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`),
		}, "• a: completed\n"},
		{"a title stays on its line", []protocol.Event{
			update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"sh -c 'a\n\nb\tc'","status":"completed"}`),
		}, "• sh -c 'a b c': completed\n"},
		{"a permission and its answer", []protocol.Event{
			permission,
			{Kind: protocol.KindPermissionResponse, Request: "p", Status: protocol.OutcomeAccepted,
				Payload: []byte(`{"outcome":{"outcome":"selected","optionId":"a"}}`)},
			permission,
			{Kind: protocol.KindPermissionResponse, Request: "p", Status: protocol.OutcomeNotPending, Reason: protocol.ReasonVMShutdown,
				Payload: []byte(`{"outcome":{"outcome":"cancelled"}}`)},
		}, "? rm -rf / needs permission\n  Allow\n? rm -rf / needs permission\n  not answered (vm_shutdown)\n"},
		{"what is not text is named", []protocol.Event{
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}`),
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///a","name":"a"}}`),
			update(`{"sessionUpdate":"plan","entries":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"}]}`),
			update(`{"sessionUpdate":"usage_update","used":1}`),
			update(`{"sessionUpdate":"from_the_future","x":1}`),
		}, "[image image/png, 3 bytes]\n[link file:///a]\nplan: 1 of 2 steps done\n  [x] one\n  [>] two\n(from_the_future)\n"},
		{"two messages have two lines, and a message that was split has one", []protocol.Event{
			{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "m", "one ")},
			{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "m", "message")},
			{Kind: protocol.KindUpdate, Payload: chunk("agent_message_chunk", "n", "another")},
		}, "one message\nanother\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			l := transcript.NewLive(&b, transcript.Style{})
			for _, e := range c.events {
				l.Event(e)
			}
			l.End()
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever an agent sends, showing it neither panics nor sends a control
// character.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		string(chunk("agent_message_chunk", "m", "hi\x1b[2J")),
		`{"sessionUpdate":"tool_call","toolCallId":"\u001b","title":"\u009b2J","status":"\r"}`,
		`{"sessionUpdate":"plan","entries":[{"content":"\u0007","status":"in_progress"}]}`,
		`{"sessionId":"s","options":[{"optionId":"\u001b"}],"toolCall":{"title":"\u001b","rawInput":{"a":"\u001b"}}}`,
		`{"sessionId":"s","options":[],"toolCall":{"title":"a\nb","rawInput":{"command":["a","\u202e"],"x":"\u009b"},"content":[{"type":"diff","path":"\u001b","oldText":"a\r\nb","newText":"a\u001bc"}]}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"世界\u001b[1m","status":"failed","content":[{"content":{"type":"text","text":"\u001b]0;x\u0007"}}]}`,
		`{"outcome":{"outcome":"selected","optionId":"\u001b"}}`, `{}`, `[]`, `"`,
	} {
		f.Add([]byte(seed))
	}
	kinds := []protocol.EventKind{protocol.KindUpdate, protocol.KindPermissionRequest, protocol.KindPermissionResponse}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var b strings.Builder
		l := transcript.NewLive(&b, transcript.Style{})
		l.Delta(protocol.Delta{Run: "r", Payload: payload})
		for _, kind := range kinds {
			e := protocol.Event{Kind: kind, Payload: payload, Request: "p", Status: protocol.OutcomeAccepted}
			l.Event(e)
			transcript.Page(&b, transcript.Style{}, []protocol.Event{e, e})
		}
		l.End()
		b.WriteString(transcript.Style{}.Request(payload))
		seen(t, 40, live([]item{{delta: &protocol.Delta{Run: "r", Payload: payload}}, {event: update(string(payload))},
			{event: protocol.Event{Kind: protocol.KindPermissionRequest, Payload: payload}}}, on(40, true)))
		seen(t, 40, page([]item{{event: update(string(payload))}}, on(40, true)))
		for _, r := range b.String() {
			if r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f {
				t.Fatalf("%q holds %U", b.String(), r)
			}
		}
	})
}
