package transcript

import (
	"io"
	"strings"

	"agentos/protocol"
	"agentos/protocol/acp"
)

// Live shows a turn as it happens. Text is printed as soon as it comes; what was
// lost on the way is filled in from the durable event that holds all of it, so
// that nothing is printed twice and nothing is missing.
//
// Invariant: what was printed of a run is a prefix of its text.
type Live struct {
	w     io.Writer
	style Style
	runs  runs

	clean   cleaner
	open    paragraph // the message that is being printed; zero between messages
	atStart bool      // the cursor is at the start of a line
	input   bool      // only the user's own input was seen so far
	tools   map[string]toolCall
	options map[protocol.RequestID]map[string]string
}

// paragraph is one message as a person sees it.
type paragraph struct {
	kind    acp.ChunkKind
	message string
	named   bool
}

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer, s Style) *Live {
	return &Live{
		w: w, style: s, runs: runs{}, atStart: true, input: true,
		tools: map[string]toolCall{}, options: map[protocol.RequestID]map[string]string{},
	}
}

// Delta shows a live piece of an open run.
func (l *Live) Delta(d protocol.Delta) {
	u, err := acp.ParseUpdate(d.Payload)
	if err != nil || !u.IsText {
		return
	}
	l.input = false
	if text := l.runs.piece(d.Run, identity(u), d.Offset, u.Text()); text != "" {
		l.text(u, text)
	}
}

// Event shows a stored event, or what is missing of it.
func (l *Live) Event(e protocol.Event) {
	switch e.Kind {
	case protocol.KindPermissionRequest:
		l.input = false
		l.options[e.Request] = optionNames(e.Payload)
		l.line("? " + l.style.Bold(asked(e.Payload)) + " needs permission")
	case protocol.KindPermissionResponse:
		l.line("  " + l.style.decided(e, l.options[e.Request]))
		delete(l.options, e.Request)
	default:
		if u, err := acp.ParseUpdate(e.Payload); err == nil {
			l.update(u, e.Run)
		}
	}
}

func (l *Live) update(u acp.Update, run protocol.RunID) {
	if l.input && u.Chunk == acp.User {
		return // the person has just typed it
	}
	l.input = l.input && u.Side()
	switch {
	case u.Chunk != acp.None && u.IsText:
		if text := l.runs.rest(run, identity(u), u.Text()); text != "" {
			l.text(u, text)
		}
	case u.Chunk != acp.None:
		l.line(Block(u.ContentRaw))
	default:
		l.tool(u)
	}
}

// tool shows a tool call when it begins and when its status changes.
func (l *Live) tool(u acp.Update) {
	t, first, ok := parseTool(u)
	if !ok {
		if text := other(u); text != "" {
			l.line(l.style.Dim(text))
		}
		return
	}
	known, seen := l.tools[t.id]
	if first || !seen { // agents use an id again in another turn
		known = toolCall{id: t.id}
	}
	before := known.status
	known.merge(t)
	l.tools[t.id] = known
	if !seen || known.status != before {
		l.line("• " + known.name() + ": " + l.style.status(known.status))
	}
}

// text prints a piece of a message.
func (l *Live) text(u acp.Update, text string) {
	p := paragraph{u.Chunk, u.MessageID, u.HasMessageID}
	if p != l.open {
		l.end()
		l.open = p
		switch p.kind {
		case acp.Thought:
			l.put("thinking: ")
		case acp.User:
			l.put("user: ")
		case acp.Compaction:
			l.put("summary: ")
		}
	}
	l.put(l.clean.text(text))
}

// put prints text of the open message.
func (l *Live) put(text string) {
	if text == "" {
		return
	}
	l.atStart = strings.HasSuffix(text, "\n")
	if l.open.kind != acp.Agent {
		text = l.style.Dim(text)
	}
	io.WriteString(l.w, text)
}

// line prints a line of its own.
func (l *Live) line(text string) {
	l.end()
	io.WriteString(l.w, text+"\n")
}

// end ends the open message and leaves the cursor at the start of a line.
func (l *Live) end() {
	l.put(l.clean.rest())
	l.open = paragraph{}
	if !l.atStart {
		io.WriteString(l.w, "\n")
		l.atStart = true
	}
}

// End ends what is open. Events may follow it: a permission that is being asked
// for on the terminal begins on a line of its own.
func (l *Live) End() { l.end() }
