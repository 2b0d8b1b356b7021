package transcript

import (
	"fmt"
	"strings"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// toolCall is what a tool_call or tool_call_update says of a call; "" is what it
// does not mention.
type toolCall struct {
	id, title, status string
	content           []byte // raw; nil is not mentioned
}

// The statuses of a tool call that mean something here.
const (
	statusPending    = "pending"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
)

// parseTool reads an update about a tool call.
func parseTool(u acp.Update) (t toolCall, first, ok bool) {
	first = u.Kind == "tool_call"
	if !first && u.Kind != "tool_call_update" {
		return t, false, false
	}
	t.id, _ = rawjson.GetString(u.Raw, "toolCallId")
	t.title, _ = rawjson.GetString(u.Raw, "title")
	t.status, _ = rawjson.GetString(u.Raw, "status")
	t.content, _ = rawjson.Get(u.Raw, "content")
	return t, first, true
}

// merge takes over what a later update mentions.
func (t *toolCall) merge(later toolCall) {
	if later.title != "" {
		t.title = later.title
	}
	if later.status != "" {
		t.status = later.status
	}
	if later.content != nil {
		t.content = later.content
	}
}

// state is the status; a call that never had one is pending (ACP).
func (t toolCall) state() string {
	if t.status == "" {
		return statusPending
	}
	return t.status
}

// ended reports whether nothing more is expected of the call. A status that is
// not known counts as an end: it is better shown than waited for.
func (t toolCall) ended() bool { return t.state() != statusPending && t.status != statusInProgress }

func (t toolCall) name() string {
	if t.title != "" {
		return title(t.title)
	}
	return title(t.id)
}

// title is a title on one line. Agents make scripts of many lines their titles:
// the indentation of those says nothing here.
func title(text string) string {
	return Line(strings.Join(strings.Fields(text), " "), titleRunes)
}

// Room on one line: how much of a name stays before a detail is cut, and the
// least of a detail that says something.
const (
	leastName   = 12
	leastDetail = 12
)

// call describes a call on one line of at most columns columns, 0 for any number.
// What is cut is its detail, then its name, and its status only where there is
// room for nothing else.
func (s Style) call(t toolCall, columns int) string {
	name, status, detail := t.name(), Line(t.state(), titleRunes), t.detail()
	if columns > 0 {
		room := columns - Columns(": "+status)
		if left := room - min(Columns(name), leastName) - len(" ()"); left >= min(Columns(detail), leastDetail) {
			detail = Fit(detail, left)
		} else {
			detail = ""
		}
		if detail != "" {
			room -= Columns(detail) + len(" ()")
		}
		name = Fit(name, max(room, 1))
	}
	if detail != "" {
		detail = " " + s.Dim("("+detail+")")
	}
	return Fit(name+": "+s.status(status)+detail, columns)
}

func (s Style) status(text string) string {
	switch text {
	case statusCompleted:
		return s.Good(text)
	case statusFailed:
		return s.Bad(text)
	}
	return s.Pending(text)
}

// detail is what a person wants to know of a call that has ended: how much it
// changed, or what went wrong.
func (t toolCall) detail() string {
	switch {
	case !t.ended():
		return ""
	case t.status == statusFailed:
		for c := range rawjson.Elements(t.content) {
			if block, ok := rawjson.Get(c, "content"); ok {
				text, _ := BlockText(block)
				if line := firstLine(text); line != "" {
					return line
				}
			}
		}
		return ""
	}
	added, removed := 0, 0
	for c := range rawjson.Elements(t.content) {
		if before, after, ok := diffTexts(c); ok {
			_, a, r := compare(before, after)
			added, removed = added+a, removed+r
		}
	}
	if added+removed == 0 {
		return ""
	}
	return fmt.Sprintf("+%d -%d", added, removed)
}

// firstLine is the first line of a text that says something; fences of Markdown
// do not.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = Line(line, titleRunes); line != "" && !strings.HasPrefix(line, "```") {
			return line
		}
	}
	return ""
}

// diffTexts returns both sides of a tool call's content that is a diff.
func diffTexts(content []byte) (before, after string, ok bool) {
	if kind, _ := rawjson.GetString(content, "type"); kind != "diff" {
		return "", "", false
	}
	before, _ = rawjson.GetString(content, "oldText")
	after, ok = rawjson.GetString(content, "newText")
	return before, after, ok
}
