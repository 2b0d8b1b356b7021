package kernel

import (
	"context"
	"errors"

	"agentos/protocol"
)

// Request is a message that somebody waits for. If the tree cannot deliver or
// finish it, the guard, the mailbox or the node refuses it, so that no caller
// waits for a deadline to learn that nobody is there.
type Request interface{ Refuse(*protocol.Error) }

// Promise is the one-shot answer of a request. The first of resolve and refuse
// wins; both may be called from anywhere and never block.
type Promise[T any] struct{ ch chan outcome[T] }

type outcome[T any] struct {
	value T
	err   *protocol.Error
}

// NewPromise returns a promise that nobody has kept yet.
func NewPromise[T any]() Promise[T] { return Promise[T]{ch: make(chan outcome[T], 1)} }

// Resolve answers with a value.
func (p Promise[T]) Resolve(v T) { p.settle(outcome[T]{value: v}) }

// Refuse answers with an error. It makes a message with a Promise in it a Request.
func (p Promise[T]) Refuse(err *protocol.Error) { p.settle(outcome[T]{err: err}) }

func (p Promise[T]) settle(o outcome[T]) {
	select {
	case p.ch <- o:
	default: // answered before
	}
}

// Wait returns the answer, or ctx's end. What was asked goes on regardless.
func (p Promise[T]) Wait(ctx context.Context) (T, error) {
	select {
	case o := <-p.ch:
		if o.err != nil {
			return o.value, o.err
		}
		return o.value, nil
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// Done is the value of a promise that carries none.
type Done struct{}

// Stopping is the error of what comes too late.
func Stopping() *protocol.Error {
	return protocol.Errorf(protocol.CodeShuttingDown, "the runtime is stopping; try again when it is back")
}

// Answering runs f for a message that is not the one being received, and
// answers it if f panics: the guard knows of the received one only.
func Answering(e *Env, m any, f func()) {
	defer func() {
		if r := recover(); r != nil {
			if req, ok := m.(Request); ok {
				req.Refuse(e.Fault("handle request", errPanic))
			}
			panic(r)
		}
	}()
	f()
}

var errPanic = errors.New("panic while handling it")
