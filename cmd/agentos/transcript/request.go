package transcript

import (
	"fmt"
	"strings"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// Bounds of what a permission request says of itself. What is left out is said:
// a person who decides must know that they have not seen everything.
const (
	requestLines = 100  // of one part
	requestRunes = 4000 // of one line
	inputRunes   = 400  // of the input beside a command or a diff
)

// Asked is the title of a permission request, on one line.
func Asked(payload []byte) string {
	p, err := acp.ParsePermission(payload)
	switch {
	case err != nil:
		return "(a request that cannot be read)"
	case p.Title != "":
		return title(Visible(p.Title))
	case p.ToolCallID != "":
		return title(Visible(p.ToolCallID))
	}
	return "(no title)"
}

// Request returns what a permission request is for, beside its title: a person
// who decides has to see the command, the files and the changes, not what the
// agent calls them. It is whole lines, indented by two; what may be longer than
// a line has a margin on every row, so that none of it can pass for the options
// below it.
func (s Style) Request(payload []byte) string {
	r := &details{style: s, columns: s.Width()}
	call, _ := rawjson.Get(payload, "toolCall")
	command, _ := rawjson.GetString(call, "rawInput", "command")
	if title, _ := rawjson.GetString(call, "title"); title != "" && title != command && Asked(payload) != strings.TrimSpace(Visible(title)) {
		r.part("title", title) // all of it
	}
	if kind, _ := rawjson.GetString(call, "kind"); kind != "" && kind != "other" {
		r.part("kind", kind)
	}
	content, _ := rawjson.Get(call, "content")
	r.input(call, content)
	for c := range rawjson.Elements(content) {
		r.content(c)
	}
	return r.out.String()
}

type details struct {
	out     strings.Builder
	style   Style
	columns int
	paths   map[string]bool // shown already
}

// input shows the command and what else the tool is called with.
func (r *details) input(call, content []byte) {
	input, _ := rawjson.Get(call, "rawInput")
	limit := requestRunes
	command, ok := commandOf(input)
	if ok {
		r.part("command", command)
		limit = inputRunes
	}
	for c := range rawjson.Elements(content) {
		if _, _, ok := diffTexts(c); ok {
			limit = inputRunes
		}
		if path, ok := rawjson.GetString(c, "path"); ok {
			r.seen(path)
		}
	}
	locations, _ := rawjson.Get(call, "locations")
	for l := range rawjson.Elements(locations) {
		if path, ok := rawjson.GetString(l, "path"); ok && !r.seen(path) {
			r.part("file", path)
		}
	}
	switch rawjson.Kind(input) {
	case '{':
		for m := range rawjson.Members(input) {
			if !ok || !m.Is("command") {
				r.part(m.Name(), shorten(plainValue(m.Value), limit))
			}
		}
	case 0, 'n':
	default:
		r.part("input", plainValue(input))
	}
}

// seen remembers a path and reports whether it was known.
func (r *details) seen(path string) bool {
	if r.paths == nil {
		r.paths = map[string]bool{}
	}
	known := r.paths[path]
	r.paths[path] = true
	return known
}

// commandOf returns the command line that agents have in their input.
func commandOf(input []byte) (string, bool) {
	raw, ok := rawjson.Get(input, "command")
	if !ok {
		return "", false
	}
	if text, ok := rawjson.String(raw); ok {
		return text, true
	}
	return string(raw), true // the words of one: exactly, as JSON
}

// plainValue is a JSON value for a person: a string without its quotes.
func plainValue(raw []byte) string {
	if text, ok := rawjson.String(raw); ok {
		return text
	}
	return string(raw)
}

func shorten(text string, runes int) string {
	all := []rune(text)
	if len(all) <= runes {
		return text
	}
	return fmt.Sprintf("%s… (%d characters more)", string(all[:runes]), len(all)-runes)
}

// part shows a name and a value: on one line if it fits, else as a block.
func (r *details) part(name, value string) {
	name, value = "  "+Line(Visible(name), 40)+":", strings.TrimRight(Visible(value), "\n")
	if line := name + " " + value; !strings.Contains(value, "\n") && (r.columns <= 0 || Columns(line) <= r.columns) && len(value) <= requestRunes {
		r.out.WriteString(r.style.Dim(line) + "\n")
		return
	}
	r.out.WriteString(r.style.Dim(name) + "\n")
	var rows []diffLine
	for _, line := range strings.Split(value, "\n") {
		rows = append(rows, diffLine{text: line})
	}
	r.block(rows)
}

// content shows one content of the tool call.
func (r *details) content(c []byte) {
	if before, after, ok := diffTexts(c); ok {
		path, _ := rawjson.GetString(c, "path")
		all, added, removed := compare(Visible(before), Visible(after))
		head := fmt.Sprintf("  change: %s  +%d -%d", Line(Visible(path), requestRunes), added, removed)
		r.out.WriteString(r.style.Dim(Wrap(head, r.columns, 0, "    ")) + "\n")
		r.block(changes(all))
		return
	}
	block, ok := rawjson.Get(c, "content")
	if !ok {
		return
	}
	if text, ok := BlockText(block); ok && strings.TrimSpace(text) != "" {
		r.part("says", text)
	} else if !ok {
		r.part("has", Block(block))
	}
}

// block shows rows with a margin.
func (r *details) block(rows []diffLine) {
	const margin = "  │ "
	left := 0
	if len(rows) > requestLines {
		rows, left = rows[:requestLines], len(rows)-requestLines
	}
	room := 0
	if r.columns > 0 {
		room = max(r.columns-len("  | + "), 1)
	}
	for _, row := range rows {
		mark, paint := "", r.style.Dim
		switch row.mark {
		case '+':
			mark, paint = "+ ", r.style.Good
		case '-':
			mark, paint = "- ", r.style.Bad
		case ' ', '…':
			mark = string(row.mark) + " "
		}
		for _, piece := range chunks(strings.ReplaceAll(shorten(row.text, requestRunes), "\t", "    "), room) {
			r.out.WriteString(r.style.Dim(margin) + paint(strings.TrimRight(mark+piece, " ")) + "\n")
		}
	}
	if left > 0 {
		r.out.WriteString(r.style.Bad(fmt.Sprintf("  … %d more lines are not shown here", left)) + "\n")
	}
}
