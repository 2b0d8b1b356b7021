package route

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
)

// stage says what a route makes of the adapter's messages.
type stage int

const (
	holding    stage = iota // not launched, or session/new is under way: keep them, in order
	discarding              // a session is being restored: what it replays is history already (S10.3)
	live                    // they belong to the session
	ended
)

// heldBytes bounds what an adapter may say before its session is known.
const heldBytes = 16 << 20

// wire is one message of the adapter, in wire order.
type wire struct {
	message jsonrpc.Message
	grant   Grant
}

// The reports of a route's goroutine.
type (
	launched       struct{ adapter Adapter }
	setStage       struct{ stage stage }
	bound          struct{ binding sessions.Binding }
	hasEnded       struct{ cause *protocol.Error }
	promptAnswered struct {
		prompt protocol.PromptID
		answer jsonrpc.Response
	}
)

// Actor is one adapter connection of one session. A goroutine of its own
// brings the adapter up, watches it and takes it down; the actor handles what
// it says, in wire order. It is never restarted: the session hears of its end.
type Actor struct {
	env    *kernel.Env
	setup  Setup
	vm     string
	number sessions.Route
	record protocol.Record

	credit  *credit
	deaf    chan struct{} // the adapter cannot be written to; holds one
	stop    context.CancelFunc
	gone    chan struct{} // closed when the goroutine has ended
	adapter Adapter       // nil until launched
	stage   stage
	held    []jsonrpc.Message
	bytes   int // of held
	session protocol.ACPSessionID
	sets    map[uint64]setCall // what was asked for and is not answered
	calls   uint64             // of them, ever
	strange int64              // messages that nothing could be made of
	ignored int64              // notifications of methods that mean nothing to us
}

// New returns the route numbered n of the session that rec describes, in the VM
// called vm. It is spawned by the session.
func New(e *kernel.Env, setup Setup, vm string, n sessions.Route, rec protocol.Record) *Actor {
	return &Actor{env: e, setup: setup, vm: vm, number: n, record: rec, sets: map[uint64]setCall{}}
}

// Receive implements actor.Actor.
func (r *Actor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.start(c)
	case wire:
		r.wire(c, m)
	case launched:
		r.adapter = m.adapter
	case setStage:
		if r.stage = m.stage; r.stage == discarding {
			r.held, r.bytes = nil, 0 // of a process before this one, or of no session
		}
	case bound:
		r.bound(c, m)
	case hasEnded:
		r.diagnoseAll()
		r.stage = ended
		c.Send(c.Parent(), Down{r.number, m.cause})
		c.Stop(c.Self())
	case promptAnswered:
		r.answered(c, m)
	case Dispatch:
		r.dispatch(c, m)
	case Configure:
		r.set(c, m.SetConfig)
	case setAnswered:
		r.setAnswered(c, m)
	case setLate:
		r.setLate(c, m.n)
	case Cancel:
		r.send(r.adapter.Peer().Notify(acp.MethodCancel, acp.SessionParams(string(m.ACP))))
	case Answer:
		r.send(r.adapter.Peer().Reply(jsonrpc.ID(m.Call), m.Result))
	case Stop:
		r.stop()
	case *actor.Stopping:
		r.leave()
	}
}

func (r *Actor) start(c actor.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	r.credit, r.stop, r.gone = newCredit(), cancel, make(chan struct{})
	r.deaf = make(chan struct{}, 1)
	self, root := c.Self(), c.ActorSystem().Root
	l := &lifeline{
		env: r.env, setup: r.setup, vm: r.vm, record: r.record, credit: r.credit, log: r.log(),
		tell:     func(m any) { root.Send(self, m) },
		activity: make(chan struct{}, 1), deaf: r.deaf,
	}
	go func() { // ended by stop, awaited by leave
		defer close(r.gone)
		l.run(ctx)
	}()
}

// leave ends the goroutine and with it the adapter. It waits: when a route is
// gone, so is its process.
func (r *Actor) leave() {
	r.stop()
	for _, call := range r.sets {
		call.timer.Stop()
	}
	r.credit.close()
	select {
	case <-r.gone:
	case <-time.After(teardownLimit):
		r.log().Error("adapter did not end in time", zap.Duration("after", teardownLimit))
	}
}

// bound opens the route: what was held belongs to the session now.
func (r *Actor) bound(c actor.Context, m bound) {
	r.session, r.stage = m.binding.ACPSession, live
	held := r.held
	r.held, r.bytes = nil, 0
	for _, msg := range held {
		r.take(c, msg, Grant{})
	}
	c.Send(c.Parent(), Up{r.number, m.binding})
}

// wire takes one message of the adapter.
func (r *Actor) wire(c actor.Context, m wire) {
	switch r.stage {
	case holding:
		m.grant.Release() // session/new cannot be answered behind a full pipe
		if r.adapter != nil && m.message.Kind == jsonrpc.Request {
			r.take(c, m.message, Grant{})
			return
		}
		if r.bytes += len(m.message.Raw); r.bytes > heldBytes {
			r.diagnose(m.message, "more than can be kept until the session is known")
			return
		}
		r.held = append(r.held, m.message)
	case discarding:
		m.grant.Release()
		if m.message.Kind == jsonrpc.Request {
			r.take(c, m.message, Grant{})
		}
	case live:
		r.take(c, m.message, m.grant)
	default:
		m.grant.Release()
	}
}

// take handles one message. Requests that nobody offered to serve are refused,
// and the adapter goes on.
func (r *Actor) take(c actor.Context, m jsonrpc.Message, g Grant) {
	switch {
	case m.Method == acp.MethodUpdate && m.Kind == jsonrpc.Notification:
		r.update(c, m, g)
		return
	case m.Method == acp.MethodRequestPermission && m.Kind == jsonrpc.Request:
		r.ask(c, m, g)
		return
	case m.Kind == jsonrpc.Request:
		r.send(r.adapter.Peer().ReplyError(m.ID, &jsonrpc.Error{
			Code: acp.CodeMethodNotFound, Message: "the client does not offer " + m.Method,
		}))
	default:
		if r.ignored++; jsonrpc.Reported(r.ignored) {
			r.log().Debug("notification ignored", zap.String("method", m.Method), zap.Int64("count", r.ignored))
		}
	}
	g.Release()
}

func (r *Actor) update(c actor.Context, m jsonrpc.Message, g Grant) {
	session, raw, err := acp.ParseSessionUpdate(m.Params)
	var view acp.Update
	if err == nil {
		view, err = acp.ParseUpdate(raw)
	}
	if err != nil || session != string(r.session) {
		what := "an update of a session that is not this one"
		if err != nil {
			what = "an update that cannot be read"
		}
		r.diagnose(m, what)
		g.Release()
		return
	}
	c.Send(c.Parent(), Update{Input: sessions.Update{Route: r.number, Update: view}, Grant: g})
}

func (r *Actor) ask(c actor.Context, m jsonrpc.Message, g Grant) {
	view, err := acp.ParsePermission(m.Params)
	if err != nil || r.stage != live || view.SessionID != string(r.session) {
		r.send(r.adapter.Peer().Reply(m.ID, []byte(acp.CancelledOutcome)))
		g.Release()
		return
	}
	c.Send(c.Parent(), Ask{
		Input: sessions.Ask{Route: r.number, Call: sessions.Call(m.ID), Params: m.Params},
		Grant: g,
	})
}

// dispatch sends a prompt, once. Its answer comes through the mailbox, behind
// the updates before it.
func (r *Actor) dispatch(c actor.Context, m Dispatch) {
	self, root, prompt := c.Self(), c.ActorSystem().Root, m.Prompt
	params := acp.PromptParams(string(m.ACP), m.Blocks)
	_, err := r.adapter.Peer().Call(acp.MethodPrompt, params, func(answer jsonrpc.Response) {
		root.Send(self, promptAnswered{prompt, answer})
	})
	r.send(err)
}

func (r *Actor) answered(c actor.Context, m promptAnswered) {
	in := sessions.Answered{Route: r.number, Prompt: m.prompt}
	switch e := m.answer.Err.(type) {
	case nil:
		in.StopReason, in.Err = promptResult(m.answer)
	case *jsonrpc.DamagedError:
		in.Err = protocol.Errorf(protocol.CodeACPProtocolError, "the agent's answer to the prompt could not be read: %w", e)
	case *jsonrpc.EndError:
		if e.Unsent {
			r.send(e)
		} // else the agent's output has ended: hasEnded says why
		return
	default:
		r.send(e)
		return
	}
	c.Send(c.Parent(), Answered{in})
}

func promptResult(answer jsonrpc.Response) (stop string, perr *protocol.Error) {
	if answer.Error != nil {
		return "", agentError("session/prompt", answer.Error)
	}
	stop, err := acp.ParsePrompt(answer.Result)
	if err != nil {
		return "", protocol.Errorf(protocol.CodeACPProtocolError, "the agent broke the protocol: %w", err)
	}
	return stop, nil
}

// send ends the route if the adapter cannot be written to, unless the adapter is
// ending by itself: then it is to be told how.
func (r *Actor) send(err error) {
	if err == nil {
		return
	}
	r.log().Debug("write to adapter", zap.Error(err))
	select {
	case r.deaf <- struct{}{}:
	default: // told before
	}
}

func (r *Actor) log() *zap.Logger {
	return r.env.Log.With(zap.String("vm", r.vm), zap.String("session", string(r.record.ID)),
		zap.String("agent", r.record.Spec.Agent), zap.Uint64("route", uint64(r.number)))
}
