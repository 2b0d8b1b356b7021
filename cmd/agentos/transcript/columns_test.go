package transcript_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
)

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "世界": 4, "e\u0301": 1, "❤": 1, "❤\ufe0f": 2, "한글": 4, "ｆ": 2, "👍🏽": 4, "…•│": 3,
		"שלום": 4, "a\u200bb": 2, "\x1b[1mbold\x1b[0m": 4,
	} {
		if got := transcript.Columns(text); got != want {
			t.Errorf("Columns(%q) = %d; want %d", text, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"plain", 5, "plain"}, {"plain", 4, "pla…"}, {"plain", 1, "…"}, {"plain", 0, "plain"}, {"two words", 5, "two…"},
		{"世界世界", 6, "世界…"}, {"世界世界", 7, "世界世…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"\x1b[1mbold\x1b[0m text", 6, "\x1b[1mbold\x1b[0m…"}, {"\x1b[1mbold\x1b[0m", 3, "\x1b[1mbo…\x1b[0m"},
	} {
		if got := transcript.Fit(c.text, c.columns); got != c.want {
			t.Errorf("Fit(%q, %d) = %q; want %q", c.text, c.columns, got, c.want)
		}
	}
}

// pieces are what texts are made of.
var pieces = rapid.SliceOf(rapid.SampledFrom([]string{
	"a", "word", "世界", "。", "e\u0301", "👩‍👩‍👧", "❤\ufe0f", " ", "  ", "\t", "\n", "\u00a0", "\u3164", "\u200b", "שלום",
	"https://example.com/an/address/that/is/longer/than/a/line", "\x1b[2mdim\x1b[0m",
}))

// Nothing is lost and nothing comes in between, no line is too wide but for one
// long word, and every row but those begins with the margin.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(pieces.Draw(t, "text"), "")
		columns := rapid.IntRange(14, 60).Draw(t, "columns")
		got := transcript.Wrap(text, columns, 4, "    ")
		bare := func(s string) string {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n", r) }), "")
		}
		if bare(got) != bare(text) {
			t.Fatalf("Wrap(%q) = %q", text, got)
		}
		for i, line := range strings.Split(got, "\n") {
			if i == 0 {
				line = "    " + line
			}
			word := strings.TrimPrefix(line, "    ")
			if line != "" && word == line {
				t.Fatalf("%q has no margin", line)
			}
			if transcript.Columns(line) > columns && strings.ContainsAny(strings.TrimLeft(word, " \x1b[2mdi0"), " 世。\u00a0") {
				t.Fatalf("Wrap(%q, %d): %q is too wide", text, columns, line)
			}
		}
		fit := transcript.Fit(strings.NewReplacer("\n", "", "\t", "").Replace(text), columns)
		if transcript.Columns(fit) > columns {
			t.Fatalf("Fit: %q is wider than %d", fit, columns)
		}
	})
}

// happening is an event or a delta of a turn.
var happening = rapid.Custom(func(t *rapid.T) protocol.Event {
	id := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "id")
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		return update(`{"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"tool ` + id + ` 世界"}`)
	case 1, 2:
		status := rapid.SampledFrom([]string{"pending", "in_progress", "completed", "failed"}).Draw(t, "status")
		return update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `","status":"` + status + `"}`)
	case 3:
		return protocol.Event{Kind: protocol.KindPermissionRequest, Request: protocol.RequestID(id),
			Payload: []byte(`{"sessionId":"s","options":[],"toolCall":{"title":"may I?","kind":"execute"}}`)}
	case 4:
		return protocol.Event{Kind: protocol.KindPermissionResponse, Request: protocol.RequestID(id), Status: protocol.OutcomeAccepted,
			Payload: []byte(`{"outcome":{"outcome":"selected","optionId":"a"}}`)}
	}
	kind := rapid.SampledFrom([]string{"agent_message_chunk", "agent_thought_chunk"}).Draw(t, "kind")
	return protocol.Event{Kind: protocol.KindUpdate, Payload: chunk(kind, id, rapid.SampledFrom([]string{"text", "line\n", "世界 "}).Draw(t, "text"))}
})

// What is left on a terminal is what a pipe gets, whatever was erased on the way,
// with colour or without; and a terminal that changes its width under the status
// line loses nothing of it.
func TestLive_TerminalAndPipe(t *testing.T) {
	const wide = 400
	rapid.Check(t, func(t *rapid.T) {
		var items []item
		for _, e := range rapid.SliceOf(happening).Draw(t, "events") {
			items = append(items, item{event: e})
		}
		want := strings.TrimRight(live(items, transcript.Style{}), "\n") + "\n"
		for _, colour := range []bool{true, false} {
			if got := seen(t, wide, live(items, on(wide, colour))); trimmed(got) != trimmed(want) {
				t.Fatalf("colour %v: on the terminal\n%s\nin the pipe\n%s", colour, got, want)
			}
		}
		widths := rapid.SliceOfN(rapid.IntRange(20, 90), 1, 20).Draw(t, "widths")
		asked := 0
		resized := transcript.Style{Terminal: true, Erases: true, Columns: func() int {
			asked++
			return widths[asked%len(widths)]
		}}
		output := strings.ReplaceAll(live(items, resized), "\r", "\n")
		for _, word := range []string{"completed", "failed", "text", "may I?"} {
			if got, want := strings.Count(output, word), strings.Count(want, word); got < want {
				t.Fatalf("%q %d times; want %d:\n%s", word, got, want, output)
			}
		}
	})
}

// trimmed is text without blanks at the ends of lines, which nobody sees.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// In a terminal that has become narrower the status may have two rows, of which
// erasing would reach one: it stays, and nothing is printed into it.
func TestLive_NarrowedTerminal(t *testing.T) {
	for width, want := range map[int]string{
		80: "• tool: pending" + transcript.Erase + "• tool: completed\n",
		16: "• tool: pending" + transcript.Erase + "• to…: completed\n",
		15: "• tool: pending\n• t…: completed\n",
	} {
		now := 80
		var b strings.Builder
		l := transcript.NewLive(&b, transcript.Style{Terminal: true, Erases: true, Colour: true, Columns: func() int { return now }})
		l.Event(update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"tool"}`))
		now = width
		l.Event(update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`))
		got := strings.NewReplacer("\x1b[33m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(b.String())
		if got != want {
			t.Errorf("%d columns: %q; want %q", width, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for payload, want := range map[string]string{
		`{"sessionUpdate":"usage_update","used":53000,"size":200000,"cost":{"amount":0.424,"currency":"USD"}}`: "context 26% full, 0.42 USD",
		`{"sessionUpdate":"usage_update","used":53000,"size":0}`:                                               "",
		`{"sessionUpdate":"usage_update","used":1,"size":200000}`:                                              "",
		`{"sessionUpdate":"usage_update","cost":{"amount":1e1,"currency":"\u001b[2J"}}`:                        "10.00 ^[[2J",
		`{"sessionUpdate":"usage_update","used":"many","size":[],"cost":{"amount":"1"}}`:                       "",
		`{"sessionUpdate":"tool_call","used":53000,"size":200000}`:                                             "",
	} {
		var u transcript.Usage
		u.Event(update(payload))
		if got := u.String(); got != want {
			t.Errorf("%s: %q; want %q", payload, got, want)
		}
	}
}
