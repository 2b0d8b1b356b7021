package script

import (
	"strings"
)

// Form says how far a directive reaches.
type Form int

// The forms of a directive.
const (
	Unknown Form = iota // there is none of that name: the brackets are ordinary text
	Closed              // to the next ]], also over lines; the argument is trimmed
	Whole               // to the last ]] of its line; the argument is taken byte for byte
)

// Step is one directive of a prompt.
type Step struct {
	Name string
	Arg  string // what stands between the name and the brackets; "" if nothing
}

// maxRepeated bounds, in runes, the words that are returned.
const maxRepeated = 200

// Parse finds the directives in the text blocks, in order, and what a plain
// reply repeats: the words of the last text block that has any, and the kinds
// of the other blocks. form says of a name what it is.
func Parse(blocks []Block, form func(name string) Form) (steps []Step, words string) {
	var others []string
	for _, b := range blocks {
		if b.Kind != "text" {
			others = append(others, b.Kind)
			continue
		}
		found, around := parseText(b.Text, form)
		steps = append(steps, found...)
		if around != "" {
			words = around
		}
	}
	if len(others) > 0 {
		words = strings.TrimSpace(words + " (with " + strings.Join(others, ", ") + ")")
	}
	return steps, words
}

// parseText finds the directives of one text and the words around them.
func parseText(text string, form func(string) Form) (steps []Step, words string) {
	var around strings.Builder
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		if strings.HasPrefix(strings.TrimSpace(text[at:end]), "{") {
			at = end
			continue
		}
		for at < end {
			step, size := parseStep(text[at:], form)
			if size == 0 {
				around.WriteByte(text[at])
				at++
				continue
			}
			steps = append(steps, step)
			at += size
			end = lineEnd(text, at) // it may have gone on over several lines
		}
	}
	words = strings.Join(strings.Fields(around.String()), " ")
	if r := []rune(words); len(r) > maxRepeated {
		words = string(r[:maxRepeated]) + "…"
	}
	return steps, words
}

// lineEnd is where the line ends that text[at] is in, behind its newline.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// parseStep reads the directive that text starts with, and its length; 0 if
// text starts with none.
func parseStep(text string, form func(string) Form) (Step, int) {
	inner, ok := strings.CutPrefix(text, "[[")
	if !ok {
		return Step{}, 0
	}
	name := inner[:len(inner)-len(strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyz"))]
	kind := form(name)
	var end int
	switch kind {
	case Unknown:
		return Step{}, 0
	case Whole:
		end = strings.LastIndex(inner[:lineEnd(inner, 0)], "]]")
	default:
		end = strings.Index(inner, "]]")
	}
	if end < len(name) {
		return Step{}, 0
	}
	arg := inner[len(name):end]
	switch {
	case arg != "" && arg[0] != ' ':
		return Step{}, 0
	case kind == Whole:
		arg = strings.TrimPrefix(arg, " ") // and not one byte more
	default:
		arg = strings.TrimSpace(arg)
	}
	return Step{Name: name, Arg: arg}, 2 + end + 2
}
