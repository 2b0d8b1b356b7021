package transcript

import (
	"fmt"
	"io"
	"strings"

	"agentos/protocol"
	"agentos/protocol/acp"
)

// Page writes stored events as a conversation. Who said it, when and under which
// sequence stands at the left margin; what was said is indented, so that no text
// can pass for a line of ours. On a terminal it is broken at blanks for the same
// reason.
//
// The tool calls of one Page are shown once each, with their last status; an
// update of a call that began on an earlier page has a line of its own.
func Page(w io.Writer, s Style, events []protocol.Event) {
	p := page{w: w, style: s, calls: foldCalls(events), options: map[protocol.RequestID]map[string]string{}}
	for i, e := range events {
		p.event(i, e)
	}
}

type page struct {
	w       io.Writer
	style   Style
	calls   map[int]*toolCall // by the index of the event to show them at
	options map[protocol.RequestID]map[string]string
	begun   bool   // something stands above
	plan    string // as shown last
}

// margin is in front of everything that was said.
const margin = "    "

// foldCalls finds where each tool call is shown and what became of it. Agents
// use ids again, so a call ends where another of its id begins.
func foldCalls(events []protocol.Event) map[int]*toolCall {
	at := map[int]*toolCall{}
	open := map[string]*toolCall{}
	for i, e := range events {
		if e.Kind != protocol.KindUpdate {
			continue
		}
		u, err := acp.ParseUpdate(e.Payload)
		if err != nil {
			continue
		}
		t, first, ok := parseTool(u)
		if !ok {
			continue
		}
		if call := open[t.id]; call != nil && !first {
			call.merge(t)
			continue
		}
		open[t.id], at[i] = &t, &t
	}
	return at
}

func (p *page) event(i int, e protocol.Event) {
	switch e.Kind {
	case protocol.KindPermissionRequest:
		p.options[e.Request] = optionNames(e.Payload)
		p.head(e, "permission? "+p.style.Bold(Asked(e.Payload)))
		return
	case protocol.KindPermissionResponse:
		p.head(e, "permission: "+p.style.decided(e, p.options[e.Request]))
		return
	}
	u, err := acp.ParseUpdate(e.Payload)
	switch {
	case err != nil:
		p.head(e, "(an update that cannot be read)")
	case u.Chunk != acp.None:
		p.message(e, u)
	case p.calls[i] != nil:
		p.head(e, "tool "+p.style.call(*p.calls[i], 0))
	case u.Kind == "plan":
		p.steps(e, u)
	default:
		if text := other(u); text != "" && !strings.HasPrefix(u.Kind, "tool_call") {
			p.head(e, text)
		}
	}
}

// steps shows a plan, if it is another than the one before.
func (p *page) steps(e protocol.Event, u acp.Update) {
	head, steps := plan(u.Raw)
	text := strings.Join(steps, "\n")
	if head+text == p.plan {
		return
	}
	p.plan = head + text
	p.head(e, head)
	for _, step := range steps {
		io.WriteString(p.w, margin+Wrap(step, p.style.Width(), len(margin), margin+margin)+"\n")
	}
}

func (p *page) message(e protocol.Event, u acp.Update) {
	who := map[acp.ChunkKind]string{
		acp.User: "you", acp.Agent: "agent", acp.Thought: "thinking", acp.Compaction: "summary",
	}[u.Chunk]
	if u.Chunk == acp.User && p.begun {
		io.WriteString(p.w, "\n") // a turn begins
	}
	p.head(e, p.style.Bold(who))
	text := Text(u.Text())
	if !u.IsText {
		text = Block(u.ContentRaw)
	}
	text = Wrap(strings.TrimSuffix(text, "\n"), p.style.Width(), len(margin), margin)
	if !strings.HasPrefix(text, "\n") && text != "" {
		text = margin + text
	}
	if u.Chunk == acp.Thought {
		text = p.style.Dim(text)
	}
	io.WriteString(p.w, text+"\n")
}

// head writes the line that an event begins with.
func (p *page) head(e protocol.Event, text string) {
	if e.Incomplete {
		text += " " + p.style.Bad("(incomplete: the runtime ended while it was said)")
	}
	p.begun = true
	stamp := fmt.Sprintf("%d  %s", e.Sequence, e.At)
	io.WriteString(p.w, p.style.Dim(stamp)+Wrap("  "+text, p.style.Width(), len(stamp), margin)+"\n")
}
