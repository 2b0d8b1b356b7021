package wire

import (
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

// Conn writes messages and remembers the requests that await an answer.
type Conn struct {
	writing sync.Mutex // held over a write, so that lines do not mix
	out     io.Writer
	// shut needs no lock: a write that blocks because nobody reads must not keep
	// the process from ending.
	shut atomic.Bool

	mu        sync.Mutex // guards what follows; never held over a write
	stringIDs bool
	lastID    int
	pending   map[string]chan Reply // by the id's bytes
}

// Reply is what the client answered to a request of ours.
type Reply struct {
	Result json.RawMessage
	Err    *Error
}

// Request is a request of ours.
type Request struct {
	ID    string     // raw
	Reply chan Reply // holds the answer until it is received
}

// New returns a connection that writes to out. Its requests have integers as
// ids, or strings.
func New(out io.Writer, stringIDs bool) *Conn {
	return &Conn{out: out, stringIDs: stringIDs, pending: map[string]chan Reply{}}
}

// write puts bytes on the wire in one call. A failed write shuts the
// connection: the client is gone, and the end of our input ends the process.
func (c *Conn) write(b []byte, last bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.shut.Load() {
		return
	}
	if _, err := c.out.Write(b); err != nil || last {
		c.shut.Store(true)
	}
}

// Line writes s as a line, whatever it is.
func (c *Conn) Line(s string) { c.write(append([]byte(s), '\n'), false) }

// Half writes s without a newline and nothing after it.
func (c *Conn) Half(s string) { c.write([]byte(s), true) }

// Shut discards what is written later. It does not wait for a write that is
// under way: one may block because nobody reads.
func (c *Conn) Shut() { c.shut.Store(true) }

// Answer sends the result of the client's request.
func (c *Conn) Answer(id json.RawMessage, result string) {
	c.Line(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

// Refuse sends an error answer. A nil id goes as null.
func (c *Conn) Refuse(id json.RawMessage, err *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.Line(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + err.Object() + `}`)
}

// Notify sends a notification.
func (c *Conn) Notify(method, params string) {
	c.Line(`{"jsonrpc":"2.0","method":` + Quote(method) + `,"params":` + params + `}`)
}

// Update sends one session/update, its update byte for byte as given.
func (c *Conn) Update(sessionID, update string) {
	c.Notify("session/update", `{"sessionId":`+Quote(sessionID)+`,"update":`+update+`}`)
}

// Request sends a request. The caller receives from the reply channel, which
// holds the answer until it does.
func (c *Conn) Request(method, params string) Request {
	c.mu.Lock()
	c.lastID++
	id := strconv.Itoa(c.lastID)
	if c.stringIDs {
		id = Quote("request-" + id)
	}
	r := Request{ID: id, Reply: make(chan Reply, 1)}
	c.pending[id] = r.Reply
	c.mu.Unlock()
	c.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":` + Quote(method) + `,"params":` + params + `}`)
	return r
}

// Deliver hands an answer of the client to whoever asked. Answers to nothing
// (twice, too late, no id) are ignored.
func (c *Conn) Deliver(m Message) {
	c.mu.Lock()
	waiting := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if waiting == nil {
		return
	}
	r := Reply{Result: m.Result}
	if m.Error != nil {
		r.Err = &Error{}
		if err := json.Unmarshal(m.Error, r.Err); err != nil {
			r.Err = Errorf(CodeInternal, "the client's error is not readable")
		}
	}
	waiting <- r
}

// Unanswered returns the requests whose answer has not come in.
func Unanswered(requests []Request) []Request {
	var open []Request
	for _, r := range requests {
		if len(r.Reply) == 0 {
			open = append(open, r)
		}
	}
	return open
}

// Forget drops a request that nobody waits for any more.
func (c *Conn) Forget(r Request) {
	c.mu.Lock()
	delete(c.pending, r.ID)
	c.mu.Unlock()
}

// Drop closes our output and discards what is written later.
func (c *Conn) Drop() error {
	c.shut.Store(true)
	if out, ok := c.out.(io.Closer); ok {
		return out.Close()
	}
	return nil
}
