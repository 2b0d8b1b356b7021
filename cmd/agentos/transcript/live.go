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
// A tool call is one line, printed when it has ended. Until then a terminal that
// can erase shows it on its last line; one that cannot gets a second line where
// it begins; a file or a pipe gets nothing. So what is left on a terminal is what
// a pipe gets.
//
// Invariant: what was printed of a run is a prefix of its text.
type Live struct {
	w     io.Writer
	style Style
	runs  runs

	clean   cleaner
	open    paragraph // the message that is being printed; zero between messages
	atStart bool      // the cursor is at the start of a line, but for a status
	input   bool      // only the user's own input was seen so far
	tools   tools
	asked   map[protocol.RequestID]request
	last    protocol.RequestID // whose question is the last that was printed
	said    map[string]string  // by kind of update: what was said last
	steps   map[string]bool    // of the plan, as shown
	status  status
}

// paragraph is one message as a person sees it.
type paragraph struct {
	kind    acp.ChunkKind
	message string
	named   bool
}

// request is a permission request that was shown.
type request struct {
	title string
	names map[string]string // of its options, by id
}

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer, s Style) *Live {
	return &Live{
		w: w, style: s, runs: runs{}, atStart: true, input: true, tools: tools{calls: map[string]*toolCall{}},
		asked: map[protocol.RequestID]request{}, said: map[string]string{}, steps: map[string]bool{},
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
		l.asked[e.Request] = request{Asked(e.Payload), optionNames(e.Payload)}
		l.line("? " + l.style.Bold(Asked(e.Payload)) + " needs permission")
		io.WriteString(l.w, l.style.Request(e.Payload))
		l.last = e.Request
	case protocol.KindPermissionResponse:
		l.response(e)
	default:
		if u, err := acp.ParseUpdate(e.Payload); err == nil {
			l.update(u, e.Run)
		}
	}
	l.refresh()
}

// response shows what became of a request: under it, or with its title.
func (l *Live) response(e protocol.Event) {
	r := l.asked[e.Request]
	delete(l.asked, e.Request)
	text := "  " + l.style.decided(e, r.names)
	if l.last != e.Request {
		text = "? " + r.title + ":" + text[1:]
	}
	l.line(text)
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
	case u.Kind == "plan":
		l.plan(u.Raw)
	default:
		l.other(u)
	}
}

// other shows a tool call that has ended, or what is new of anything else.
func (l *Live) other(u acp.Update) {
	if t, first, ok := parseTool(u); ok {
		l.end() // what is said before a call and behind it are two paragraphs
		call, before := l.tools.update(t, first)
		switch begun := before == ""; {
		case call.ended() && call.state() != before:
			l.tools.shown(call)
			l.line("• " + l.style.call(*call, l.room()))
		case begun && l.style.Terminal && !l.style.Erases:
			l.line("• " + l.style.call(*call, l.room()))
		}
		return
	}
	if text := other(u); text != "" && (text != l.said[u.Kind] || u.Kind == "notice") {
		l.said[u.Kind] = text // agents repeat title and mode in every turn
		l.line(l.style.Dim(text))
	}
}

// plan shows the steps of a plan that are new or have moved on.
func (l *Live) plan(raw []byte) {
	head, steps := plan(raw)
	now := make(map[string]bool, len(steps))
	var fresh []string
	for _, step := range steps {
		if now[step] = true; !l.steps[step] {
			fresh = append(fresh, step)
		}
	}
	l.steps = now
	if len(fresh) == 0 && head == l.said["plan"] {
		return
	}
	l.said["plan"] = head
	l.line(l.style.Dim(head))
	for _, step := range fresh {
		l.line(l.style.Dim(Fit("  "+step, l.style.Width())))
	}
}

// room is how many columns a tool call may have.
func (l *Live) room() int {
	if w := l.style.Width(); w > 0 {
		return max(w-len("* "), 1)
	}
	return 0
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
	l.erase()
	l.last = ""
	l.atStart = strings.HasSuffix(text, "\n")
	if l.open.kind != acp.Agent {
		shown := strings.TrimRight(text, "\n")
		text = l.style.Dim(shown) + text[len(shown):]
	}
	io.WriteString(l.w, text)
}

// line prints a line of its own. What does not fit is broken at blanks.
func (l *Live) line(text string) {
	l.end()
	l.erase()
	l.last = ""
	io.WriteString(l.w, Wrap(text, l.style.Width(), 0, "  ")+"\n")
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

// Pause leaves the cursor at the start of a line, for somebody else to print on
// the same terminal.
func (l *Live) Pause() {
	l.end()
	l.erase()
}

// End is Pause at the end of a turn, or of the person's patience: it also says how
// far the tool calls are that have not ended. Events may follow it.
func (l *Live) End() {
	l.Pause()
	for _, call := range l.tools.unsaid() {
		l.line("• " + l.style.call(*call, l.room()))
	}
}
