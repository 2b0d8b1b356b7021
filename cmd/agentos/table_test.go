package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentos/cmd/agentos/transcript"
)

// No row of a table is wider than the terminal, whatever is in it, and none
// loses its first column; in a pipe nothing is cut.
func TestTable(t *testing.T) {
	text := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"a", "word", " ", "世界", "👩‍👩‍👧", "e\u0301"})),
		func(parts []string) string { return strings.TrimSpace(strings.Join(parts, "")) })
	rapid.Check(t, func(t *rapid.T) {
		tab := table{head: []string{"ONE", "TWO", "THREE"}}
		if rapid.Bool().Draw(t, "give") {
			tab.give = []give{{5, 0}, {0, 2}, {4, 1}}
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			tab.add(cell{text: "x" + text.Draw(t, "one")}, cell{text: text.Draw(t, "two")}, cell{text: text.Draw(t, "three")})
		}
		width := rapid.IntRange(20, 100).Draw(t, "width")
		var narrow, pipe strings.Builder
		tab.print(&narrow, transcript.Style{Columns: func() int { return width }})
		tab.print(&pipe, transcript.Style{})
		for n, line := range strings.Split(strings.TrimSuffix(narrow.String(), "\n"), "\n") {
			if got := transcript.Columns(line); got > width {
				t.Fatalf("%q has %d columns; want %d at most", line, got, width)
			}
			if first := line[:1]; n > 0 && first != "x" {
				t.Fatalf("row %d: %q", n, line)
			}
		}
		for _, row := range tab.rows {
			for _, c := range row {
				if !strings.Contains(pipe.String(), c.text) {
					t.Fatalf("%q is not in\n%s", c.text, pipe.String())
				}
			}
		}
	})
}
