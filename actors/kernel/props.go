package kernel

import (
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/protocol"
)

// Props is the only place where actors get their properties:
// the guard, the mailbox and a supervisor that is watched. test/arch forbids
// every other way.
func (e *Env) Props(producer actor.Producer, children actor.SupervisorStrategy) *actor.Props {
	return actor.PropsFromProducer(producer,
		actor.WithReceiverMiddleware(guard(e)),
		actor.WithMailbox(mailboxes()),
		actor.WithDispatcher(dispatcher{}),
		actor.WithSupervisor(children),
	)
}

// RootProps is Props for an actor without a parent.
func (e *Env) RootProps(producer actor.Producer, children actor.SupervisorStrategy) *actor.Props {
	return e.Props(producer, children).Configure(actor.WithGuardian(roots))
}

// guard recovers panics. It answers the request that panicked, logs the panic
// with a stack and without the message, and hands it on to supervision; a panic
// in a lifecycle message ends here, because the framework would resurrect the
// actor or wedge its parent.
func guard(e *Env) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, m *actor.MessageEnvelope) {
			defer func() {
				r := recover()
				if r == nil {
					return
				}
				if _, meant := r.(Meant); meant {
					panic(r)
				}
				id := protocol.ErrorID(e.IDs())
				e.Log.Error("actor panic",
					zap.String("errorId", string(id)),
					zap.String("actor", c.Self().GetId()),
					zap.String("message", fmt.Sprintf("%T", m.Message)),
					zap.String("panic", PanicText(r)),
					zap.ByteString("stack", debug.Stack()))
				switch m.Message.(type) {
				case *actor.Stopping, *actor.Stopped, *actor.Restarting:
					return
				}
				if req, ok := m.Message.(Request); ok {
					req.Refuse(protocol.AsError(fmt.Errorf("panic in %s", c.Self().GetId()), id))
				}
				panic(r)
			}()
			next(c, m)
		}
	}
}

// PanicText names a panic without the values that may be in it.
func PanicText(r any) string {
	switch r := r.(type) {
	case string:
		return r
	case *protocol.Error:
		return string(r.Code)
	case error:
		return r.Error()
	}
	return fmt.Sprintf("%T", r)
}

// mailbox sits between the framework's queue and the actor. From Stop on the
// actor sees no more messages: while it waits for its children to end, one of
// them could make it panic, and the framework restarts a stopping actor that
// panics, for which its parent then waits for ever. Requests that are refused
// here, or are still queued, are answered instead of lost.
type mailbox struct {
	actor.Mailbox
	invoker  actor.MessageInvoker
	stopping bool // the mailbox runs one message at a time
}

func mailboxes() actor.MailboxProducer {
	base := actor.Unbounded()
	return func() actor.Mailbox { return &mailbox{Mailbox: base()} }
}

// RegisterHandlers implements actor.Mailbox.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, d actor.Dispatcher) {
	m.invoker = invoker
	m.Mailbox.RegisterHandlers(m, d)
}

// InvokeUserMessage implements actor.MessageInvoker.
func (m *mailbox) InvokeUserMessage(msg any) {
	if !m.stopping {
		m.invoker.InvokeUserMessage(msg)
		return
	}
	_, inner, _ := actor.UnwrapEnvelope(msg)
	Refuse(inner)
}

// InvokeSystemMessage implements actor.MessageInvoker.
func (m *mailbox) InvokeSystemMessage(msg any) {
	switch msg.(type) {
	case *actor.Restart:
		if m.stopping {
			return // delayed by a backoff; obeyed, it would bring the actor back for good
		}
	case *actor.Stop:
		m.stopping = true
		// An actor that is stopped for failing is suspended, and what is queued
		// behind the failure would wait for ever.
		m.Mailbox.PostSystemMessage(&actor.ResumeMailbox{})
	}
	m.invoker.InvokeSystemMessage(msg)
}

// EscalateFailure implements actor.MessageInvoker.
func (m *mailbox) EscalateFailure(reason, msg any) { m.invoker.EscalateFailure(reason, msg) }

// Refuse answers a message that nobody will handle.
func Refuse(msg any) {
	if req, ok := msg.(Request); ok {
		req.Refuse(Stopping())
	}
}
