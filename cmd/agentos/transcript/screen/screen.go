// Package screen is a terminal that is small enough for tests: it takes what a
// program prints and tells what a person then sees.
//
// It never plays a sequence that this program has no business to send: Write
// refuses it, which is how tests find that something got through. It knows one
// screen without an end, and how lines are broken at its width.
//
// A Screen belongs to one goroutine. There is nothing to close.
package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"agentos/cmd/agentos/transcript"
)

// Screen is what was printed so far.
type Screen struct {
	columns int
	rows    [][]cell
	column  int
}

// cell is one character with those that it is joined by; "" is the right half of
// a wide one.
type cell string

// New returns an empty screen of so many columns.
func New(columns int) *Screen { return &Screen{columns: columns, rows: [][]cell{nil}} }

// Write plays output. It fails at a control character or an escape sequence that
// is neither a line end, a carriage return, a colour nor the erasing of a line.
func (s *Screen) Write(output []byte) (int, error) {
	for i := 0; i < len(output); {
		n, err := s.play(output[i:])
		if err != nil {
			return i, err
		}
		i += n
	}
	return len(output), nil
}

func (s *Screen) play(output []byte) (n int, err error) {
	row := len(s.rows) - 1
	r, n := utf8.DecodeRune(output)
	switch {
	case r == '\n':
		s.rows, s.column = append(s.rows, nil), 0
	case r == '\r':
		s.column = 0
	case r == '\t':
		s.column = min(s.column/8*8+8, s.columns-1)
	case r == 0x1b:
		return s.escape(output)
	case r < 0x20, 0x7f <= r && r <= 0x9f, r == utf8.RuneError && n == 1:
		return 0, fmt.Errorf("a terminal would act on %q", output[:n])
	default:
		if columns := transcript.Columns(string(r)); columns > 0 {
			s.put(cell(r), columns)
		} else if 0 < s.column && s.column <= len(s.rows[row]) {
			s.rows[row][s.lastCell()] += cell(r)
		}
	}
	return n, nil
}

// lastCell is the index of the character that stands before the cursor.
func (s *Screen) lastCell() int {
	i, row := s.column-1, s.rows[len(s.rows)-1]
	for i > 0 && row[i] == "" {
		i--
	}
	return i
}

// put prints a character of so many columns where the cursor is.
func (s *Screen) put(c cell, columns int) {
	if s.column+columns > s.columns {
		s.rows, s.column = append(s.rows, nil), 0
	}
	row := len(s.rows) - 1
	for len(s.rows[row]) < s.column+columns {
		s.rows[row] = append(s.rows[row], " ")
	}
	for i := range columns {
		s.rows[row][s.column+i] = ""
	}
	if columns > 0 {
		s.rows[row][s.column] = c
	}
	s.column += columns
}

func (s *Screen) escape(output []byte) (n int, err error) {
	text := string(output)
	if strings.HasPrefix(text, "\x1b[K") {
		row := len(s.rows) - 1
		s.rows[row] = s.rows[row][:min(s.column, len(s.rows[row]))]
		return len("\x1b[K"), nil
	}
	end := strings.IndexByte(text, 'm')
	if !strings.HasPrefix(text, "\x1b[") || end < 0 || strings.Trim(text[2:end], "0123456789;") != "" {
		return 0, fmt.Errorf("an escape sequence that nothing here sends: %.10q", text)
	}
	return end + 1, nil
}

// String returns the rows as a person sees them, each with a line end.
func (s *Screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(string(c))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Readable shows output with its escapes in signs that can be printed.
func Readable(output string) string {
	return strings.NewReplacer("\x1b", "␛", "\r", "␍").Replace(output)
}
