package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/persistence/core"
	"agentos/protocol"
)

// Bounds of the store.
const (
	groupBatches = 512
	groupBytes   = 8 << 20
	idleAfter    = 30 * time.Second
	closeGrace   = 30 * time.Second
)

type (
	ready struct {
		left leftovers
		err  error
	}
	written struct {
		fates []fate // of the group; nil: nobody knows
		fatal error
		told  bool // all of it is durable, and the writer says so to whoever sent it
	}
	tick struct{ gen int }
)

// lane is what the store knows of one session's numbered commits.
type lane struct {
	epoch  uint64
	next   uint64
	broken bool // a commit of this epoch was refused: so is everything behind it

	waiting []*Commit // oldest first; the lane is in turn if there are any
}

// New returns the store of the database that d describes. sources finds it and
// takes its lock. Its parent gets one Opened.
func New(e *kernel.Env, d protocol.Descriptor, sources Sources) *Actor {
	return &Actor{env: e, descriptor: d, sources: sources}
}

// Actor owns the VM's one handle. It never touches the disk itself: a
// writer and a reader goroutine do, and tell it when they are done.
type Actor struct {
	env        *kernel.Env
	descriptor protocol.Descriptor
	sources    Sources

	handle   *handle // nil until opened; set by the writer, read after its message or its end
	fenced   *protocol.Error
	writer   *kernel.Worker
	reader   *kernel.Worker
	lanes    map[protocol.SessionID]*lane
	turn     []*lane      // those with commits that wait; the first is next
	waiting  int          // commits, of all lanes
	arrived  atomic.Int64 // how many commits ever came; the writer looks at it
	inflight []*Commit    // the group being written; nil if none
	sweeper  sweeper
	drains   []Drain
	loads    []Load // of sessions that have commits under way
	idle     *time.Timer
	gen      int
}

// Receive implements actor.Actor.
func (s *Actor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.start(c)
	case ready:
		s.ready(c, m)
	case Commit:
		s.commit(c, &m)
	case written:
		s.written(c, m)
	case Load:
		s.load(c, m)
	case Read:
		if !s.reader.Submit(func() { s.safely("read", func() { m.Run(s.handle) }, m.Refuse) }) {
			m.Refuse(kernel.Stopping())
		}
	case Sweep:
		s.sweep(c, m)
	case nextSlice:
		s.planSlice(c)
	case planned:
		s.plannedSlice(c, m)
	case sliced:
		s.slicedOne(c, m)
	case Drain:
		s.stopSweeping()
		s.drains = append(s.drains, m)
		s.kick(c)
	case tick:
		s.tick(m)
	case *actor.Stopping, *actor.Restarting:
		s.stop(c)
	}
}

func (s *Actor) start(c actor.Context) {
	s.lanes = map[protocol.SessionID]*lane{}
	s.writer, s.reader = kernel.StartWorker(), kernel.StartWorker()
	self, root := c.Self(), c.ActorSystem().Root
	s.writer.Submit(func() {
		h, left, err := openHandle(s.env, s.descriptor, s.sources)
		s.handle = h // read by others only after ready, or after the writer's end
		root.Send(self, ready{left, err})
	})
}

func (s *Actor) ready(c actor.Context, m ready) {
	o := Opened{Store: c.Self(), Accepted: m.left.accepted, Deleting: m.left.deleting}
	if m.err != nil {
		o.Err = s.env.Fault("open VM database", m.err)
	}
	c.Send(c.Parent(), o)
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

// writeGroup runs on the writer goroutine.
func (s *Actor) writeGroup(group []*Commit) (m written) {
	defer func() {
		if r := recover(); r != nil {
			m = written{fatal: panicError(r)}
		}
	}()
	m.fates, m.fatal = s.handle.write(group)
	return m
}

// written learns the fate of every batch of the group. Those that the writer has
// not told hear it from here, and before the next group is on its way: the writer
// may be done with that one before this actor gets to say more.
func (s *Actor) written(c actor.Context, m written) {
	group := s.inflight
	s.inflight = nil
	if !m.told {
		s.tellAll(c, group, m)
	}
	if m.fatal != nil {
		s.fatal(c, m.fatal)
	} else if s.kick(c); s.inflight == nil {
		s.slice(c)
		s.rest(c)
	}
	loads := s.loads
	s.loads = nil
	for _, m := range loads {
		s.load(c, m)
	}
}

// fatal gives the database up: to whoever has taken it over, or to a restart of
// the VM with everything in it.
func (s *Actor) fatal(c actor.Context, err error) {
	if protocol.CodeOf(err) == protocol.CodeVMFenced {
		s.fence(c, protocol.AsError(err, ""))
		return
	}
	s.env.Log.Error("database lost", zap.Error(err))
	panic(kernel.Meant{Cause: err})
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

// fence ends this process's use of the VM: somebody else owns it now, and taking
// it back would be theft.
func (s *Actor) fence(c actor.Context, err *protocol.Error) {
	s.fenced = err
	for _, l := range s.turn {
		for _, m := range l.waiting {
			c.Send(m.ReplyTo, Stored{m.Epoch, m.Number, err})
		}
		l.waiting = nil
	}
	s.turn, s.waiting = nil, 0
	c.Send(c.Parent(), Opened{Store: c.Self(), Err: err})
	s.kick(c) // answers drains
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

// load reads what a machine is rebuilt from, after what its session has under
// way: a machine that was lost with its actor cannot say what that was.
func (s *Actor) load(c actor.Context, m Load) {
	if s.writing(m.Session) {
		s.loads = append(s.loads, m)
		return
	}
	root := c.ActorSystem().Root
	s.reader.Submit(func() {
		out := Loaded{Epoch: m.Epoch, Fence: s.handle.epoch}
		s.safely("load session", func() {
			snap, found, err := core.Load(context.Background(), s.handle, m.Session)
			out.Snapshot, out.Found = snap, found
			if err == nil && !found {
				out.Deleting, err = core.Deleting(context.Background(), s.handle, m.Session)
			}
			if err != nil {
				out.Err = s.env.Fault("load session", err)
			}
		}, func(err *protocol.Error) { out.Err = err })
		root.Send(m.ReplyTo, out)
	})
}

// safely runs f on a goroutine of the store's. A panic there would end the
// process: it is somebody's read that has failed, and no more.
func (s *Actor) safely(what string, f func(), failed func(*protocol.Error)) {
	defer func() {
		if r := recover(); r != nil {
			failed(s.env.Fault(what, panicError(r)))
		}
	}()
	f()
}

func panicError(r any) error {
	return fmt.Errorf("panic: %s at %s", kernel.PanicText(r), debug.Stack())
}

// rest arms the timer that gives memory back when nothing happens for a while.
func (s *Actor) rest(c actor.Context) {
	s.gen++
	gen, self, root := s.gen, c.Self(), c.ActorSystem().Root
	if s.idle != nil {
		s.idle.Stop()
	}
	s.idle = time.AfterFunc(idleAfter, func() { root.Send(self, tick{gen}) })
}

func (s *Actor) tick(m tick) {
	if m.gen != s.gen || s.inflight != nil || s.handle == nil {
		return
	}
	s.writer.Submit(func() {
		s.handle.mu.Lock()
		defer s.handle.mu.Unlock()
		if s.handle.db == nil {
			return
		}
		if err := s.handle.db.Idle(); err != nil {
			s.env.Log.Warn("idle database", zap.Error(err))
		}
	})
}

// stop waits for both goroutines, then closes the handle and gives the lock
// back. It blocks this actor, and that is the point: whoever opens the VM next
// must not meet the old handle.
func (s *Actor) stop(actor.Context) {
	if s.idle != nil {
		s.idle.Stop()
	}
	s.stopSweeping()
	for _, d := range s.drains {
		d.Refuse(kernel.Stopping())
	}
	ended := make(chan struct{})
	go func() { // ends when the disk does; waited for below, for as long as that makes sense
		defer close(ended)
		s.closeHandle()
	}()
	select {
	case <-ended:
	case <-time.After(closeGrace):
		s.env.Log.Error("database did not end; its lock is given back when it does", zap.Duration("after", closeGrace))
	}
}

// closeHandle waits for both goroutines, then closes the database and gives the
// lock back.
func (s *Actor) closeHandle() {
	for _, w := range []*kernel.Worker{s.writer, s.reader} {
		if w != nil {
			<-w.Stop()
		}
	}
	if s.handle == nil {
		return
	}
	if err := s.handle.close(); err != nil {
		s.env.Log.Error("close VM database", zap.Error(err))
	}
}
