package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"agentos/protocol"
)

// Handler receives incoming messages on the reader goroutine, in the order of
// the lines. Blocking in it stops reading.
type Handler func(m Message)

// defaultQueuedBytes lets a prompt of the default limit wait behind another.
const defaultQueuedBytes = 128 << 20

// Options are optional. The functions run on the reader goroutine.
type Options struct {
	// MaxLineBytes is the longest line that is read, without its line feed; 0
	// means limits.acp.maxReadLineBytes.
	MaxLineBytes int64
	// MaxQueuedBytes is how much may wait to be written; 0 means 128 MiB. One
	// message is taken whatever its size when nothing else waits.
	MaxQueuedBytes int64
	// AnswerJunk answers a line that is not JSON with -32700 and id null, as a
	// server does to its client. It is off for an agent's stdout, where junk is
	// a log line that expects no answer.
	AnswerJunk bool
	// OnDiagnostic hears of lines that something was wrong with: of each kind
	// the first eight and then every one whose count is a power of two, and at
	// the end of the stream how many there were, if that was not the last count.
	OnDiagnostic func(Diagnostic)
	// OnActivity is called after every read that gave bytes, be they half a line
	// or junk: a sign of life for time limits on silence.
	OnActivity func()
	// OnCancel is called for an incoming $/cancel_request with the id of the
	// request that its sender no longer wants, which may be one never sent or
	// long answered. The request must still be answered. Without OnCancel such
	// cancels are ignored, as the protocol allows.
	OnCancel func(ID)
}

// Peer is one end of a JSON-RPC connection. Its methods may be called from any
// goroutine, but for Close and Request, which must not be called from functions
// that run on the reader goroutine.
type Peer struct {
	handler Handler
	opts    Options
	in      io.Reader
	lines   *lineReader
	counts  counters
	out     io.Writer

	done            chan struct{} // closed when reading ended and every call has
	writer          chan struct{} // closed when the writer goroutine has ended
	deaf            chan struct{} // closed when a write has failed
	inOnce, outOnce sync.Once     // closing in and out

	mu      sync.Mutex
	wake    sync.Cond // the writer waits on it for queue or writing
	calls   map[ID]*call
	lastID  int64
	queue   []frame
	queued  int64 // bytes of queue and of what the writer is writing
	closed  bool  // Close was called
	finish  bool  // CloseWrite was called
	readEnd error // why reading ended; calls are refused from then on
	writeEr error // why writing ended; writes are refused from then on
}

// call is an open call. Whoever removes it from Peer.calls runs done.
type call struct {
	id     ID
	method string
	done   func(Response)
	lost   int64 // damaged lines before it was made
}

// New returns a running peer that reads r and writes w. h must not be nil.
func New(r io.Reader, w io.Writer, h Handler, o Options) *Peer {
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = protocol.DefaultLimits().ReadLineBytes
	}
	if o.MaxQueuedBytes <= 0 {
		o.MaxQueuedBytes = defaultQueuedBytes
	}
	p := &Peer{
		handler: h, opts: o, in: r, out: w,
		done: make(chan struct{}), writer: make(chan struct{}), deaf: make(chan struct{}),
		calls: make(map[ID]*call),
	}
	p.wake.L = &p.mu
	p.lines = newLineReader(r, o.MaxLineBytes, p.got)
	go p.read()  // ends with r; Close waits for it on done
	go p.write() // ended by Close, CloseWrite or an error of w; Close waits for it on writer
	return p
}

// Call sends a request. params is a raw value, nil for none.
//
// If the error is nil, done runs exactly once, unless the call is forgotten: on
// the reader goroutine, in the order of the lines, with the answer; or with
// Response.Err. The latter is on the reader goroutine too, but for a request
// that could not be written, where nothing can have been answered and which is
// ended on the writer goroutine.
func (p *Peer) Call(method string, params []byte, done func(Response)) (ID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readEnd != nil {
		return "", &EndError{Cause: p.readEnd}
	}
	id := ID(strconv.FormatInt(p.lastID+1, 10))
	if err := p.push(requestFrame(id, method, params)); err != nil {
		return "", err
	}
	p.lastID++
	p.calls[id] = &call{id: id, method: method, done: done, lost: p.counts.stats().Lost()}
	return id, nil
}

// Forget gives up a call and reports whether it was still open; then its done
// will not run, and its answer is an OrphanAnswer when it comes. It does not
// tell the other side: see Cancel.
func (p *Peer) Forget(id ID) bool { return p.remove(id) != nil }

// Request sends a request and waits for its end. The error is nil iff there is
// a result; it is the answer's *Error if there is one. When ctx ends first, the
// other side is told by $/cancel_request and the call is forgotten.
func (p *Peer) Request(ctx context.Context, method string, params []byte) (Response, error) {
	answer := make(chan Response, 1)
	id, err := p.Call(method, params, func(r Response) { answer <- r })
	if err != nil {
		return Response{Err: err}, err
	}
	select {
	case r := <-answer:
		return r, r.err()
	case <-ctx.Done():
	}
	p.Cancel(id)
	c := p.remove(id)
	if c == nil { // its end is being delivered
		r := <-answer
		return r, r.err()
	}
	err = fmt.Errorf("await answer to %s: %w", method, context.Cause(ctx))
	if n := p.Stats().Lost() - c.lost; n > 0 {
		err = fmt.Errorf("%w; %d damaged lines were skipped meanwhile, the answer may have been among them", err, n)
	}
	return Response{ID: id, Err: err}, err
}

// Cancel tells the other side, by $/cancel_request, that the answer to an open
// call is no longer wanted. The call stays open: it should still be answered.
// Nothing is sent for a call that has ended or when the queue is full.
func (p *Peer) Cancel(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[id] == nil {
		return
	}
	params := append(append([]byte(`{"requestId":`), id...), '}')
	// A cancel is a wish that may be ignored anyway, so one that cannot be
	// written is not an error of the caller's.
	_ = p.push(requestFrame("", "$/cancel_request", params))
}

// Notify sends a notification. params is a raw value, nil for none.
func (p *Peer) Notify(method string, params []byte) error {
	return p.send(requestFrame("", method, params))
}

// Reply answers a request with a raw result; nil is sent as null.
func (p *Peer) Reply(id ID, result []byte) error { return p.send(resultFrame(id, result)) }

// ReplyError answers a request with an error.
func (p *Peer) ReplyError(id ID, e *Error) error { return p.send(errorFrame(id, e)) }

// CloseWrite ends writing when what is queued has been written, and closes the
// writer if it is an io.Closer. It does not wait; writes after it are refused.
func (p *Peer) CloseWrite() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish = true
	p.wake.Signal()
}

// Close ends the peer: what is queued is dropped, nothing more is delivered,
// every open call ends with ErrClosed. It waits for both goroutines, so for a
// Handler that is running too. Close may be called more than once.
func (p *Peer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.wake.Signal()
	p.mu.Unlock()
	err := errors.Join(closeOnce(&p.inOnce, p.in), closeOnce(&p.outOnce, p.out))
	<-p.writer
	<-p.done
	return err
}

// closeOnce closes stream if it can be; one that its owner closed before is fine.
func closeOnce(once *sync.Once, stream any) (err error) {
	c, ok := stream.(io.Closer)
	if !ok {
		return nil
	}
	once.Do(func() { err = c.Close() })
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// Done is closed when reading has ended and every call has. Writing may go on.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Deaf is closed when a write has failed: the other side hears nothing any more,
// and what was queued for it is lost. It may go on speaking.
func (p *Peer) Deaf() <-chan struct{} { return p.deaf }

// Err returns why reading or writing has ended: nil while both go on, ErrClosed
// after Close, io.EOF for an orderly end of the stream, else an I/O error.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.readEnd != nil:
		return p.readEnd
	case p.closed:
		return ErrClosed
	}
	return p.writeEr
}

// Stats returns the counters.
func (p *Peer) Stats() Stats { return p.counts.stats() }

// remove takes a call out of the open ones; nil if it is not open.
func (p *Peer) remove(id ID) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	delete(p.calls, id)
	return c
}
