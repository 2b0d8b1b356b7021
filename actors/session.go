package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/feed"
	"agentos/actors/kernel"
	"agentos/actors/route"
	"agentos/actors/store"
	"agentos/protocol"
	"agentos/sessions"
)

// sessionActor drives one sessions.Session. It keeps the order of effects,
// numbers the commits, and rebuilds the machine from SQLite when a commit was
// refused.
type sessionActor struct {
	env   *env
	vm    string
	id    protocol.SessionID
	store *actor.PID
	feed  *feed.Feed // outlives this incarnation

	machine  *sessions.Session // nil while loading and while at rest
	resting  bool              // not loaded: the next request loads
	gone     bool              // handed over: requests that still come belong to the VM
	deleting bool              // the machine has taken a Delete: requests wait for its end
	received int               // requests, ever
	watched  bool              // by somebody, once
	early    []any             // what came while loading, oldest first
	epoch    uint64            // this life of the machine
	number   uint64            // of the last commit in this epoch
	out      outbound

	waiters map[sessions.Token]func(sessions.Reply)
	tokens  sessions.Token
	orphans []func(sessions.Reply) // waiters of a refused epoch
	cause   *protocol.Error        // what a prompt that is left running has failed of; nil: the runtime ended
	healing uint64                 // number of the commit that settles; 0 if none

	routes map[sessions.Route]*actor.PID
	kept   *keptRoute           // over a reload
	next   *sessions.StartRoute // waits for the route before it to be gone
	held   map[string]bool      // what keeps the VM awake

	timer *time.Timer
	gen   int
}

// sessionTick carries a generation, so that a timer that was replaced hits
// nothing.
type sessionTick struct{ gen int }

// routeGone follows everything that a route has sent before it ended.
type routeGone struct{ pid *actor.PID }

// Receive implements actor.Actor.
func (a *sessionActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.waiters = map[sessions.Token]func(sessions.Reply){}
		a.routes = map[sessions.Route]*actor.PID{}
		a.held = map[string]bool{}
		a.reload(c)
	case store.Loaded:
		a.loaded(c, m)
	case store.Stored:
		a.stored(c, m)
	case *actor.Terminated:
		// A system message overtakes what the route said last; this one does not.
		c.Send(c.Self(), routeGone{m.Who})
	case *actor.Stopping:
		a.leave()
		a.feed.Close()
	case *actor.Restarting:
		a.leave()
	case *actor.Stopped, *actor.ReceiveTimeout:
	default:
		a.handle(c, m)
	}
}

// handle takes what belongs to the machine, now or when it is loaded.
func (a *sessionActor) handle(c actor.Context, m any) {
	if _, asked := m.(kernel.Request); asked {
		a.received++
	}
	if r, asked := m.(kernel.Request); asked && a.gone {
		c.Send(c.Parent(), toSession{a.id, r}) // it was sent before the VM knew
		return
	}
	if _, asked := m.(kernel.Request); asked && a.deleting || a.machine == nil || a.healing != 0 {
		a.early = append(a.early, m)
		if _, asked := m.(kernel.Request); asked && a.resting {
			a.reload(c)
		}
		return
	}
	g := a.step(m)
	a.flush(c, g)
	a.vacate(c)
}

// vacate offers to go if the session does not exist and nothing is going on: a
// question about it must not cost an actor for good.
func (a *sessionActor) vacate(c actor.Context) {
	busy := a.machine.Exists() || a.watched || !a.out.empty() || len(a.early) > 0 || len(a.waiters) > 0 || len(a.routes) > 0
	if !busy {
		c.Send(c.Parent(), vacant{a.id, a.received})
	}
}

// step feeds one message to the machine and returns the credit it came with.
func (a *sessionActor) step(m any) (g route.Grant) {
	now := a.env.Now()
	switch m := m.(type) {
	case openRequest:
		m.open.At, m.open.Token = now, a.wait(settle(m.Promise))
		a.input(m.open, m.open.Token)
	case promptRequest:
		a.prompt(m, now)
	case permitRequest:
		m.permit.At, m.permit.Token = now, a.wait(func(r sessions.Reply) {
			if r.Err != nil {
				m.Refuse(r.Err)
				return
			}
			m.Resolve(*r.Permission)
		})
		a.input(m.permit, m.permit.Token)
	case configureRequest:
		m.configure.At, m.configure.ID, m.configure.Token = now, a.env.IDs(), a.wait(func(r sessions.Reply) {
			if r.Err != nil {
				m.Refuse(r.Err)
				return
			}
			m.Resolve(*r.Config)
		})
		a.input(m.configure, m.configure.Token)
	case cancelRequest:
		m.cancel.At, m.cancel.Token = now, a.wait(settle(m.Promise))
		a.input(m.cancel, m.cancel.Token)
	case queueRequest:
		token := a.wait(settle(m.Promise))
		a.input(m.input(token, now), token)
	case deleteRequest:
		token := a.wait(settle(m.Promise))
		a.deleting = a.machine.Exists()
		a.input(sessions.Delete{Token: token, At: now}, token)
	case unloadRequest:
		token := a.wait(settle(m.Promise))
		a.input(sessions.Unload{Token: token, At: now}, token)
	case watchRequest:
		a.watched = true
		m.Resolve(a.feed)
	case keyFound:
		if m.epoch == a.epoch {
			m.found.At = now
			a.input(m.found, 0)
		}
	case permissionFound:
		if m.epoch == a.epoch {
			a.reply(m.reply)
		}
	case sessionTick:
		if m.gen == a.gen {
			a.input(sessions.Tick{At: now}, 0)
		}
	default:
		g = a.routeMessage(m, now)
	}
	return g
}

func (a *sessionActor) routeMessage(m any, now protocol.TimeMS) (g route.Grant) {
	switch m := m.(type) {
	case route.Up:
		a.input(sessions.RouteUp{Route: m.Route, Binding: m.Binding, At: now}, 0)
	case route.Down:
		delete(a.routes, m.Route)
		a.input(sessions.RouteDown{Route: m.Route, Cause: m.Cause, At: now}, 0)
	case route.Update:
		m.Input.At = now
		a.input(m.Input, 0)
		g = m.Grant
	case route.Ask:
		m.Input.At, m.Input.Request = now, protocol.RequestID(a.env.IDs())
		a.input(m.Input, 0)
		g = m.Grant
	case route.Answered:
		m.Input.At = now
		a.input(m.Input, 0)
	case route.Configured:
		m.Input.At = now
		a.input(m.Input, 0)
	case routeGone:
		if n, found := a.forget(m.pid); found { // it ended without a word
			cause := protocol.Errorf(protocol.CodeAdapterExited, "the connection to the agent failed; the log says why")
			a.input(sessions.RouteDown{Route: n, Cause: cause, At: now}, 0)
		}
	default:
		panic(fmt.Sprintf("session: unknown message %T", m))
	}
	return g
}

// prompt asks for a turn, with ids of our own making.
func (a *sessionActor) prompt(m promptRequest, now protocol.TimeMS) {
	m.prompt.At = now
	if m.prompt.Open != nil {
		m.prompt.Open.At = now
	}
	if m.prompt.ID == "" {
		m.prompt.ID = protocol.PromptID(a.env.IDs())
	}
	m.prompt.Message = protocol.MessageID(a.env.IDs())
	m.prompt.Token = a.wait(func(r sessions.Reply) {
		if r.Err != nil {
			m.Refuse(r.Err)
			return
		}
		m.Resolve(promptReply{r.Answer, r.Queued})
	})
	a.input(m.prompt, m.prompt.Token)
}

// input steps the machine; a mistake of the caller's is answered at once.
func (a *sessionActor) input(in sessions.Input, token sessions.Token) {
	if err := a.machine.Step(in); err != nil {
		a.reply(sessions.Reply{Token: token, Err: err})
	}
}

func (a *sessionActor) wait(answer func(sessions.Reply)) sessions.Token {
	a.tokens++
	a.waiters[a.tokens] = answer
	return a.tokens
}

func (a *sessionActor) reply(r sessions.Reply) {
	if answer := a.waiters[r.Token]; answer != nil {
		delete(a.waiters, r.Token)
		answer(r)
	}
}

// settle returns what answers a promise that carries no value.
func settle(p kernel.Promise[kernel.Done]) func(sessions.Reply) {
	return func(r sessions.Reply) {
		if r.Err != nil {
			p.Refuse(r.Err)
			return
		}
		p.Resolve(kernel.Done{})
	}
}

// leave answers everybody before this incarnation goes. A caller whose commit
// is under way cannot be told that nothing happened.
func (a *sessionActor) leave() {
	if a.timer != nil {
		a.timer.Stop()
	}
	err := kernel.Stopping()
	switch {
	case !a.out.empty():
		err = store.Unknown
	case a.machine != nil && a.machine.Snapshot().Active != nil:
		err = uncertain // an agent has the prompt
	}
	a.refuseWaiters(err)
	if a.cause != nil {
		err = a.cause // what their epoch was refused for
	}
	a.refuseOrphans(err)
	a.out.reset()
	a.releaseAll()
	for _, m := range a.early {
		kernel.Refuse(m)
	}
	a.early = nil
}

func (a *sessionActor) refuseWaiters(err *protocol.Error) {
	for token := range a.waiters {
		a.reply(sessions.Reply{Token: token, Err: err})
	}
}

func (a *sessionActor) refuseOrphans(err *protocol.Error) {
	for _, answer := range a.orphans {
		answer(sessions.Reply{Err: err})
	}
	a.orphans = nil
}

func (a *sessionActor) log() *zap.Logger {
	return a.env.Log.With(zap.String("vm", a.vm), zap.String("session", string(a.id)))
}
