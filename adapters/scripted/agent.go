package scripted

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// agent is one process's worth of agent: a connection and the sessions open on it.
type agent struct {
	options options
	env     func(string) string
	conn    *conn
	stderr  io.Writer

	ctx   context.Context // ends with the process
	end   context.CancelFunc
	exit  chan int // holds the code of the first quit
	turns sync.WaitGroup

	deaf     atomic.Bool // ignores what the client says
	stubborn atomic.Bool // ignores the end of input and signals

	// surface and client are set by initialize, before anything that reads them
	// on another goroutine exists.
	surface surface
	client  clientCapabilities
	worked  bool // a request came after initialize

	mu       sync.Mutex
	store    *store // nil until it is needed
	sessions map[string]*session
}

// errLater says that a request is answered by another goroutine.
var errLater = errors.New("answered later")

// method answers one kind of request: a raw result, or an error, which is
// errLater, an *rpcError, or anything else for an internal error.
type method func(a *agent, m message) (string, error)

// newAgent returns an agent that writes to stdout. Call serve next.
func newAgent(o options, stdout, stderr io.Writer, env func(string) string) *agent {
	a := &agent{options: o, env: env, conn: newConn(stdout, o.idStrings), stderr: stderr}
	a.ctx, a.end = context.WithCancel(context.Background())
	a.exit = make(chan int, 1)
	a.sessions = map[string]*session{}
	a.stubborn.Store(o.stubborn)
	a.deaf.Store(o.silent || o.garbage)
	return a
}

// inbound is a line read, or what went wrong with one.
type inbound struct {
	line []byte
	err  error
}

// finishGrace bounds how long the end waits for turns: one may be writing to a
// client that no longer reads.
const finishGrace = time.Second

// serve handles lines until in ends, a signal comes or a directive ends the
// process, and returns the exit code. If Read of in can block, in must be an
// io.Closer, which serve closes to get its reader back.
func (a *agent) serve(in io.Reader, signals <-chan os.Signal) int {
	lines := make(chan inbound)
	go a.read(in, lines) // ends with in; joined below, where lines is drained
	if a.options.garbage {
		a.conn.line("Welcome to the agent that speaks no JSON.\n> initialising... done\n{\"jsonrpc\": nearly}")
	}
	code := a.loop(lines, signals)
	a.end()
	a.conn.shut.Store(true)
	if c, ok := in.(io.Closer); ok {
		c.Close() // the answer changes nothing: the process is ending
	}
	if in != io.Reader(os.Stdin) {
		// Closing a terminal or an inherited pipe does not wake a blocked read;
		// there the end of the process takes the reader.
		for range lines {
		}
	}
	a.join()
	return code
}

func (a *agent) loop(lines <-chan inbound, signals <-chan os.Signal) int {
	for {
		select {
		case l, more := <-lines:
			switch {
			case more:
				a.handle(l)
			case a.stubborn.Load():
				lines = nil
			default:
				return a.code()
			}
		case code := <-a.exit:
			return code
		case <-signals:
			if !a.stubborn.Load() {
				return a.code()
			}
		}
	}
}

// code is the exit code: that of a quit that came at the same time, or 0.
func (a *agent) code() int {
	select {
	case code := <-a.exit:
		return code
	default:
		return 0
	}
}

// join waits for the turns, at most finishGrace.
func (a *agent) join() {
	joined := make(chan struct{})
	go func() { // ends with the turns; abandoned only when the process ends anyway
		a.turns.Wait()
		close(joined)
	}()
	select {
	case <-joined:
	case <-time.After(finishGrace):
	}
}

// quit ends the process with code. Nothing is written after it.
func (a *agent) quit(code int) {
	a.conn.shut.Store(true)
	select {
	case a.exit <- code:
	default: // it is ending already
	}
	a.end()
}

// complain notes something for whoever reads the log.
func (a *agent) complain(err error) { fmt.Fprintf(a.stderr, "scripted: %v\n", err) }

// read sends the lines of in and closes lines at its end.
func (a *agent) read(in io.Reader, lines chan<- inbound) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, maxLineBytes)
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
		select {
		case lines <- inbound{line: line, err: err}:
		case <-a.ctx.Done():
			return
		}
	}
}

// handle takes one line.
func (a *agent) handle(l inbound) {
	if a.deaf.Load() || (l.err == nil && len(bytes.TrimSpace(l.line)) == 0) {
		return
	}
	if l.err != nil {
		a.conn.refuse(nil, fault(codeParse, "a line is longer than %d bytes", maxLineBytes))
		return
	}
	m, err := parseMessage(l.line)
	switch {
	case err != nil:
		a.conn.refuse(m.ID, err)
	case m.isResponse():
		a.conn.deliver(m)
	case m.isRequest():
		a.request(m)
	default:
		a.notice(m)
	}
}

// request answers a request, or lets its method do so later.
func (a *agent) request(m message) {
	result, err := a.call(m)
	var failure *rpcError
	switch {
	case err == nil:
		a.conn.answer(m.ID, result)
	case errors.Is(err, errLater):
	case errors.As(err, &failure):
		a.conn.refuse(m.ID, failure)
	default:
		a.conn.refuse(m.ID, fault(codeInternal, "%v", err))
	}
}

func (a *agent) call(m message) (string, error) {
	if m.Method == "initialize" {
		return a.initialize(m)
	}
	if a.surface == nil {
		return "", fault(codeInvalid, "the first request must be initialize")
	}
	a.worked = true
	do := a.surface.methods()[m.Method]
	if do == nil || a.withheld(m.Method) {
		return "", &rpcError{Code: codeNoMethod, Message: "method not found: " + m.Method, Data: json.RawMessage(`{"method":` + quote(m.Method) + `}`)}
	}
	return do(a, m)
}

// withheld tells whether a flag took a method away.
func (a *agent) withheld(method string) bool {
	switch method {
	case "session/resume":
		return a.options.noResume
	case "session/load":
		return a.options.noLoad
	case "session/close":
		return a.options.closeUnsupported
	}
	return false
}

// notice takes a notification. Unknown ones are ignored, as are all before
// initialize.
func (a *agent) notice(m message) {
	if a.surface == nil {
		return
	}
	switch m.Method {
	case "session/cancel":
		var p sessionParams
		if decode(m.Params, &p) == nil {
			a.cancelTurn(p.SessionID)
		}
	case "$/cancel_request":
		var p struct{ RequestID json.RawMessage }
		if decode(m.Params, &p) == nil && p.RequestID != nil {
			a.cancelRequest(p.RequestID)
		}
	}
}
