package main

import (
	"fmt"
	"io"
	"strings"

	"agentos/actors/feed"
	"agentos/adapters/catalog"
	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
)

// jsonView prints every event and delta as it was published, and the answer.
type jsonView struct{ out io.Writer }

func (v *jsonView) item(i feed.Item) {
	if line := i.JSON(); line != nil {
		v.out.Write(append(line[:len(line):len(line)], '\n'))
	}
}

func (v *jsonView) answer(a *protocol.Answer) {
	v.out.Write(append(public.AppendAnswer(nil, *a), '\n'))
}

func (v *jsonView) ended() {}

// quietView prints the text of the final message: exactly, but on a terminal.
type quietView struct {
	out      io.Writer
	terminal bool
}

func (v *quietView) item(feed.Item) {}

func (v *quietView) answer(a *protocol.Answer) {
	if a.Message != nil {
		io.WriteString(v.out, messageText(a.Message, v.terminal))
	}
}

// messageText is the text of a message, harmless if it goes to a terminal; it
// ends with a line end unless there is none.
func messageText(m *protocol.Message, terminal bool) string {
	var b strings.Builder
	for _, block := range m.Content {
		text, _ := transcript.BlockText(block)
		b.WriteString(text)
	}
	text := b.String()
	if terminal {
		text = transcript.Text(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func (v *quietView) ended() {}

// liveView shows the turn to a person.
type liveView struct {
	live  *transcript.Live
	turn  *turn
	usage transcript.Usage
}

func (v *liveView) item(i feed.Item) {
	switch {
	case i.Delta != nil:
		v.turn.asker.heard()
		v.live.Delta(*i.Delta)
	case i.Event == nil:
	case i.Event.Kind != protocol.KindUpdate && v.turn.asker.shows():
		v.live.Pause() // the asker shows it
	default:
		if u, err := acp.ParseUpdate(i.Event.Payload); err == nil && u.Chunk != acp.None && u.Chunk != acp.User {
			v.turn.asker.heard()
		}
		v.live.Event(*i.Event)
		v.usage.Event(*i.Event)
	}
}

// answer shows a message that was not streamed: nothing was run for it (S6.8).
func (v *liveView) answer(a *protocol.Answer) {
	if !a.Recalled || a.Message == nil {
		return
	}
	io.WriteString(v.turn.out, messageText(a.Message, v.turn.app.style.Terminal))
}

func (v *liveView) ended() { v.live.End() }

// summary is the last line for a person: how the turn ended and where it is in
// the history; and, the first time, where all of this is.
func (t *turn) summary(a *protocol.Answer) {
	if t.flags.json || t.flags.quiet {
		return
	}
	parts := []string{transcript.Line(a.StopReason, 40)}
	if a.Forced {
		parts[0] += " (the agent did not react and was stopped)"
	}
	if a.Recalled {
		parts[0] += " (the stored result of this --key; nothing was run)"
	}
	switch n := t.to - t.from; {
	case n == 1:
		parts = append(parts, fmt.Sprintf("event %d", t.to))
	case n > 1:
		parts = append(parts, fmt.Sprintf("events %d to %d", t.from+1, t.to))
	}
	parts = append(parts, "session "+transcript.Line(string(a.Session), 80))
	if a.RestoredBy == protocol.RestoredResume || a.RestoredBy == protocol.RestoredLoad || a.RestoredBy == protocol.RestoredContinuation {
		parts = append(parts, "restored by "+string(a.RestoredBy))
	}
	if v, ok := t.show.(*liveView); ok && v.usage.String() != "" {
		parts = append(parts, v.usage.String())
	}
	t.app.say(t.app.notes.Dim("[" + strings.Join(parts, ", ") + "]"))
	if t.first {
		t.welcome()
	}
}

func (t *turn) welcome() {
	t.app.say("")
	t.app.say("Stored in " + t.place.path + "; agentos history shows it again.")
	if t.flags.agent == "" || t.flags.agent == catalog.Scripted {
		t.app.say("This was the built-in agent, which only repeats you. agentos agents lists real ones:")
		fmt.Fprintln(t.app.err, "  agentos prompt --session work --agent NAME 'explain this directory'")
	}
}
