package adapters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// Patience is how long to wait for an answer. A field of zero is no bound.
type Patience struct {
	Silence time.Duration // without a byte on stdout or stderr
	Max     time.Duration // in all
}

// SetupPatience is for initialize, session/new, load and resume: a cold start
// that keeps saying something may take minutes (S13, AD-03).
func SetupPatience() Patience { return Patience{Silence: time.Minute, Max: 10 * time.Minute} }

// CallPatience is for every other call but session/prompt, which has none (S13).
func CallPatience() Patience { return Patience{Max: 2 * time.Minute} }

// Request sends a request and waits for its answer. An error is a
// *jsonrpc.Error if the adapter answered with one. Else it is CodeACPTimeout
// when patience is over (the adapter is told by $/cancel_request and the answer
// is ignored when it comes), CodeAdapterExited with how it ended and the end of
// its stderr, CodeACPProtocolError or CodeResourceLimit for an answer that could
// not be read, or wraps the cause of ctx.
//
// An adapter whose connection has broken is ended, so that the error can say
// how it ended. Request must not be called by OnMessage.
func (c *Client) Request(ctx context.Context, method string, params []byte, p Patience) (jsonrpc.Response, error) {
	answered := make(chan jsonrpc.Response, 1)
	q := question{method: method, asked: time.Now(), lost: c.peer.Stats().Lost()}
	id, err := c.peer.Call(method, params, func(r jsonrpc.Response) { answered <- r })
	if err != nil {
		return jsonrpc.Response{Err: err}, c.broken(method, err)
	}
	r, err := c.await(ctx, q, answered, p)
	if err == nil {
		return c.outcome(method, r)
	}
	c.peer.Cancel(id)
	if !c.peer.Forget(id) { // its end is being handed over at this moment
		return c.outcome(method, <-answered)
	}
	return jsonrpc.Response{ID: id, Err: err}, err
}

// question is what is known of a call before its answer.
type question struct {
	method string
	asked  time.Time
	lost   int64 // lines of the adapter that could not be read by then
}

// await returns the end of the call, or an error when the wait is over first.
func (c *Client) await(ctx context.Context, q question, answered <-chan jsonrpc.Response, p Patience) (jsonrpc.Response, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case r := <-answered:
			return r, nil
		case <-ctx.Done():
			return jsonrpc.Response{}, fmt.Errorf("await answer of agent %s to %s: %w", c.name, q.method, context.Cause(ctx))
		case <-timer.C:
			next, over := p.next(time.Since(q.asked), c.Silence())
			if over != "" {
				return jsonrpc.Response{}, c.timeout(q, over)
			}
			if next > 0 {
				timer.Reset(next)
			}
		}
	}
}

// next tells how long to wait until patience may be over, 0 for ever; or which
// bound it is over by. It is given how long ago the question was asked and the
// last byte read.
func (p Patience) next(waited, silent time.Duration) (next time.Duration, over string) {
	silent = min(silent, waited) // silence before the question was nobody's fault
	switch {
	case p.Max > 0 && waited >= p.Max:
		return 0, fmt.Sprintf("in %v", p.Max)
	case p.Silence > 0 && silent >= p.Silence:
		return 0, fmt.Sprintf("and was silent for %v", p.Silence)
	}
	if p.Max > 0 {
		next = p.Max - waited
	}
	if p.Silence > 0 && (next == 0 || p.Silence-silent < next) {
		next = p.Silence - silent
	}
	return next, ""
}

func (c *Client) timeout(q question, over string) error {
	err := protocol.Errorf(protocol.CodeACPTimeout, "agent %s did not answer %s %s", c.name, q.method, over).
		With("method", q.method).With("waitedMs", time.Since(q.asked).Milliseconds())
	if n := c.peer.Stats().Lost() - q.lost; n > 0 {
		// FR-06: the answer may have been in a line that could not be read.
		err = err.With("unreadableLines", n)
	}
	return withStderr(err, c.StderrTail())
}

// outcome turns the end of a call into what Request returns.
func (c *Client) outcome(method string, r jsonrpc.Response) (jsonrpc.Response, error) {
	switch {
	case r.Err != nil:
		return r, c.broken(method, r.Err)
	case r.Error != nil:
		return r, r.Error
	}
	return r, nil
}

// broken explains why there is no answer.
func (c *Client) broken(method string, err error) error {
	var damaged *jsonrpc.DamagedError
	switch {
	case errors.As(err, &damaged) && damaged.Kind == jsonrpc.TooLong:
		return protocol.Errorf(protocol.CodeResourceLimit, "answer of agent %s to %s is too large: %w; limits.acp.maxReadLineBytes raises the limit", c.name, method, err)
	case errors.As(err, &damaged):
		return protocol.Errorf(protocol.CodeACPProtocolError, "answer of agent %s to %s cannot be read: %w", c.name, method, err)
	case errors.Is(err, jsonrpc.ErrBackpressure):
		return protocol.Errorf(protocol.CodeACPTimeout, "agent %s does not read what it is sent: %w", c.name, err)
	}
	if err := c.collapse(); err != nil {
		return err
	}
	<-c.exited // bounded by drainLimit
	return c.ExitError("answering " + method)
}
