package main

import (
	"bytes"
	"errors"
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
	c := &console{
		in:  os.Stdin,
		out: &stream{w: os.Stdout}, err: &stream{w: os.Stderr},
		style: styleFor(os.Stdout), notes: styleFor(os.Stderr),
	}
	if c.style.Terminal && c.notes.Terminal {
		c.err.beside = c.out
	}
	return c
}

// styleFor decides what a stream may be sent. Colour is for a terminal that has
// it and a person who wants it: NO_COLOR (no-color.org) and CLICOLOR=0 are a no,
// CLICOLOR_FORCE is a yes for a pipe too (bixense.com/clicolors).
func styleFor(f *os.File) transcript.Style {
	if term := os.Getenv("TERM"); isTerminal(f) {
		able := term != "" && term != "dumb"
		return transcript.Style{
			Terminal: true, Erases: able, Columns: func() int { return columns(f) },
			Colour: able && os.Getenv("CLICOLOR") != "0" && os.Getenv("NO_COLOR") == "" || forced(),
		}
	}
	return transcript.Style{Colour: forced()}
}

func forced() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	return force != "" && force != "0" && os.Getenv("NO_COLOR") == ""
}

func isTerminal(f *os.File) (is bool) {
	control(f, func(fd int) { is = term.IsTerminal(fd) })
	return is
}

// usualColumns is the width of a terminal that does not tell it.
const usualColumns = 80

func columns(f *os.File) int {
	width := 0
	control(f, func(fd int) { width, _, _ = term.GetSize(fd) })
	if width <= 0 {
		return usualColumns
	}
	return width
}

// control does something with a file's descriptor; a file that is closed has
// none. File.Fd would make reads of the file wait for ever.
func control(f *os.File, do func(fd int)) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) }) // as for a file without one
	}
}

// note prints something on stderr that is not part of the answer.
func (c *console) note(text string) { c.say(c.notes.Dim("agentos: " + transcript.Text(text))) }

// say prints a paragraph of ours on stderr.
func (c *console) say(text string) {
	io.WriteString(c.err, transcript.Wrap(text, c.notes.Width(), 0, "  ")+"\n")
}

// stream is a stream to print on. Its Write never fails: what is printed depends
// on nothing that is printed, and a turn goes on when its reader has left. The
// first failure is kept for the end of the process.
//
// Two streams on one terminal know of each other: what is printed on the one
// does not begin in the middle of a line of the other.
type stream struct {
	w      io.Writer
	beside *stream // on the same terminal; its lines are ended before ours

	mu     sync.Mutex
	failed error
	mid    bool          // the cursor is not at the start of a line
	held   *bytes.Buffer // not nil while a person answers a question
}

// heldBytes is how much of the output waits while a person answers a question.
const heldBytes = 4 << 20

// Write implements io.Writer. Once a write has failed everything is dropped.
func (s *stream) Write(p []byte) (int, error) {
	if s.beside != nil && s.beside.endLine() && string(p) == "\n" {
		return len(p), nil // somebody wanted no more than that
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil && s.held.Len()+len(p) <= heldBytes {
		return s.held.Write(p)
	}
	s.flush(p)
	return len(p), nil
}

// flush writes what was held, and p. mu is held.
func (s *stream) flush(p []byte) {
	if s.held != nil {
		p = append(s.held.Bytes(), p...)
		s.held.Reset()
	}
	if len(p) == 0 || s.failed != nil {
		return
	}
	_, s.failed = s.w.Write(p)
	s.mid = p[len(p)-1] != '\n' && p[len(p)-1] != '\r' && !bytes.HasSuffix(p, []byte(transcript.Erase))
}

// endLine leaves the cursor at the start of a line and reports whether that took
// a new one.
func (s *stream) endLine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || !s.mid {
		return false
	}
	_, s.failed = io.WriteString(s.w, "\n")
	s.mid = false
	return true
}

// hold keeps back everything that is written from now on, up to heldBytes, so
// that a question stays the last thing on the terminal. The caller must release.
func (s *stream) hold() {
	s.endLine()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &bytes.Buffer{}
}

// prompted tells a stream that is held where the cursor is: behind a question, or
// at the start of a line again because the person has typed one.
func (s *stream) prompted(mid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mid = mid
}

// release writes what was held.
func (s *stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(nil)
	s.held = nil
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
