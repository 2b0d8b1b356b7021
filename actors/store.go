package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

// Bounds of the store.
const (
	storeName    = "store"
	groupBatches = 512
	groupBytes   = 8 << 20
	storeIdle    = 30 * time.Second
	closeGrace   = 30 * time.Second
)

// commit asks the store to make batch durable and then to deliver then, unread,
// to replyTo. Commits of one session are numbered from 1 within an epoch.
type commit struct {
	epoch   uint64
	number  uint64
	batch   protocol.Batch
	replyTo *actor.PID
}

// stored reports the fate of a commit; err is nil iff it is durable.
type stored struct {
	epoch  uint64
	number uint64
	err    *protocol.Error
}

// load asks for what the machine of a session is rebuilt from.
type load struct {
	session protocol.SessionID
	epoch   uint64
	replyTo *actor.PID
}

type loaded struct {
	epoch    uint64
	snapshot protocol.Snapshot
	found    bool
	err      *protocol.Error
}

// read runs a read on the store's reading goroutine.
type read struct {
	run  func(persistence.Querier)
	fail func(*protocol.Error)
}

func (r read) refuse(err *protocol.Error) { r.fail(err) }

// drain is answered when nothing is waiting to be stored.
type drain struct{ promise[done] }

// opened is the store's first word to its VM.
type opened struct {
	store    *actor.PID
	accepted []protocol.SessionID // sessions with a prompt that a lost runtime left running
	err      *protocol.Error
}

type (
	storeReady struct {
		accepted []protocol.SessionID
		err      error
	}
	written struct {
		fates []fate
		fatal error
	}
	storeTick struct{ gen int }
)

// lane is what the store knows of one session's numbered commits.
type lane struct {
	epoch  uint64
	next   uint64
	broken bool // a commit of this epoch was refused: so is everything behind it
}

// storeActor owns the VM's one handle. It never touches the disk itself: a
// writer and a reader goroutine do, and tell it when they are done.
type storeActor struct {
	env        *env
	descriptor protocol.Descriptor

	handle   *handle // nil until opened; set by the writer, read after its message or its end
	fenced   *protocol.Error
	writer   *worker
	reader   *worker
	lanes    map[protocol.SessionID]*lane
	queue    []commit
	inflight []commit // the group being written; nil if none
	drains   []drain
	idle     *time.Timer
	gen      int
}

// Receive implements actor.Actor.
func (s *storeActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.start(c)
	case storeReady:
		s.ready(c, m)
	case commit:
		s.commit(c, m)
	case written:
		s.written(c, m)
	case load:
		s.load(c, m)
	case read:
		if !s.reader.submit(func() { m.run(s.handle) }) {
			m.refuse(stopping())
		}
	case drain:
		s.drains = append(s.drains, m)
		s.kick(c)
	case storeTick:
		s.tick(m)
	case *actor.Stopping, *actor.Restarting:
		s.stop(c)
	}
}

func (s *storeActor) start(c actor.Context) {
	s.lanes = map[protocol.SessionID]*lane{}
	s.writer, s.reader = startWorker(), startWorker()
	self, root := c.Self(), c.ActorSystem().Root
	s.writer.submit(func() {
		h, err := openHandle(s.env, s.descriptor)
		s.handle = h // read by others only after storeReady, or after the writer's end
		m := storeReady{err: err}
		if err == nil {
			m.accepted, m.err = core.AcceptedSessions(context.Background(), h)
		}
		root.Send(self, m)
	})
}

func (s *storeActor) ready(c actor.Context, m storeReady) {
	o := opened{store: c.Self(), accepted: m.accepted}
	if m.err != nil {
		o.err = s.env.fault("open VM database", m.err)
	}
	c.Send(c.Parent(), o)
}

// commit queues a batch if it continues its session's lane.
func (s *storeActor) commit(c actor.Context, m commit) {
	l := s.lanes[m.batch.Session]
	if l == nil || m.epoch > l.epoch {
		l = &lane{epoch: m.epoch, next: 1}
		s.lanes[m.batch.Session] = l
	}
	if s.fenced != nil {
		c.Send(m.replyTo, stored{m.epoch, m.number, s.fenced})
		return
	}
	if m.epoch < l.epoch || l.broken || m.number != l.next {
		if m.epoch == l.epoch {
			l.broken = true
		}
		c.Send(m.replyTo, stored{m.epoch, m.number, errGap(m.batch.Session)})
		return
	}
	l.next++
	s.queue = append(s.queue, m)
	s.kick(c)
}

// kick hands everything that waits to the writer, unless it is busy: while one
// transaction is under way the next group collects itself (rule 3).
func (s *storeActor) kick(c actor.Context) {
	if s.inflight != nil {
		return
	}
	if len(s.queue) == 0 {
		for _, d := range s.drains {
			d.resolve(done{})
		}
		s.drains = nil
		return
	}
	n := 0
	for size := 0; n < len(s.queue) && n < groupBatches && (n == 0 || size < groupBytes); n++ {
		size += s.queue[n].batch.Bytes()
	}
	s.inflight = append([]commit(nil), s.queue[:n]...)
	s.queue = append(s.queue[:0], s.queue[n:]...)
	batches := make([]protocol.Batch, n)
	for i, m := range s.inflight {
		batches[i] = m.batch
	}
	self, root := c.Self(), c.ActorSystem().Root
	s.writer.submit(func() { root.Send(self, s.writeGroup(batches)) })
}

// writeGroup runs on the writer goroutine.
func (s *storeActor) writeGroup(batches []protocol.Batch) (m written) {
	defer func() {
		if r := recover(); r != nil {
			m = written{fatal: fmt.Errorf("panic in the writer: %s", panicText(r))}
		}
	}()
	m.fates, m.fatal = s.handle.write(batches)
	return m
}

// written delivers the fate of every batch of the group, refuses what is queued
// behind a refused one, and goes on.
func (s *storeActor) written(c actor.Context, m written) {
	group := s.inflight
	s.inflight = nil
	for i, item := range group {
		err := unknownOutcome
		if m.fates != nil {
			err = m.fates[i].err
		}
		if l := s.lanes[item.batch.Session]; err != nil && l != nil && l.epoch == item.epoch {
			l.broken = true
		}
		c.Send(item.replyTo, stored{item.epoch, item.number, err})
	}
	s.refuseBroken(c)
	if protocol.CodeOf(m.fatal) == protocol.CodeVMFenced {
		s.fence(c, protocol.AsError(m.fatal, ""))
		return
	}
	if m.fatal != nil {
		s.env.log.Error("database lost", zap.Error(m.fatal))
		panic(lost{m.fatal}) // the VM restarts with everything in it
	}
	s.kick(c)
	s.rest(c)
}

// lost is the panic of a store whose database is of no use any more: meant, and
// logged by the store itself.
type lost struct{ cause error }

// fence ends this process's use of the VM: somebody else owns it now, and taking
// it back would be theft.
func (s *storeActor) fence(c actor.Context, err *protocol.Error) {
	s.fenced = err
	for _, m := range s.queue {
		c.Send(m.replyTo, stored{m.epoch, m.number, err})
	}
	s.queue = nil
	c.Send(c.Parent(), opened{store: c.Self(), err: err})
	s.kick(c) // answers drains
}

var unknownOutcome = protocol.Errorf(protocol.CodeStorageOutcomeUnknown,
	"it is not known whether the write was stored; read the history before trying again")

func (s *storeActor) refuseBroken(c actor.Context) {
	keep := s.queue[:0]
	for _, m := range s.queue {
		if l := s.lanes[m.batch.Session]; l.broken && l.epoch == m.epoch {
			c.Send(m.replyTo, stored{m.epoch, m.number, errGap(m.batch.Session)})
			continue
		}
		keep = append(keep, m)
	}
	clear(s.queue[len(keep):])
	s.queue = keep
}

func (s *storeActor) load(c actor.Context, m load) {
	root := c.ActorSystem().Root
	s.reader.submit(func() {
		out := loaded{epoch: m.epoch}
		snap, found, err := core.Load(context.Background(), s.handle, m.session)
		out.snapshot, out.found = snap, found
		if err != nil {
			out.err = s.env.fault("load session", err)
		}
		root.Send(m.replyTo, out)
	})
}

// rest arms the timer that gives memory back when nothing happens for a while.
func (s *storeActor) rest(c actor.Context) {
	s.gen++
	gen, self, root := s.gen, c.Self(), c.ActorSystem().Root
	if s.idle != nil {
		s.idle.Stop()
	}
	s.idle = time.AfterFunc(storeIdle, func() { root.Send(self, storeTick{gen}) })
}

func (s *storeActor) tick(m storeTick) {
	if m.gen != s.gen || s.inflight != nil || s.handle == nil {
		return
	}
	s.writer.submit(func() {
		s.handle.mu.Lock()
		defer s.handle.mu.Unlock()
		if s.handle.db == nil {
			return
		}
		if err := s.handle.db.Idle(); err != nil {
			s.env.log.Warn("idle database", zap.Error(err))
		}
	})
}

// stop waits for both goroutines, then closes the handle and gives the lock
// back. It blocks this actor, and that is the point: whoever opens the VM next
// must not meet the old handle.
func (s *storeActor) stop(actor.Context) {
	if s.idle != nil {
		s.idle.Stop()
	}
	for _, d := range s.drains {
		d.refuse(stopping())
	}
	deadline := time.After(closeGrace)
	for _, w := range []*worker{s.writer, s.reader} {
		if w == nil {
			continue
		}
		select {
		case <-w.stop():
		case <-deadline:
			s.env.log.Error("database goroutine did not end", zap.Duration("after", closeGrace))
			return
		}
	}
	if s.handle != nil {
		if err := s.handle.close(); err != nil {
			s.env.log.Error("close VM database", zap.Error(err))
		}
	}
}
