package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/kernel"
	"agentos/actors/store"
	"agentos/protocol"
)

// gone ends the actor of a deleted session and begins to sweep what it has left.
func (v *vmActor) gone(c actor.Context, id protocol.SessionID) {
	if m := v.sessions[id]; m != nil {
		delete(v.sessions, id)
		c.Poison(m.pid)
	}
	if v.phase == vmReady || v.phase == vmOpening {
		v.beginSweep(c, id)
	} // else the next opening does
}

func (v *vmActor) beginSweep(c actor.Context, id protocol.SessionID) {
	if _, sweeping := v.sweeping[id]; sweeping {
		return
	}
	v.sweeping[id] = nil
	c.Send(v.store, store.Sweep{Session: id, ReplyTo: c.Self()})
}

// deleted answers a request for a session that is being swept: to open it anew
// waits, everything else finds nothing (S9.3).
func (v *vmActor) deleted(m toSession) {
	switch r := m.request.(type) {
	case deleteRequest: // there is nothing left to do, as for the next two
		r.Resolve(kernel.Done{})
		return
	case unloadRequest:
		r.Resolve(kernel.Done{})
		return
	case cancelRequest:
		r.Resolve(kernel.Done{})
		return
	case openRequest, watchRequest: // a watcher may be somebody who opens it next
		v.sweeping[m.session] = append(v.sweeping[m.session], m)
		return
	case promptRequest:
		if r.prompt.Open != nil {
			v.sweeping[m.session] = append(v.sweeping[m.session], m)
			return
		}
	}
	m.Refuse(protocol.Errorf(protocol.CodeSessionNotFound, "session %q was deleted", m.session))
}

// swept lets those in who wait to open the session anew.
func (v *vmActor) swept(c actor.Context, m store.Swept) {
	waiting, sweeping := v.sweeping[m.Session]
	if !sweeping {
		return
	}
	delete(v.sweeping, m.Session)
	for _, r := range waiting {
		if m.Err != nil {
			r.Refuse(m.Err)
			continue
		}
		v.handle(c, r)
	}
}
