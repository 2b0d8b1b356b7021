package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
)

// asker puts the agent's questions to the person at the terminal, one after the
// other. It speaks on the terminal itself, so that stdout may go elsewhere.
//
// A nil *asker is nobody: its methods do nothing.
type asker struct {
	tty     *os.File
	in      *bufio.Reader
	style   transcript.Style
	vm      machine
	session protocol.SessionID
	prompt  protocol.PromptID // whose turn it is
	out     *stream           // stdout if it is a terminal, which says nothing while a question is open; else nil

	mu     sync.Mutex
	open   map[protocol.RequestID]*question // asked or about to be
	queue  chan *question
	talked bool // the agent has said something since the last question
	left   int  // questions in the queue or being asked; meanwhile out is held
	closed bool
	gone   chan struct{}
}

// question is one permission request that waits for the person.
type question struct {
	request protocol.RequestID
	payload []byte
	// afterTalk: what was typed before the question is no answer to it. An agent
	// could print a question that looks like ours, and ask another one as soon as
	// it was answered.
	afterTalk bool
	over      context.Context // ends when an answer is of no use any more
	end       context.CancelFunc
}

// maxQuestions is how many may wait; limits.acp.maxPendingPermissionsPerSession
// stops an agent long before.
const maxQuestions = 4096

// newAsker returns an asker if there is a person to ask: stdin is a terminal and
// this process is in its foreground. A background job that read from it would be
// stopped by the system in the middle of a turn.
func newAsker(t *turn) *asker {
	if !isTerminal(t.app.in) {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if !inForeground(tty) {
		_ = tty.Close() // nothing was written to it
		return nil
	}
	a := &asker{
		tty: tty, in: bufio.NewReader(tty), style: styleFor(tty), vm: t.vm, session: protocol.SessionID(t.flags.session), prompt: t.prompt,
		open: map[protocol.RequestID]*question{}, queue: make(chan *question, maxQuestions), gone: make(chan struct{}),
	}
	if t.app.style.Terminal {
		a.out = t.app.out
	}
	go a.run() // ended and awaited by stop
	return a
}

func inForeground(tty *os.File) (is bool) {
	control(tty, func(fd int) {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		is = err == nil && group == unix.Getpgrp()
	})
	return is
}

// ask queues a question.
func (a *asker) ask(e protocol.Event) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.queue) == cap(a.queue) {
		return
	}
	q := &question{request: e.Request, payload: e.Payload, afterTalk: a.talked}
	a.talked = false
	q.over, q.end = context.WithCancel(context.Background())
	a.open[e.Request] = q
	if a.left++; a.left == 1 && a.out != nil {
		a.out.hold()
	}
	a.queue <- q
}

// done is behind a question, whether it was put or not.
func (a *asker) done(q *question) {
	q.end()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left == 0 && a.out != nil {
		a.out.release()
	}
}

// heard tells the asker that the agent's own words are on the terminal.
func (a *asker) heard() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talked = true
}

// over takes a question back that has been answered or needs no answer.
func (a *asker) over(id protocol.RequestID) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.open[id]; q != nil {
		q.end()
		delete(a.open, id)
	}
}

// shows reports whether questions and their answers are on the terminal where
// stdout is.
func (a *asker) shows() bool { return a != nil && a.out != nil }

// waiting reports whether the person is the one who is being waited for.
func (a *asker) waiting() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// stop takes every question back and ends the asking.
func (a *asker) stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.closed = true
	for _, q := range a.open {
		q.end()
	}
	close(a.queue)
	a.mu.Unlock()
	<-a.gone
	_ = a.tty.Close() // everything on it was for the person's eyes
}

func (a *asker) run() {
	defer close(a.gone)
	answers := true
	for q := range a.queue {
		if answers && q.over.Err() == nil {
			answers = a.put(q)
		}
		a.done(q)
	}
}

// nobody ends a turn whose question nobody is going to answer.
func (a *asker) nobody() {
	a.endLine()
	a.line("  " + a.style.Bad("no answer; the turn is cancelled"))
	err := bounded(func(ctx context.Context) error { return a.vm.Cancel(ctx, a.session, a.prompt) })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.line("  " + a.style.Bad(transcript.Line(err.Error(), 200)))
	}
}

// prompted says where the cursor is, for the other streams of the terminal.
func (a *asker) prompted(mid bool) {
	if a.out != nil {
		a.out.prompted(mid)
	}
}

// endLine ends the line that the person has not ended.
func (a *asker) endLine() {
	if a.out == nil {
		a.say("\n")
		return
	}
	a.out.endLine()
}

// line prints a line, broken at blanks where the terminal is too narrow.
func (a *asker) line(text string) {
	a.say("%s\n", transcript.Wrap(text, a.style.Width(), 0, "     "))
}

func (a *asker) say(format string, args ...any) {
	_, _ = io.WriteString(a.tty, fmt.Sprintf(format, args...)) // a terminal that is gone ends the reading too
}
