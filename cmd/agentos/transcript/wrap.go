package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// narrow is the least room for text in which lines are still broken at blanks.
const narrow = 10

// Wrap breaks harmless text at blanks so that its lines have at most columns
// columns; 0 breaks nothing. It is printed where the cursor stands in column at;
// every line but the first begins with indent. A word of ASCII that is wider than
// a line is left for the terminal to break: it is a path or an address to be
// copied, and has nothing in it that looks like a margin.
func Wrap(text string, columns, at int, indent string) string {
	w := wrapper{columns: columns, at: at, indent: indent, margin: Columns(indent)}
	if columns-w.margin < narrow {
		w.columns = 0
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			w.out.WriteByte('\n')
			w.fresh, w.at = true, w.margin
		}
		w.line(line)
	}
	return w.out.String()
}

type wrapper struct {
	out     strings.Builder
	columns int
	indent  string
	margin  int  // columns of indent
	at      int  // the column of the cursor
	fresh   bool // indent has to be written before anything else
}

// line writes one line of the text.
func (w *wrapper) line(line string) {
	if w.columns <= 0 {
		w.put(line)
		return
	}
	begun := w.at > w.margin
	for line != "" {
		blanks, word, rest := nextWord(line)
		line = rest
		n := Columns(word)
		if n > w.columns-w.margin && !ascii(word) {
			head := chunks(word, w.columns-w.margin)[0]
			word, line = head, word[len(head):]+line
			n = Columns(word)
		}
		if !begun { // nobody is meant to count blanks up to the next row
			blanks = blanks[:min(len(blanks), max(w.columns-w.at-n, 0))]
		}
		if begun && w.at+len(blanks)+n > w.columns && w.at > w.margin && word != "" {
			w.out.WriteByte('\n')
			w.fresh, w.at, blanks = true, w.margin, ""
		}
		if line == "" && word == "" {
			blanks = "" // at the end of the line nobody sees them
		}
		w.put(blanks + word)
		w.at += len(blanks) + n
		begun = true
	}
}

func (w *wrapper) put(text string) {
	if text == "" {
		return
	}
	if w.fresh {
		w.out.WriteString(w.indent)
		w.fresh = false
	}
	w.out.WriteString(text)
}

func ascii(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// nextWord cuts the blanks and the word that a line begins with. Between wide
// characters a line may be broken anywhere. Blanks are all one column wide.
func nextWord(line string) (blanks, word, rest string) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	blanks = strings.ReplaceAll(line[:i], "\t", "    ")
	start, before := i, rune(0)
	for i < len(line) {
		if code := sgr(line[i:]); code > 0 {
			i += code
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if unicode.IsSpace(r) || i > start && before != zeroWidthJoiner && (breaksBefore(r) || breaksBefore(before) && width(r, before) > 0 && unicode.IsLetter(r)) {
			break
		}
		before = r
		i += size
	}
	if i == start && i < len(line) { // a blank of another kind stands alone
		_, size := utf8.DecodeRuneInString(line[i:])
		return blanks, line[i : i+size], line[i+size:]
	}
	return blanks, line[start:i], line[i:]
}

// breaksBefore reports whether a line may be broken in front of r: it is a
// letter of a script that is written without blanks.
func breaksBefore(r rune) bool { return unicode.Is(wide, r) && unicode.IsLetter(r) }

// chunks cuts a line into pieces of at most columns columns, whatever stands
// there; 0 cuts nothing.
func chunks(line string, columns int) []string {
	if columns <= 0 {
		return []string{line}
	}
	var all []string
	at, n, before := 0, 0, rune(0)
	for i := 0; i < len(line); {
		if code := sgr(line[i:]); code > 0 {
			i += code
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		needs := width(r, before)
		if n+needs > columns && i > at {
			all = append(all, line[at:i])
			at, n = i, 0
		}
		n += needs
		before = r
		i += size
	}
	return append(all, line[at:])
}
