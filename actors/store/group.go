package store

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/kernel"
	"agentos/protocol"
)

// lane is what the store knows of one session's numbered commits.
type lane struct {
	epoch  uint64
	next   uint64
	broken bool // a commit of this epoch was refused: so is everything behind it

	waiting []*Commit // oldest first; the lane is in turn if there are any
}

// commit queues a batch if it continues its session's lane.
func (s *Actor) commit(c actor.Context, m *Commit) {
	l := s.lanes[m.Batch.Session]
	if l == nil {
		l = &lane{}
		s.lanes[m.Batch.Session] = l
	}
	if m.Epoch > l.epoch {
		l.epoch, l.next, l.broken = m.Epoch, 1, false
	}
	if s.fenced != nil {
		c.Send(m.ReplyTo, Stored{m.Epoch, m.Number, s.fenced})
		return
	}
	if m.Epoch < l.epoch || l.broken || m.Number != l.next {
		if m.Epoch == l.epoch {
			l.broken = true
		}
		c.Send(m.ReplyTo, Stored{m.Epoch, m.Number, errGap(m.Batch.Session)})
		return
	}
	l.next++
	if l.waiting = append(l.waiting, m); len(l.waiting) == 1 {
		s.turn = append(s.turn, l)
	}
	s.waiting++
	s.arrived.Add(1)
	s.kick(c)
}

// kick hands everything that waits to the writer, unless it is busy: while one
// transaction is under way the next group collects itself (rule 3).
func (s *Actor) kick(c actor.Context) {
	if s.inflight != nil || s.sweeper.writing {
		return
	}
	if s.waiting == 0 {
		for _, d := range s.drains {
			d.Resolve(kernel.Done{})
		}
		s.drains = nil
		return
	}
	group := s.take()
	s.inflight = group
	self, root := c.Self(), c.ActorSystem().Root
	seen := s.arrived.Load() - int64(s.waiting) // all that came up to this group
	s.writer.Submit(func() { s.run(root, self, group, seen) })
}

// take forms the next group. Sessions have their turns: one that has a thousand
// commits waiting holds up no other for longer than a group (CC-05).
func (s *Actor) take() []*Commit {
	group := make([]*Commit, 0, min(s.waiting, groupBatches))
	for size := 0; s.waiting > 0 && len(group) < groupBatches && (len(group) == 0 || size < groupBytes); s.waiting-- {
		l := s.turn[0]
		s.turn[0], s.turn = nil, s.turn[1:]
		m := l.waiting[0]
		l.waiting[0], l.waiting = nil, l.waiting[1:]
		if len(l.waiting) > 0 {
			s.turn = append(s.turn, l)
		}
		group, size = append(group, m), size+m.Batch.Bytes()
	}
	return group
}

// writing reports whether commits of a session wait or are being written.
func (s *Actor) writing(id protocol.SessionID) bool {
	l := s.lanes[id]
	return l != nil && len(l.waiting) > 0 ||
		slices.ContainsFunc(s.inflight, func(m *Commit) bool { return m.Batch.Session == id })
}

// takeBroken takes the commits that stand behind a refused one out of their lanes.
func (s *Actor) takeBroken() (behind []*Commit) {
	s.turn = slices.DeleteFunc(s.turn, func(l *lane) bool {
		if !l.broken {
			return false
		}
		kept := l.waiting[:0:0]
		for _, m := range l.waiting {
			if m.Epoch == l.epoch {
				behind = append(behind, m)
			} else {
				kept = append(kept, m)
			}
		}
		s.waiting -= len(l.waiting) - len(kept)
		l.waiting = kept
		return len(kept) == 0
	})
	return behind
}

// tellAll tells a group with a refused commit in it what became of each, and
// refuses what stands behind those that were.
func (s *Actor) tellAll(c actor.Context, group []*Commit, m written) {
	fates := make([]Stored, 0, len(group))
	for i, item := range group {
		err := Unknown
		if m.fates != nil {
			err = m.fates[i].err
		}
		if l := s.lanes[item.Batch.Session]; err != nil && l != nil && l.epoch == item.Epoch {
			l.broken = true
		}
		fates = append(fates, Stored{item.Epoch, item.Number, err})
	}
	behind := s.takeBroken()
	for i, item := range group {
		c.Send(item.ReplyTo, fates[i])
	}
	for _, item := range behind {
		c.Send(item.ReplyTo, Stored{item.Epoch, item.Number, errGap(item.Batch.Session)})
	}
}
