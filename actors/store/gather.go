package store

import (
	"runtime"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// patience is how often the writer lets others run before it takes a group that
// is smaller than it could be. It is no time: with nothing to run it is over in a
// few microseconds, a hundredth of what a transaction takes.
const patience = 64

// run writes a group on the writer goroutine and says what became of it. seen is
// how many commits had arrived when the last one of the group did.
//
// If all of it is durable there is nothing to decide, so whoever waits hears it
// from here and not by way of the actor. Any other fate is the actor's to tell:
// it knows what stands behind a refused commit.
func (s *Actor) run(root *actor.RootContext, self *actor.PID, group []*Commit, seen int64) {
	m := s.writeGroup(group)
	m.told = m.durable()
	if !m.told {
		root.Send(self, m)
		return
	}
	arrived := s.arrived.Load()
	if len(group) == 1 && arrived == seen {
		// A lone commit. The actor is woken before the session: who is woken last
		// runs first.
		root.Send(self, m)
		group[0].tell(root)
		return
	}
	for _, item := range group {
		item.tell(root)
	}
	s.gather(min(arrived+int64(len(group)), seen+groupBatches))
	root.Send(self, m)
}

func (m *Commit) tell(root *actor.RootContext) {
	root.Send(m.ReplyTo, Stored{m.Epoch, m.Number, nil})
}

// gather waits, without a timer, for those who have just heard that they are
// durable: what they have next joins what waits already. Otherwise the sessions
// of a busy VM fall into two halves that take turns, and every transaction is half
// as large as it could be.
func (s *Actor) gather(all int64) {
	for range patience {
		if s.arrived.Load() >= all {
			return
		}
		runtime.Gosched()
	}
}

// durable reports whether every batch of the group is.
func (m written) durable() bool {
	return m.fatal == nil && !slices.ContainsFunc(m.fates, func(f fate) bool { return f.err != nil })
}
