package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"

	"agentos/cmd/agentos/transcript"
)

// console is the process's own end of the three streams.
type console struct {
	in       *os.File
	out, err *stream
	style    transcript.Style // of out
	notes    transcript.Style // of err
}

func newConsole() *console {
	return &console{
		in:  os.Stdin,
		out: &stream{w: os.Stdout}, err: &stream{w: os.Stderr},
		style: styleFor(os.Stdout), notes: styleFor(os.Stderr),
	}
}

// styleFor decides about colour: on a terminal that has it, unless the person
// does not want it (no-color.org).
func styleFor(f *os.File) transcript.Style {
	terminal := isTerminal(f)
	return transcript.Style{
		Terminal: terminal,
		Colour:   terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// note prints something on stderr that is not part of the answer.
func (c *console) note(text string) {
	fmt.Fprintln(c.err, c.notes.Dim("agentos: "+transcript.Text(text)))
}

// stream is a stream to print on. Its Write never fails: what is printed depends
// on nothing that is printed, and a turn goes on when its reader has left. The
// first failure is kept for the end of the process.
type stream struct {
	w io.Writer

	mu     sync.Mutex
	failed error
}

// Write implements io.Writer. Once a write has failed everything is dropped.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		_, s.failed = s.w.Write(p)
	}
	return len(p), nil
}

// Sync implements zapcore.WriteSyncer.
func (s *stream) Sync() error { return nil }

// gone reports whether writing is of no use any more.
func (s *stream) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// failure returns what went wrong, but for a reader that has left on purpose.
func (s *stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.failed, syscall.EPIPE) {
		return nil
	}
	return s.failed
}
