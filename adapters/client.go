package adapters

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"agentos/adapters/guard"
	"agentos/adapters/mask"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// defaultStderrBytes of an adapter's stderr are kept; a details member gets
// detailBytes of them.
const (
	defaultStderrBytes = 64 << 10
	detailBytes        = 4 << 10
)

// Options are how to start an adapter.
type Options struct {
	// Guard is the command line of the guard, without its flags: the path of
	// this program, "adapter", "guard".
	Guard []string
	// MaxLineBytes bounds a line of the adapter; 0 means limits.acp.maxReadLineBytes.
	MaxLineBytes int64
	// StderrBytes of stderr are kept; 0 means 64 KiB.
	StderrBytes int
	// OnMessage gets the adapter's requests and notifications, on the reader
	// goroutine. It may be called before Start has returned. nil refuses requests
	// with -32601 and drops notifications.
	OnMessage jsonrpc.Handler
	// OnDiagnostic hears of lines that were no messages; nil drops them.
	OnDiagnostic func(jsonrpc.Diagnostic)
	// OnCancel hears of requests that the adapter no longer wants answered; nil
	// drops that.
	OnCancel func(jsonrpc.ID)
}

// Exit is how an adapter ended.
type Exit struct {
	Code   int    // as a shell has it: 128 and the number for a signal; -1 if it is not known
	Signal string // "killed" for instance; "" if it exited by itself
	// Lost says that the guard was killed before it could tell how the adapter
	// ended; Code is -1.
	Lost bool
	// StderrTail is the newest of stderr, valid UTF-8, with secrets masked.
	StderrTail string
}

// String says it in words, without stderr.
func (e Exit) String() string {
	switch {
	case e.Lost:
		return "its guard was killed"
	case e.Signal != "":
		return fmt.Sprintf("ended by signal (%s)", e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Client is one adapter process and the connection to it.
type Client struct {
	name    string
	cmd     *exec.Cmd // the guard
	control *os.File
	reports *json.Decoder // of control; the watcher's once Start has returned
	started guard.Report

	peer           *jsonrpc.Peer
	stdin          *os.File
	stdout, stderr *stream
	tail           *tail
	mask           mask.Mask
	born           time.Time
	heard          atomic.Int64 // of the last byte read, in nanoseconds after born
	stopping       atomic.Bool  // Stop was called
	handled        atomic.Int64 // messages that OnMessage has finished with

	goroutines sync.WaitGroup // the copier of stderr and the heeder; the watcher waits
	dead       chan struct{}  // closed when no process is left
	exited     chan struct{}  // closed when nothing is left
	exit       Exit           // set BEFORE exited is closed
	left       int            // processes that could not be ended; set BEFORE dead is closed
}

// Peer returns the connection, for calls and notifications whose order counts.
// Only Stop may close it.
func (c *Client) Peer() *jsonrpc.Peer { return c.peer }

// PID returns the process id of the adapter's first process.
func (c *Client) PID() int { return c.started.PID }

// Exited is closed when the adapter has ended, all its processes were reaped,
// all it wrote was handed over and nothing of the Client runs any more.
func (c *Client) Exited() <-chan struct{} { return c.exited }

// Exit returns how the adapter ended. It is valid after Exited.
func (c *Client) Exit() Exit {
	select {
	case <-c.exited:
		return c.exit
	default:
		return Exit{Code: -1}
	}
}

// ExitError is the CodeAdapterExited of an adapter that has ended, with the last
// line of its stderr in its message, and its exit code, signal and more of its
// stderr as details. during says in a few words what was going on ("answering
// initialize"). It is valid after Exited.
func (c *Client) ExitError(during string) *protocol.Error {
	e := c.Exit()
	text := fmt.Sprintf("agent %s ended while %s (%v)", c.name, during, e)
	if line := lastLine(e.StderrTail); line != "" {
		text += ": " + line
	}
	err := (&protocol.Error{Code: protocol.CodeAdapterExited, Message: text}).With("exitCode", e.Code)
	if e.Signal != "" {
		err = err.With("signal", e.Signal)
	}
	return withStderr(err, e.StderrTail)
}

func withStderr(err *protocol.Error, text string) *protocol.Error {
	if text == "" {
		return err
	}
	return err.With("stderr", newest(text, detailBytes))
}

// StderrTail returns the newest of what the adapter wrote on stderr so far, as
// valid UTF-8, with secrets masked.
func (c *Client) StderrTail() string { return c.mask.Text(c.tail.String()) }

// Silence returns how long the adapter has written nothing, on stdout or stderr.
func (c *Client) Silence() time.Duration {
	return time.Since(c.born) - time.Duration(c.heard.Load())
}

func (c *Client) hear() { c.heard.Store(int64(time.Since(c.born))) }

// handler wraps OnMessage: it waits for ready, and counts so that the watcher
// can tell a slow one from one that hangs.
func (c *Client) handler(h jsonrpc.Handler, ready <-chan struct{}) jsonrpc.Handler {
	if h == nil {
		h = c.refuse
	}
	return func(m jsonrpc.Message) {
		<-ready
		h(m)
		c.handled.Add(1)
	}
}

// refuse answers requests that nobody handles. An adapter that cannot be
// answered is one that is ending.
func (c *Client) refuse(m jsonrpc.Message) {
	if m.Kind == jsonrpc.Request {
		_ = c.peer.ReplyError(m.ID, &jsonrpc.Error{Code: -32601, Message: "method not found"})
	}
}

// copyStderr runs until stderr ends. An error of reading ends it as well: what
// was lost is text for people.
func (c *Client) copyStderr() {
	defer c.goroutines.Done()
	buf := make([]byte, 32<<10)
	for {
		n, err := c.stderr.Read(buf)
		if n > 0 {
			c.hear()
			_, _ = c.tail.Write(buf[:n]) // never fails
		}
		if err != nil {
			return
		}
	}
}
