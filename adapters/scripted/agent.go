package scripted

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentos/adapters/scripted/store"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// agent is one process's worth of agent: a connection and the sessions open on it.
type agent struct {
	options options
	env     func(string) string
	conn    *wire.Conn
	stderr  io.Writer

	ctx   context.Context // ends with the process
	end   context.CancelFunc
	exit  chan int       // holds the code of the first quit
	tasks sync.WaitGroup // add by spawn only

	deaf     atomic.Bool // ignores what the client says
	stubborn atomic.Bool // ignores the end of input and signals

	// Set by initialize, before a goroutine that reads them can exist.
	surface surface.Surface
	client  surface.Client
	worked  bool // a request came after initialize

	mu       sync.Mutex // guards what follows
	store    *store.Store
	sessions map[string]*session
}

// newAgent returns an agent that writes to stdout. Call serve next.
func newAgent(o options, stdout, stderr io.Writer, env func(string) string) *agent {
	a := &agent{options: o, env: env, conn: wire.New(stdout, o.idStrings), stderr: stderr}
	a.ctx, a.end = context.WithCancel(context.Background())
	a.exit = make(chan int, 1)
	a.sessions = map[string]*session{}
	a.stubborn.Store(o.stubborn)
	a.deaf.Store(o.silent || o.garbage)
	return a
}

// finishGrace bounds each wait at the end: a goroutine may be writing to a
// client that no longer reads.
const finishGrace = time.Second

// serve handles lines until in ends, a signal comes or a directive ends the
// process, and returns the exit code. If Read of in can block, in must be an
// io.Closer: closing it gets the reader back.
func (a *agent) serve(in io.Reader, signals <-chan os.Signal) int {
	if a.options.garbage {
		a.conn.Line("Welcome to the agent that speaks no JSON.\n> initialising... done\n{\"jsonrpc\": nearly}")
	}
	lines, ended, read := make(chan wire.Inbound), make(chan struct{}), make(chan struct{})
	go func() { // ends with in, which is closed below; waited for below
		defer close(read)
		wire.Read(a.ctx, in, lines)
		close(ended)
		close(lines)
	}()
	handled := make(chan struct{})
	go func() { // ends with lines; waited for below
		defer close(handled)
		for l := range lines {
			a.handle(l)
		}
	}()
	code := a.await(ended, handled, signals)
	a.stop()
	a.conn.Shut()
	if c, ok := in.(io.Closer); ok {
		c.Close() // its error changes nothing: the process is ending
	}
	if in != io.Reader(os.Stdin) {
		// Closing a terminal or an inherited pipe does not wake a blocked read;
		// there the end of the process takes the reader.
		within(finishGrace, read)
		within(finishGrace, handled)
	}
	joined := make(chan struct{})
	go func() { // ends with the tasks; waited for below
		defer close(joined)
		a.tasks.Wait()
	}()
	within(finishGrace, joined)
	return code
}

// await returns the exit code when it is time to end.
func (a *agent) await(ended, handled <-chan struct{}, signals <-chan os.Signal) int {
	for {
		select {
		case <-ended:
			if a.stubborn.Load() {
				ended = nil
				continue
			}
			within(finishGrace, handled) // the last line may be under way
			return a.code()
		case <-a.ctx.Done():
			return a.code()
		case <-signals:
			if !a.stubborn.Load() {
				return a.code()
			}
		}
	}
}

// code is the exit code: that of quit, or 0.
func (a *agent) code() int {
	select {
	case code := <-a.exit:
		return code
	default:
		return 0
	}
}

// within waits for done, at most d.
func within(d time.Duration, done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(d):
	}
}

// quit ends the process with code. Nothing is written after it.
func (a *agent) quit(code int) {
	a.conn.Shut()
	select {
	case a.exit <- code:
	default: // it is ending already
	}
	a.end()
}

// spawn runs a task on a goroutine of its own, which serve waits for, unless the
// process is ending.
func (a *agent) spawn(task func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() == nil {
		a.tasks.Go(task)
	}
}

// stop ends all tasks and keeps more from being spawned. It takes mu so that
// none is added while serve already waits for the last.
func (a *agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
}

// complain notes something for whoever reads the log.
func (a *agent) complain(err error) { fmt.Fprintf(a.stderr, "scripted: %v\n", err) }

// handle takes one line.
func (a *agent) handle(l wire.Inbound) {
	if a.deaf.Load() || (l.Err == nil && len(bytes.TrimSpace(l.Line)) == 0) {
		return
	}
	if l.Err != nil {
		a.conn.Refuse(nil, wire.Errorf(wire.CodeParse, "a line is longer than %d bytes", wire.MaxLineBytes))
		return
	}
	m, err := wire.Parse(l.Line)
	switch {
	case err != nil:
		a.conn.Refuse(m.ID, err)
	case m.IsResponse():
		a.conn.Deliver(m)
	case m.IsRequest():
		a.request(m)
	default:
		a.notice(m)
	}
}
