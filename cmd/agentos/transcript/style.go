package transcript

import "strings"

// Style says how to show text. The zero Style is for a file or a pipe: it paints
// nothing and cuts nothing.
type Style struct {
	Colour   bool
	Terminal bool       // somebody is looking
	Erases   bool       // what stands on the last line can be erased again; only on a terminal
	Columns  func() int // how wide the terminal is now, which a person may change; nil or 0: no limit
}

// Erase empties the last line of a terminal whose Style says Erases. No text of
// an agent holds it.
const Erase = "\r\x1b[K"

// erase returns what empties the last line, on which so many columns are used. It
// ends with the cursor at the start of the line.
func (s Style) erase(columns int) string {
	if !s.Colour { // no escape at all for who has none in their output
		return "\r" + strings.Repeat(" ", columns) + "\r"
	}
	return Erase
}

// Width returns how many columns a line may have now, 0 for no limit.
func (s Style) Width() int {
	if s.Columns == nil {
		return 0
	}
	return s.Columns()
}

// The SGR codes in use: nothing but what every terminal of any age and colour
// scheme can show.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// reset ends every paint.
const reset = "\x1b[0m"

// Dim paints what is not the answer itself.
func (s Style) Dim(text string) string { return s.paint(dim, text) }

// Bold paints what has to be seen.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Bad paints what went wrong.
func (s Style) Bad(text string) string { return s.paint(red, text) }

// Good paints what went well.
func (s Style) Good(text string) string { return s.paint(green, text) }

// Pending paints what has not ended.
func (s Style) Pending(text string) string { return s.paint(yellow, text) }

// paint closes what it opens, so that a process that is killed leaves the
// terminal as it was.
func (s Style) paint(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + reset
}
