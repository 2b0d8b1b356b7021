package transcript

// Style says how to show text. The zero Style is for a file or a pipe: it paints
// nothing.
type Style struct {
	Colour   bool
	Terminal bool // somebody is looking
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
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
