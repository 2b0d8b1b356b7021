package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"agentos/actors"
	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/acp"
)

// asker puts the agent's questions to the person at the terminal, one after the
// other. It speaks on the terminal itself, so that stdout may go elsewhere.
//
// A nil *asker is nobody: its methods do nothing.
type asker struct {
	tty     *os.File
	in      *bufio.Reader
	style   transcript.Style
	vm      *actors.VM
	session protocol.SessionID
	titles  bool // stdout, which shows what is asked, is not the terminal

	mu     sync.Mutex
	open   map[protocol.RequestID]*question // asked or about to be
	queue  chan *question
	closed bool
	gone   chan struct{}
}

// question is one permission request that waits for the person.
type question struct {
	request protocol.RequestID
	payload []byte
	over    context.Context // ends when an answer is of no use any more
	end     context.CancelFunc
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
		tty: tty, in: bufio.NewReader(tty), style: t.app.style, vm: t.vm, session: protocol.SessionID(t.flags.session),
		titles: !t.app.style.Terminal || t.flags.json || t.flags.quiet,
		open:   map[protocol.RequestID]*question{}, queue: make(chan *question, maxQuestions), gone: make(chan struct{}),
	}
	go a.run() // ended and awaited by stop
	return a
}

// inForeground asks without File.Fd, which would make reads of it wait for ever.
func inForeground(tty *os.File) bool {
	raw, err := tty.SyscallConn()
	if err != nil {
		return false
	}
	group := 0
	if cerr := raw.Control(func(fd uintptr) { group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }); cerr != nil {
		return false
	}
	return err == nil && group == unix.Getpgrp()
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
	q := &question{request: e.Request, payload: e.Payload}
	q.over, q.end = context.WithCancel(context.Background())
	a.open[e.Request] = q
	a.queue <- q
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
	for q := range a.queue {
		if q.over.Err() == nil {
			a.put(q)
		}
		q.end()
	}
}

// put asks one question until it is answered or taken back.
func (a *asker) put(q *question) {
	p, err := acp.ParsePermission(q.payload)
	if err != nil {
		a.say("the agent asks something that cannot be read; Ctrl-C cancels the turn\n")
		return
	}
	if a.titles {
		a.say("? %s\n", a.style.Bold(transcript.Line(p.Title, 200)))
	}
	for _, line := range transcript.Request(q.payload) {
		a.say("  %s\n", a.style.Dim(line))
	}
	for i, o := range p.Options {
		a.say("  %d) %s\n", i+1, transcript.Line(o.Name, 80))
	}
	for {
		a.say("  choose 1 to %d: ", len(p.Options))
		line, err := a.read(q.over)
		switch {
		case q.over.Err() != nil:
			a.say("\n")
			return
		case err != nil:
			a.nobody()
			return
		}
		if o, ok := choose(p.Options, line); ok {
			a.permit(q.request, o.ID)
			return
		}
	}
}

// choose finds the option that the person means by its number, id or name. There
// is no default: an empty line chooses nothing.
func choose(options []acp.Option, line string) (acp.Option, bool) {
	line = strings.TrimSpace(line)
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	for _, o := range options {
		if line != "" && (line == o.ID || strings.EqualFold(line, o.Name)) {
			return o, true
		}
	}
	return acp.Option{}, false
}

// read waits for a line, or for the end of over.
func (a *asker) read(over context.Context) (string, error) {
	woken := make(chan struct{})
	stop := context.AfterFunc(over, func() {
		defer close(woken)
		_ = a.tty.SetReadDeadline(time.Unix(1, 0)) // where it cannot be done the read lasts until the person types
	})
	line, err := a.in.ReadString('\n')
	if !stop() {
		<-woken
		_ = a.tty.SetReadDeadline(time.Time{})
	}
	return line, err
}

// permit gives the answer. One that comes too late is no mistake of the person's.
func (a *asker) permit(id protocol.RequestID, option string) {
	ctx, cancel := context.WithTimeout(context.Background(), silenceNotice)
	defer cancel()
	answer, err := a.vm.Permit(ctx, a.session, id, option)
	switch {
	case err != nil:
		a.say("  %s\n", a.style.Bad("not answered: "+transcript.Line(err.Error(), 200)))
	case answer.Status == protocol.OutcomeNotPending:
		a.say("  %s\n", a.style.Dim("too late: "+strings.ReplaceAll(string(answer.Reason), "_", " ")))
	}
}

// nobody ends a turn whose question nobody is going to answer.
func (a *asker) nobody() {
	a.say("\n  %s\n", a.style.Bad("no answer; the turn is cancelled"))
	err := bounded(func(ctx context.Context) error { return a.vm.Cancel(ctx, a.session, "") })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.say("  %s\n", a.style.Bad(transcript.Line(err.Error(), 200)))
	}
}

func (a *asker) say(format string, args ...any) {
	_, _ = io.WriteString(a.tty, fmt.Sprintf(format, args...)) // a terminal that is gone ends the reading too
}
