package actors

import (
	"context"
	"errors"

	"agentos/protocol"
)

// request is a message that somebody waits for. If the tree cannot deliver or
// finish it, the guard, the mailbox or the node refuses it, so that no caller
// waits for a deadline to learn that nobody is there.
type request interface{ refuse(*protocol.Error) }

// promise is the one-shot answer of a request. The first of resolve and refuse
// wins; both may be called from anywhere and never block.
type promise[T any] struct{ ch chan outcome[T] }

type outcome[T any] struct {
	value T
	err   *protocol.Error
}

func newPromise[T any]() promise[T] { return promise[T]{ch: make(chan outcome[T], 1)} }

func (p promise[T]) resolve(v T) { p.settle(outcome[T]{value: v}) }

func (p promise[T]) refuse(err *protocol.Error) { p.settle(outcome[T]{err: err}) }

func (p promise[T]) settle(o outcome[T]) {
	select {
	case p.ch <- o:
	default: // answered before
	}
}

// wait returns the answer, or ctx's end. What was asked goes on regardless.
func (p promise[T]) wait(ctx context.Context) (T, error) {
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

// done is the value of a promise that carries none.
type done struct{}

func stopping() *protocol.Error {
	return protocol.Errorf(protocol.CodeShuttingDown, "the runtime is stopping; try again when it is back")
}

// answering runs f for a message that is not the one being received, and
// answers it if f panics: the guard knows of the received one only.
func answering(e *env, m any, f func()) {
	defer func() {
		if r := recover(); r != nil {
			if req, ok := m.(request); ok {
				req.refuse(e.fault("handle request", errPanic))
			}
			panic(r)
		}
	}()
	f()
}

var errPanic = errors.New("panic while handling it")
