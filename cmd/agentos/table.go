package main

import (
	"io"
	"slices"
	"strings"

	"agentos/cmd/agentos/transcript"
)

// table is columns of text for a person. On a terminal no row takes more than
// one line: what is too wide is cut, and where even that is not enough columns
// are left out.
type table struct {
	head []string
	give []give // by column; nil: all of them as anyCell says
	rows [][]cell
}

// give is what may be taken from a column of a table that is too wide.
type give struct {
	least int // what it keeps if it is cut; 0: it is not cut
	rank  int // those of the highest rank are left out first; 0 never is
}

// anyCell is for columns of which nothing is known.
var anyCell = give{least: 8}

// cell is text that is harmless already. Its colour has no width.
type cell struct {
	text  string
	paint func(string) string // nil: as it is
}

// gap is between two columns.
const gap = 2

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

func (t *table) print(w io.Writer, s transcript.Style) {
	head := make([]cell, len(t.head))
	for i, name := range t.head {
		head[i] = cell{name, s.Dim}
	}
	if t.give == nil {
		t.give = slices.Repeat([]give{anyCell}, len(t.head))
	}
	rows := append([][]cell{head}, t.rows...)
	widths := t.widths(rows, s.Width())
	for _, row := range rows {
		var line strings.Builder
		pad := 0
		for i, c := range row {
			text := strings.TrimSpace(c.text)
			if widths[i] == 0 || text == "" {
				pad += widths[i] + min(widths[i], 1)*gap
				continue
			}
			text = transcript.Fit(text, widths[i])
			line.WriteString(strings.Repeat(" ", pad))
			pad = widths[i] - transcript.Columns(text) + gap
			if c.paint != nil {
				text = c.paint(text)
			}
			line.WriteString(text)
		}
		io.WriteString(w, line.String()+"\n")
	}
}

// widths returns the width of each column, 0 for one that is left out. room is
// what all of them have together, 0 for any width.
func (t *table) widths(rows [][]cell, room int) []int {
	widths := make([]int, len(t.head))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], transcript.Columns(c.text))
		}
	}
	if room <= 0 {
		return widths
	}
	for t.need(widths) > room {
		i := t.dispensable(widths)
		if i < 0 {
			break
		}
		widths[i] = 0
	}
	for total(widths) > room {
		i := t.widest(widths)
		if i < 0 {
			break
		}
		widths[i]--
	}
	return widths
}

// total is the width of a whole row.
func total(widths []int) int {
	n := -gap
	for _, w := range widths {
		if w > 0 {
			n += w + gap
		}
	}
	return n
}

// need is the width of a row that is cut as far as it may be.
func (t *table) need(widths []int) int {
	cut := slices.Clone(widths)
	for i, c := range t.give {
		if c.least > 0 {
			cut[i] = min(cut[i], c.least)
		}
	}
	return total(cut)
}

// dispensable is the column to leave out next, -1 if all are needed.
func (t *table) dispensable(widths []int) int {
	found := -1
	for i, c := range t.give {
		if widths[i] > 0 && c.rank > 0 && (found < 0 || c.rank > t.give[found].rank) {
			found = i
		}
	}
	return found
}

// widest is the column to take from: of those that have more than their least
// the one of the highest rank, then the one that has most to give. Where none
// has any, it is whichever is widest; -1 if nothing can be taken.
func (t *table) widest(widths []int) int {
	found, most := -1, 0
	for i, c := range t.give {
		spare := widths[i] - c.least
		if c.least == 0 || spare <= 0 {
			continue
		}
		if found < 0 || c.rank > t.give[found].rank || c.rank == t.give[found].rank && spare > most {
			found, most = i, spare
		}
	}
	if found >= 0 {
		return found
	}
	for i := range widths {
		if widths[i] > max(most, 1) {
			found, most = i, widths[i]
		}
	}
	return found
}
