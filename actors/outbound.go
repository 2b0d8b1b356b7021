package actors

import (
	"agentos/actors/route"
	"agentos/protocol"
	"agentos/sessions"
)

// waitingDeltaBytes bounds the deltas that wait behind commits; beyond it they
// are dropped and counted (S5.3): what they say is in the run's event.
const waitingDeltaBytes = 1 << 20

// outbound is a session's one order of effects: what depends on a commit waits
// for it, and what came later waits behind it.
type outbound struct {
	slots   []slot
	bytes   int   // of deltas waiting
	dropped int64 // deltas
}

// slot is one commit under way and what follows from it.
type slot struct {
	number  uint64
	effects []sessions.Effect
	grant   route.Grant // adapter output that is acknowledged by this commit
}

func (o *outbound) empty() bool { return len(o.slots) == 0 }

// push opens the slot of a commit.
func (o *outbound) push(number uint64, effects []sessions.Effect, g route.Grant) {
	o.slots = append(o.slots, slot{number: number, effects: effects, grant: g})
}

// follow puts effects behind everything under way. The caller has seen that
// something is.
func (o *outbound) follow(effects ...sessions.Effect) {
	last := &o.slots[len(o.slots)-1]
	last.effects = append(last.effects, effects...)
}

// delta puts a delta behind everything under way, or drops it.
func (o *outbound) delta(d protocol.Delta) {
	if o.bytes+len(d.Payload) > waitingDeltaBytes {
		o.dropped++
		return
	}
	o.bytes += len(d.Payload)
	o.follow(sessions.PublishDelta{Delta: d})
}

// pop closes the oldest slot, whose number must be that of the commit that has
// been stored, and returns what may be delivered now.
func (o *outbound) pop(number uint64) slot {
	s := o.slots[0]
	if s.number != number {
		panic("actors: commits of one session answered out of order")
	}
	o.slots[0] = slot{}
	o.slots = o.slots[1:]
	for _, e := range s.effects {
		if d, ok := e.(sessions.PublishDelta); ok {
			o.bytes -= len(d.Delta.Payload)
		}
	}
	return s
}

// reset drops everything: none of it is durable.
func (o *outbound) reset() {
	for _, s := range o.slots {
		s.grant.Release()
	}
	o.slots, o.bytes = nil, 0
}
