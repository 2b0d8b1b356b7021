package store

import (
	"context"
	"fmt"
	"runtime/debug"
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
