package transcript

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// tools are the tool calls of a turn.
type tools struct {
	calls   map[string]*toolCall // by id: the newest of it
	running []*toolCall          // in the order they began
	said    []string             // beside running: the status that was printed last, "" for none
}

// update takes over what is said of a call and returns it, with the status it
// had before, "" for a call that was not known. Agents use an id again for
// another call once the first has ended, and announce one call twice.
func (t *tools) update(u toolCall, first bool) (call *toolCall, before string) {
	call = t.calls[u.id]
	if call == nil || first && call.ended() {
		call = &toolCall{id: u.id}
		t.calls[u.id] = call
	} else {
		before = call.state()
	}
	call.merge(u)
	if before == "" && !call.ended() {
		t.running, t.said = append(t.running, call), append(t.said, "")
	}
	return call, before
}

// shown takes a call that has ended from the running ones.
func (t *tools) shown(call *toolCall) {
	if i := slices.Index(t.running, call); i >= 0 {
		t.running, t.said = slices.Delete(t.running, i, i+1), slices.Delete(t.said, i, i+1)
	}
}

// unsaid returns the running calls whose status was not printed, as if it were
// now.
func (t *tools) unsaid() (calls []*toolCall) {
	for i, call := range t.running {
		if t.said[i] != call.state() {
			t.said[i] = call.state()
			calls = append(calls, call)
		}
	}
	return calls
}

// status is the line that shows what runs, below everything else. It has no line
// end, so that whatever the person types meanwhile or however they resize the
// terminal, erasing it never hits another line.
type status struct {
	text    string // as shown; "" is nothing
	columns int    // of text
}

// refresh shows what runs, if that has changed and the last line is free.
func (l *Live) refresh() {
	if !l.style.Erases || !l.atStart || l.open != (paragraph{}) || len(l.asked) > 0 {
		return
	}
	text := l.running()
	if text == l.status.text {
		return
	}
	l.erase()
	if text != "" {
		l.status = status{text, Columns(text)}
		io.WriteString(l.w, text)
	}
}

// running describes the calls that run, on one line that leaves the last column
// free: there some terminals begin the next line.
func (l *Live) running() string {
	columns := max(l.style.Width()-1, 0)
	switch calls := l.tools.running; len(calls) {
	case 0:
		return ""
	case 1:
		return "• " + l.style.call(*calls[0], max(columns-len("* "), 1))
	default:
		names := make([]string, len(calls))
		for i, call := range calls {
			names[i] = call.name()
		}
		return Fit(l.style.Pending(fmt.Sprintf("• %d running: ", len(calls)))+strings.Join(names, ", "), columns)
	}
}

// erase takes the status away. In a terminal that has become narrower it may
// have more than one row: then it stays, and the next line begins below it.
func (l *Live) erase() {
	if l.status.text == "" {
		return
	}
	with := l.style.erase(l.status.columns)
	if w := l.style.Width(); w > 0 && w <= l.status.columns {
		with = "\n"
	}
	l.status = status{}
	io.WriteString(l.w, with)
}
