package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/feed"
	"agentos/actors/kernel"
	"agentos/actors/store"
	"agentos/protocol"
)

// vmActor is the root of one VM. It starts its children and forwards requests;
// it has next to no logic, because a restart of it takes everything along.
type vmActor struct {
	env        *env
	name       string
	descriptor protocol.Descriptor

	phase    vmPhase
	err      *protocol.Error // why phase is vmBroken
	store    *actor.PID
	sessions map[protocol.SessionID]*member
	settling map[protocol.SessionID]bool        // not yet brought to rest after opening
	sweeping map[protocol.SessionID][]toSession // deleted sessions, with who waits to open them anew
	early    []kernel.Request                   // came while opening, oldest first
}

type vmPhase int

const (
	vmOpening vmPhase = iota
	vmReady
	vmBroken  // the database could not be opened; the next request tries again
	vmClosing // no new requests
)

// member is one live session.
type member struct {
	pid  *actor.PID
	feed *feed.Feed
	sent int // requests forwarded to it
}

// The requests of a VM.
type (
	// toSession forwards a request to a session, which is started if need be.
	toSession struct {
		session protocol.SessionID
		request kernel.Request
	}
	// whenReady is answered once the VM is open and everything that a lost
	// runtime left running has been settled.
	whenReady struct{ kernel.Promise[kernel.Done] }
	// beginClose stops new requests and tells who has to be ended, in order.
	beginClose struct{ kernel.Promise[closing] }
)

// Refuse implements kernel.Request.
func (t toSession) Refuse(err *protocol.Error) { t.request.Refuse(err) }

type closing struct {
	sessions []*actor.PID
	store    *actor.PID
}

// storeName is the store's name below its VM.
const storeName = "store"

// How often an actor may be restarted before it is given up.
var (
	vmSupervision     = &kernel.Backoff{Max: 5, Window: time.Minute}
	memberSupervision = &kernel.Backoff{Max: 5, Window: time.Minute, Escalate: storeName}
)

// Receive implements actor.Actor.
func (v *vmActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		v.sessions = map[protocol.SessionID]*member{}
		v.sweeping = map[protocol.SessionID][]toSession{}
		v.open(c)
	case store.Opened:
		v.opened(c, m)
	case settled:
		v.settled(c, m.session)
	case gone:
		v.gone(c, m.session)
	case store.Swept:
		v.swept(c, m)
	case vacant:
		v.vacated(c, m)
	case beginClose:
		v.close(m)
	case *actor.Terminated:
		v.terminated(c, m.Who)
	case *actor.Stopping, *actor.Restarting:
		v.refuseEarly(kernel.Stopping())
	case kernel.Request:
		v.handle(c, m)
	}
}

func (v *vmActor) open(c actor.Context) {
	v.phase, v.err = vmOpening, nil
	v.settling = map[protocol.SessionID]bool{}
	s := store.New(&v.env.Env, v.descriptor, v.env.sources)
	pid, err := c.SpawnNamed(v.env.Props(func() actor.Actor { return s }, kernel.StopFailed), storeName)
	if err != nil {
		panic(err) // the name belongs to this VM alone
	}
	v.store = pid
}

func (v *vmActor) opened(c actor.Context, m store.Opened) {
	if v.phase == vmClosing || v.store == nil || m.Store != v.store {
		return // of a store before this one, or too late
	}
	if m.Err != nil {
		if v.phase == vmOpening {
			c.Poison(m.Store)
		} // else it has lost the VM to another process, and tells its sessions so
		v.phase, v.err = vmBroken, m.Err
		v.refuseEarly(m.Err)
		return
	}
	for _, id := range m.Deleting {
		v.beginSweep(c, id)
	}
	for _, id := range m.Accepted {
		v.settling[id] = true
		v.member(c, id)
	}
	v.ready(c)
}

func (v *vmActor) settled(c actor.Context, id protocol.SessionID) {
	if v.settling[id] {
		delete(v.settling, id)
		v.ready(c)
	}
}

// vacated ends the actor of a session that does not exist, unless a request is on
// its way to it.
func (v *vmActor) vacated(c actor.Context, m vacant) {
	if s := v.sessions[m.session]; s != nil && s.sent == m.received && v.phase == vmReady {
		delete(v.sessions, m.session)
		c.Poison(s.pid)
	}
}

// ready opens the doors when nothing is left to settle.
func (v *vmActor) ready(c actor.Context) {
	if v.phase != vmOpening || len(v.settling) > 0 {
		return
	}
	v.phase = vmReady
	for len(v.early) > 0 {
		m := v.early[0]
		v.early = v.early[1:]
		kernel.Answering(&v.env.Env, m, func() { v.handle(c, m) })
	}
}

// handle forwards a request, or keeps it until the VM is open.
func (v *vmActor) handle(c actor.Context, m kernel.Request) {
	switch v.phase {
	case vmBroken:
		if v.err.Code == protocol.CodeVMFenced {
			m.Refuse(v.err) // the VM is not ours any more
			return
		}
		v.early = append(v.early, m)
		if v.store == nil {
			v.open(c)
		} // else when the failed store has gone
	case vmOpening:
		v.early = append(v.early, m)
	case vmClosing:
		m.Refuse(kernel.Stopping())
	case vmReady:
		v.forward(c, m)
	}
}

func (v *vmActor) forward(c actor.Context, m kernel.Request) {
	switch m := m.(type) {
	case toSession:
		if _, sweeping := v.sweeping[m.session]; sweeping {
			v.deleted(m)
			return
		}
		s := v.member(c, m.session)
		s.sent++
		c.Send(s.pid, m.request)
	case store.Read:
		c.Send(v.store, m)
	case whenReady:
		m.Resolve(kernel.Done{})
	default:
		panic(fmt.Sprintf("vm: unknown request %T", m))
	}
}

// member returns a live session, starting its actor if need be.
func (v *vmActor) member(c actor.Context, id protocol.SessionID) *member {
	if m := v.sessions[id]; m != nil {
		return m
	}
	m := &member{feed: feed.New(id)}
	store := v.store
	m.pid = c.Spawn(v.env.Props(func() actor.Actor {
		return &sessionActor{env: v.env, vm: v.name, id: id, store: store, feed: m.feed}
	}, kernel.StopFailed))
	v.sessions[id] = m
	return m
}

// terminated forgets a child. A session that failed too often is gone with its
// feed; the next request starts it anew.
func (v *vmActor) terminated(c actor.Context, pid *actor.PID) {
	if v.store != nil && v.store.Equal(pid) {
		v.store = nil
		if v.phase == vmBroken && len(v.early) > 0 {
			v.open(c)
		}
		return
	}
	for id, m := range v.sessions {
		if m.pid.Equal(pid) {
			delete(v.sessions, id)
			if v.settling[id] {
				v.env.Log.Error("session could not be settled", zap.String("vm", v.name), zap.String("session", string(id)))
				delete(v.settling, id)
				v.ready(c)
			}
		}
	}
}

func (v *vmActor) close(m beginClose) {
	v.phase = vmClosing
	v.refuseEarly(kernel.Stopping())
	out := closing{store: v.store}
	for _, s := range v.sessions {
		out.sessions = append(out.sessions, s.pid)
	}
	m.Resolve(out)
}

func (v *vmActor) refuseEarly(err *protocol.Error) {
	for id, waiting := range v.sweeping {
		for _, m := range waiting {
			m.Refuse(err)
		}
		v.sweeping[id] = nil
	}
	for _, m := range v.early {
		m.Refuse(err)
	}
	v.early = nil
}
