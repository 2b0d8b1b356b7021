// Package wire is lines that real agents and clients have said, for tests: the
// seeds of the fuzz targets below protocol and the input of their tables. It is
// in testdata, so that nothing but a test can come to import it unnoticed.
//
// It never judges a line: a few are no messages at all. There is no state;
// everything may be called from any goroutine, and every result is the caller's
// own.
package wire

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
)

//go:embed *.jsonl
var files embed.FS

// Line is one line of a stream, without its line feed.
type Line struct {
	Source string // who said it, and the line of the file: "tiny-0.1.0:3"
	Client bool   // said to an agent, not by one
	Text   []byte
}

// Lines returns all lines, in the same order every time. It panics if a file
// cannot be read, which only a broken build can bring about.
func Lines() []Line {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("read embedded lines: %v", err))
	}
	var all []Line
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(fmt.Sprintf("read embedded lines: %v", err))
		}
		name := strings.TrimSuffix(e.Name(), ".jsonl")
		for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
			all = append(all, Line{Source: fmt.Sprintf("%s:%d", name, i+1), Client: name == "clients", Text: line})
		}
	}
	return all
}
