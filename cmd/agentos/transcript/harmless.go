package transcript

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that a terminal would act on made visible, but
// for line feeds and tabs. A carriage return before a line feed is dropped.
func Text(s string) string { return harmless(strings.ReplaceAll(s, "\r\n", "\n"), false) }

// Visible is Text for somebody who decides by it: what cannot be seen and turns,
// joins or hides what stands beside it is made visible too.
func Visible(s string) string {
	s = Text(s)
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unseen reports whether r is a format character or a blank that is not the
// blank bar's.
func unseen(r rune) bool {
	return r != zeroWidthJoiner && unicode.Is(unicode.Cf, r) || r != ' ' && r > 0x7f && unicode.IsSpace(r) ||
		r == 0x115f || r == 0x1160 || r == 0x2800 || r == 0x3164 || r == 0xffa0 // letters that look like blanks
}

// Line is Text for what has to stay on one line: line feeds and tabs become
// blanks, and what is longer than limit runes is cut.
func Line(s string, limit int) string {
	s = strings.TrimSpace(harmless(s, true))
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return string(runes[:limit-1]) + "…"
}

func harmless(s string, oneLine bool) string {
	clean := true
	for _, r := range s {
		if acts(r) || r == utf8.RuneError || oneLine && (r == '\n' || r == '\t') {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s { // a byte that is no UTF-8 comes as U+FFFD
		switch {
		case oneLine && (r == '\n' || r == '\t' || r == '\r'):
			b.WriteByte(' ')
		case !acts(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string(r+'@'))
		case r == 0x7f:
			b.WriteString("^?")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// acts reports whether a terminal does something at r other than to show it: C0
// and C1 controls, the line ends of Unicode, and the characters that turn the
// direction of what follows, which can make an option read as another one.
func acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r <= 0x9f:
		return true
	}
	return 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// cleaner is Text over pieces: a carriage return at the end of one waits for the
// next, because it may belong to a line end.
type cleaner struct{ held bool }

func (c *cleaner) text(s string) string {
	if c.held {
		s, c.held = "\r"+s, false
	}
	if strings.HasSuffix(s, "\r") {
		s, c.held = s[:len(s)-1], true
	}
	return Text(s)
}

// rest returns what is still held.
func (c *cleaner) rest() string {
	if !c.held {
		return ""
	}
	c.held = false
	return Text("\r")
}
