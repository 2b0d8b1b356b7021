package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

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
	grant   grant
}

// The reports of a route's goroutine.
type (
	routeLaunched struct{ adapter Adapter }
	routeStage    struct{ stage stage }
	routeBound    struct {
		binding sessions.Binding
		canEnd  bool // session/close is advertised
	}
	routeEnded     struct{ cause *protocol.Error }
	promptAnswered struct {
		prompt protocol.PromptID
		answer jsonrpc.Response
	}
)

// routeActor is one adapter connection of one session. A goroutine of its own
// brings the adapter up, watches it and takes it down; the actor handles what
// it says, in wire order. It is never restarted: the session hears of its end.
type routeActor struct {
	env    *env
	vm     string
	number sessions.Route
	record protocol.Record

	credit  *credit
	stop    context.CancelFunc
	gone    chan struct{} // closed when the goroutine has ended
	adapter Adapter       // nil until launched
	stage   stage
	held    []jsonrpc.Message
	bytes   int // of held
	session protocol.ACPSessionID
	strange int // messages that belonged to no session of ours
}

// Receive implements actor.Actor.
func (r *routeActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.start(c)
	case wire:
		r.wire(c, m)
	case routeLaunched:
		r.adapter = m.adapter
	case routeStage:
		r.stage = m.stage
	case routeBound:
		r.bound(c, m)
	case routeEnded:
		r.stage = ended
		c.Send(c.Parent(), routeDown{r.number, m.cause})
		c.Stop(c.Self())
	case promptAnswered:
		r.answered(c, m)
	case dispatch:
		r.dispatch(c, m)
	case sendCancel:
		r.send(r.adapter.Peer().Notify(acp.MethodCancel, acp.SessionParams(string(m.ACP))))
	case answerCall:
		r.send(r.adapter.Peer().Reply(jsonrpc.ID(m.Call), m.Result))
	case stopRoute:
		r.stop()
	case *actor.Stopping:
		r.leave()
	}
}

func (r *routeActor) start(c actor.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	r.credit, r.stop, r.gone = newCredit(), cancel, make(chan struct{})
	self, root := c.Self(), c.ActorSystem().Root
	l := &lifeline{
		env: r.env, record: r.record, credit: r.credit, log: r.log(),
		tell:     func(m any) { root.Send(self, m) },
		activity: make(chan struct{}, 1),
	}
	go func() { // ended by stop, awaited by leave
		defer close(r.gone)
		l.run(ctx)
	}()
}

// leave ends the goroutine and with it the adapter. It waits: when a route is
// gone, so is its process.
func (r *routeActor) leave() {
	r.stop()
	r.credit.close()
	select {
	case <-r.gone:
	case <-time.After(teardownLimit):
		r.log().Error("adapter did not end in time", zap.Duration("after", teardownLimit))
	}
}

// bound opens the route: what was held belongs to the session now.
func (r *routeActor) bound(c actor.Context, m routeBound) {
	r.session, r.stage = m.binding.ACPSession, live
	held := r.held
	r.held, r.bytes = nil, 0
	for _, msg := range held {
		r.take(c, msg, grant{})
	}
	c.Send(c.Parent(), routeUp{r.number, m.binding})
}

// wire takes one message of the adapter.
func (r *routeActor) wire(c actor.Context, m wire) {
	switch r.stage {
	case holding:
		m.grant.release() // session/new cannot be answered behind a full pipe
		if r.adapter != nil && m.message.Kind == jsonrpc.Request {
			r.take(c, m.message, grant{})
			return
		}
		if r.bytes += len(m.message.Raw); r.bytes > heldBytes {
			r.strange++
			return
		}
		r.held = append(r.held, m.message)
	case discarding:
		m.grant.release()
		if m.message.Kind == jsonrpc.Request {
			r.take(c, m.message, grant{})
		}
	case live:
		r.take(c, m.message, m.grant)
	default:
		m.grant.release()
	}
}

// take handles one message. Requests that nobody offered to serve are refused,
// and the adapter goes on.
func (r *routeActor) take(c actor.Context, m jsonrpc.Message, g grant) {
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
		r.log().Debug("notification ignored", zap.String("method", m.Method))
	}
	g.release()
}

func (r *routeActor) update(c actor.Context, m jsonrpc.Message, g grant) {
	session, raw, err := acp.ParseSessionUpdate(m.Params)
	var view acp.Update
	if err == nil {
		view, err = acp.ParseUpdate(raw)
	}
	if err != nil || session != string(r.session) {
		r.strange++
		r.log().Debug("update of no session of ours", zap.Int("count", r.strange), zap.Error(err))
		g.release()
		return
	}
	c.Send(c.Parent(), routeUpdate{input: sessions.Update{Route: r.number, Update: view}, grant: g})
}

func (r *routeActor) ask(c actor.Context, m jsonrpc.Message, g grant) {
	view, err := acp.ParsePermission(m.Params)
	if err != nil || r.stage != live || view.SessionID != string(r.session) {
		r.send(r.adapter.Peer().Reply(m.ID, []byte(acp.CancelledOutcome)))
		g.release()
		return
	}
	c.Send(c.Parent(), routeAsk{
		input: sessions.Ask{Route: r.number, Call: sessions.Call(m.ID), Params: m.Params},
		grant: g,
	})
}

// dispatch sends a prompt, once. Its answer comes through the mailbox, behind
// the updates before it.
func (r *routeActor) dispatch(c actor.Context, m dispatch) {
	self, root, prompt := c.Self(), c.ActorSystem().Root, m.Prompt
	params := acp.PromptParams(string(m.ACP), m.Blocks)
	_, err := r.adapter.Peer().Call(acp.MethodPrompt, params, func(answer jsonrpc.Response) {
		root.Send(self, promptAnswered{prompt, answer})
	})
	r.send(err)
}

func (r *routeActor) answered(c actor.Context, m promptAnswered) {
	in := sessions.Answered{Route: r.number, Prompt: m.prompt}
	switch e := m.answer.Err.(type) {
	case nil:
		in.StopReason, in.Err = promptResult(m.answer)
	case *jsonrpc.DamagedError:
		in.Err = protocol.Errorf(protocol.CodeACPProtocolError, "the agent's answer to the prompt could not be read: %w", e)
	default:
		return // the connection has ended: routeEnded says why
	}
	c.Send(c.Parent(), routeAnswered{in})
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

// send stops the route if the adapter cannot be written to; a pipe that has
// ended is on its way to being reported anyway.
func (r *routeActor) send(err error) {
	if err != nil {
		r.log().Warn("write to adapter", zap.Error(err))
		r.stop()
	}
}

func (r *routeActor) log() *zap.Logger {
	return r.env.log.With(zap.String("vm", r.vm), zap.String("session", string(r.record.ID)),
		zap.String("agent", r.record.Spec.Agent), zap.Uint64("route", uint64(r.number)))
}
