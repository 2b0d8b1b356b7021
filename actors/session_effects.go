package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/feed"
	"agentos/actors/kernel"
	"agentos/actors/route"
	"agentos/sessions"
)

// carry does one thing that the machine wants done.
func (a *sessionActor) carry(c actor.Context, e sessions.Effect) {
	switch e := e.(type) {
	case sessions.Publish:
		a.feed.Event(e.Event)
	case sessions.PublishDelta:
		a.feed.Delta(e.Delta)
	case sessions.PublishState:
		a.feed.State(feed.State{State: e.State, Prompt: e.Prompt, Sequence: e.Sequence})
	case sessions.FindKey:
		a.findKey(c, e)
	case sessions.FindPermission:
		a.findPermission(c, e)
	case sessions.Reply:
		a.reply(e)
	case sessions.StartRoute:
		a.next = &e // flush starts it
	case sessions.StopRoute:
		a.tell(c, e.Route, route.Stop{})
	case sessions.Dispatch:
		if a.machine.Dispatch(e.Prompt) {
			a.tell(c, e.Route, route.Dispatch{Dispatch: e})
		}
	case sessions.SetConfig:
		a.tell(c, e.Route, route.Configure{SetConfig: e})
	case sessions.SendCancel:
		a.tell(c, e.Route, route.Cancel{SendCancel: e})
	case sessions.AnswerCall:
		a.tell(c, e.Route, route.Answer{AnswerCall: e})
	case sessions.Deleted:
		a.handOver(c)
	case sessions.Hold:
		a.held[e.For] = true
		a.env.host.Hold(a.vm, e.For)
	case sessions.Release:
		a.release(e.For)
	case sessions.Note:
		a.log().Info(e.Text)
	default:
		panic(fmt.Sprintf("session: unknown effect %T", e))
	}
}

// release ends a hold, once. The holds of turns that a refused commit took along
// have no Release of their own.
func (a *sessionActor) release(id string) {
	if a.held[id] {
		delete(a.held, id)
		a.env.host.Release(a.vm, id)
	}
}

func (a *sessionActor) releaseAll() {
	for id := range a.held {
		a.release(id)
	}
}

// tell sends to a route if it is still there; one that is gone has said so, or
// is about to.
func (a *sessionActor) tell(c actor.Context, n sessions.Route, m any) {
	if pid := a.routes[n]; pid != nil {
		c.Send(pid, m)
		return
	}
	if _, stop := m.(route.Stop); stop && a.next != nil && a.next.Route == n {
		a.next = nil
		c.Send(c.Self(), route.Down{Route: n, Cause: kernel.Stopping()})
	}
}

// forget drops a route that has ended, by its actor.
func (a *sessionActor) forget(pid *actor.PID) (n sessions.Route, found bool) {
	for n, p := range a.routes {
		if p.Equal(pid) {
			delete(a.routes, n)
			return n, true
		}
	}
	return 0, false
}

// startRoute brings an adapter up once the one before is gone: two processes on
// one adapter session would spoil each other's files.
func (a *sessionActor) startRoute(c actor.Context) {
	if a.next == nil || len(a.routes) > 0 {
		return
	}
	e := *a.next
	a.next = nil
	r := route.New(&a.env.Env, a.env.routes, a.vm, e.Route, e.Record)
	a.routes[e.Route] = c.Spawn(a.env.Props(func() actor.Actor { return r }, kernel.StopFailed))
}

func (a *sessionActor) stopRoutes(c actor.Context) {
	a.next = nil
	for n := range a.routes {
		a.tell(c, n, route.Stop{})
	}
}

// keep remembers, over a reload, the route that the old machine had up.
func (a *sessionActor) keep(c actor.Context, old *sessions.Session) {
	if old == nil {
		return
	}
	route, binding, live := old.Live()
	if !live {
		a.stopRoutes(c) // one that is coming up was for a turn that is gone
		return
	}
	a.kept = &keptRoute{route, binding}
}

// adopt gives the new machine the route that the old one had up. A session that
// does not exist, because its opening was refused, has no use for one.
func (a *sessionActor) adopt(c actor.Context) {
	switch {
	case !a.machine.Exists():
		a.stopRoutes(c)
	case a.kept != nil && a.routes[a.kept.route] != nil:
		a.machine.Adopt(a.kept.route, a.kept.binding)
	}
	a.kept = nil
}

// keptRoute is a route that outlives its machine.
type keptRoute struct {
	route   sessions.Route
	binding sessions.Binding
}
