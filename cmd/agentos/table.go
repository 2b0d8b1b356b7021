package main

import (
	"io"
	"strings"
	"unicode/utf8"

	"agentos/cmd/agentos/transcript"
)

// table is columns of text for a person.
type table struct {
	head []string
	rows [][]cell
}

// cell is text that is harmless already. Its colour has no width.
type cell struct {
	text  string
	paint func(string) string // nil: as it is
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

func (t *table) print(w io.Writer, s transcript.Style) {
	head := make([]cell, len(t.head))
	width := make([]int, len(t.head))
	for i, name := range t.head {
		head[i] = cell{name, s.Dim}
	}
	rows := append([][]cell{head}, t.rows...)
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range rows {
		last := len(row) - 1
		for last > 0 && row[last].text == "" {
			last--
		}
		var line strings.Builder
		for i, c := range row[:last+1] {
			text := c.text
			if c.paint != nil {
				text = c.paint(text)
			}
			line.WriteString(text)
			if i < last {
				line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		io.WriteString(w, line.String()+"\n")
	}
}
