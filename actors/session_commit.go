package actors

import (
	"strconv"
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

// flush carries out what the machine wants done: at once what may be lost, and
// behind its commit what may not.
func (a *sessionActor) flush(c actor.Context, g route.Grant) {
	rd := a.machine.Ready()
	var deltas []protocol.Delta
	for _, e := range rd.Now {
		if d, ok := e.(sessions.PublishDelta); ok {
			deltas = append(deltas, d.Delta)
			continue
		}
		a.carry(c, e)
	}
	switch {
	case rd.Batch != nil:
		a.commit(c, *rd.Batch, rd.AfterCommit, g)
		g = route.Grant{}
	case !a.out.empty():
		a.out.follow(rd.AfterCommit...)
	default:
		for _, e := range rd.AfterCommit {
			a.carry(c, e)
		}
	}
	for _, d := range deltas {
		if a.out.empty() {
			a.feed.Delta(d)
		} else {
			a.out.delta(d)
		}
	}
	g.Release()
	a.startRoute(c)
	a.arm(c, rd.Timer)
}

func (a *sessionActor) commit(c actor.Context, b protocol.Batch, then []sessions.Effect, g route.Grant) {
	a.number++
	a.out.push(a.number, then, g)
	c.Send(a.store, store.Commit{Epoch: a.epoch, Number: a.number, Batch: b, ReplyTo: c.Self()})
}

// stored delivers what waited for a commit, or starts over from what SQLite has.
func (a *sessionActor) stored(c actor.Context, m store.Stored) {
	if m.Epoch != a.epoch {
		return // of a life before this one
	}
	if m.Err != nil {
		a.refused(c, m.Err)
		return
	}
	s := a.out.pop(m.Number)
	for _, e := range s.effects {
		a.carry(c, e)
	}
	s.grant.Release()
	if a.healing == m.Number {
		a.healed(c)
	}
}

// refused starts over: memory is ahead of disk. Everything under way belongs to
// the refused epoch and is dropped; the route lives on until it is known whether
// it still has something to work on.
func (a *sessionActor) refused(c actor.Context, err *protocol.Error) {
	a.log().Warn("commit refused", zap.String("code", string(err.Code)), zap.Error(err.Cause))
	for token, answer := range a.waiters {
		a.orphans = append(a.orphans, answer)
		delete(a.waiters, token)
	}
	a.out.reset()
	if a.healing != 0 { // even the settling was refused: the next use tries again (S6.10)
		a.rest(c, err)
		return
	}
	a.cause = err
	a.reload(c)
}

// rest leaves the session unloaded until somebody asks for it.
func (a *sessionActor) rest(c actor.Context, err *protocol.Error) {
	a.stopRoutes(c)
	a.machine, a.resting, a.healing, a.kept = nil, true, 0, nil
	a.epoch = a.env.NextEpoch()
	a.refuseOrphans(err)
	a.releaseAll()
	for _, m := range a.early {
		switch m := m.(type) {
		case kernel.Request:
			m.Refuse(err)
		case route.Down:
			delete(a.routes, m.Route)
		case routeGone:
			a.forget(m.pid)
		}
	}
	a.early = nil
	c.Send(c.Parent(), settled{a.id})
}

// reload asks for the rows; what comes meanwhile waits.
func (a *sessionActor) reload(c actor.Context) {
	old := a.machine
	a.machine, a.resting, a.number, a.deleting = nil, false, 0, false
	a.epoch = a.env.NextEpoch()
	a.keep(c, old)
	c.Send(a.store, store.Load{Session: a.id, Epoch: a.epoch, ReplyTo: c.Self()})
}

// showState tells whoever watches what is stored: the incarnation or epoch before
// may have stored more than it has shown.
func (a *sessionActor) showState() {
	rec := a.machine.Snapshot().Record
	a.feed.State(feed.State{State: rec.State, Prompt: rec.Prompt, Sequence: rec.Latest})
}

// routesOf returns the number below the first route of an epoch: a late message
// of another epoch's route, one from before a panic even, meets none of this.
func routesOf(epoch uint64) sessions.Route { return sessions.Route(epoch) << 20 }

// loaded builds the machine anew and settles what was left running.
func (a *sessionActor) loaded(c actor.Context, m store.Loaded) {
	if m.Epoch != a.epoch {
		return
	}
	if m.Err != nil {
		a.rest(c, m.Err)
		return
	}
	if m.Deleting {
		a.handOver(c)
		return
	}
	cfg := a.env.sessionConfig(strconv.FormatInt(m.Fence, 36)+"."+strconv.FormatUint(a.epoch, 36), routesOf(a.epoch))
	a.machine = sessions.New(a.id, cfg)
	if m.Found {
		a.machine = sessions.Replay(m.Snapshot, cfg)
	}
	if a.machine.NeedsSettling() {
		a.settle(c)
		return
	}
	a.adopt(c)
	if m.Found {
		a.showState()
	}
	a.healed(c)
	a.flush(c, route.Grant{}) // what an adopted route is may not have been stored
	a.vacate(c)
}

// handOver leaves a deleted session to its VM, with the requests that came behind
// the deletion.
func (a *sessionActor) handOver(c actor.Context) {
	a.gone = true
	c.Send(c.Parent(), gone{a.id})
	for _, m := range a.early {
		if r, asked := m.(kernel.Request); asked {
			c.Send(c.Parent(), toSession{a.id, r})
		}
	}
	a.early = nil
}

// uncertain is the error of a prompt whose turn was lost with its runtime.
var uncertain = protocol.Errorf(protocol.CodePromptDeliveryUncertain,
	"the runtime ended in the turn, so it is not known how far the agent came; read the history and prompt again if needed")

// settle ends what a lost runtime, or a refused commit, has left running.
func (a *sessionActor) settle(c actor.Context) {
	a.stopRoutes(c)
	a.kept = nil
	in := sessions.Settle{Cause: a.cause, Reason: protocol.ReasonVMShutdown, At: a.env.Now()}
	if in.Cause == nil {
		in.Cause = uncertain
	}
	a.input(in, 0)
	a.flush(c, route.Grant{})
	a.healing = a.number
}

// healed goes on with what waited for the machine.
func (a *sessionActor) healed(c actor.Context) {
	a.healing = 0
	if a.cause != nil {
		a.refuseOrphans(a.cause)
		a.releaseAll() // their turns are over
		a.cause = nil
	}
	c.Send(c.Parent(), settled{a.id})
	for len(a.early) > 0 && a.machine != nil {
		m := a.early[0]
		a.early = a.early[1:]
		kernel.Answering(&a.env.Env, m, func() { a.flush(c, a.step(m)) })
	}
}

// arm replaces the machine's one timer.
func (a *sessionActor) arm(c actor.Context, at protocol.TimeMS) {
	a.gen++
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if at == 0 {
		return
	}
	gen, self, root := a.gen, c.Self(), c.ActorSystem().Root
	wait := max(0, at.Time().Sub(a.env.Now().Time()))
	a.timer = time.AfterFunc(wait, func() { root.Send(self, sessionTick{gen}) })
}
