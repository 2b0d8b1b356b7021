package store

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

// Sweep asks the store to remove what is left of a deleted session, in slices,
// each when nothing else waits to be stored (S9.3). ReplyTo gets Swept.
type Sweep struct {
	Session protocol.SessionID
	ReplyTo *actor.PID
}

// Swept says that nothing is left of a deleted session, or why the sweep was given
// up until the VM is opened again.
type Swept struct {
	Session protocol.SessionID
	Err     *protocol.Error
}

// sweepShare is how much of the time slices may take: after each one the disk is
// left to others for sweepShare times as long as it took.
const sweepShare = 4

// retryPause is how long a sweep waits after a slice that could not be planned or
// stored.
const retryPause = time.Second

// sweepTries is how often in a row a slice may fail before the sweep is given up.
const sweepTries = 5

// The steps of one slice.
type (
	nextSlice struct{}
	planned   struct {
		wave []persistence.Stmt
		err  error
	}
	sliced struct {
		err, fatal error
		took       time.Duration
	}
)

// sweeper is the store's work on deleted sessions, one slice at a time: planned on
// the reading goroutine, stored by the writer.
type sweeper struct {
	jobs    []Sweep
	busy    bool               // a slice is being planned, or its pause has not ended
	plan    []persistence.Stmt // waits for the writer; nil if none
	writing bool               // the writer has it: no group may be handed over
	failed  int                // times in a row
	timer   *time.Timer
}

func (s *Actor) sweep(c actor.Context, m Sweep) {
	s.sweeper.jobs = append(s.sweeper.jobs, m)
	if !s.sweeper.busy {
		s.planSlice(c)
	}
}

// planSlice finds out what the next slice is, or that the job is done.
func (s *Actor) planSlice(c actor.Context) {
	if s.sweeper.busy = len(s.sweeper.jobs) > 0; !s.sweeper.busy {
		return
	}
	id, self, root := s.sweeper.jobs[0].Session, c.Self(), c.ActorSystem().Root
	s.reader.Submit(func() {
		var m planned
		s.safely("plan sweep", func() {
			m.wave, m.err = core.Sweep(context.Background(), s.handle, id)
		}, func(err *protocol.Error) { m.err = err })
		root.Send(self, m)
	})
}

func (s *Actor) plannedSlice(c actor.Context, m planned) {
	switch {
	case m.err != nil:
		s.sliceFailed(c, m.err)
	case m.wave == nil:
		s.sweepDone(c, nil)
	default:
		s.sweeper.plan = m.wave
		s.slice(c)
	}
}

// slice hands the planned slice to the writer if nothing else waits for it.
func (s *Actor) slice(c actor.Context) {
	if s.sweeper.plan == nil || s.inflight != nil || s.waiting > 0 {
		return // written asks again
	}
	wave := s.sweeper.plan
	s.sweeper.plan, s.sweeper.writing = nil, true
	self, root := c.Self(), c.ActorSystem().Root
	s.writer.Submit(func() {
		m := sliced{}
		began := time.Now()
		s.safely("sweep", func() {
			g := &group{h: s.handle}
			m.err = g.commit([][]persistence.Stmt{wave})
			m.fatal = g.fatal
		}, func(err *protocol.Error) { m.err, m.fatal = err, err })
		m.took = time.Since(began)
		root.Send(self, m)
	})
}

func (s *Actor) slicedOne(c actor.Context, m sliced) {
	s.sweeper.writing = false
	switch {
	case m.fatal != nil:
		s.fatal(c, m.fatal)
		return
	case m.err != nil:
		s.sliceFailed(c, m.err)
	default:
		s.sweeper.failed = 0
		s.after(c, m.took*sweepShare)
	}
	s.kick(c)
}

// after plans the next slice when others have had their time.
func (s *Actor) after(c actor.Context, pause time.Duration) {
	self, root := c.Self(), c.ActorSystem().Root
	s.sweeper.timer = time.AfterFunc(pause, func() { root.Send(self, nextSlice{}) })
}

func (s *Actor) sliceFailed(c actor.Context, err error) {
	s.sweeper.failed++
	if s.sweeper.failed < sweepTries {
		s.env.Log.Warn("sweep of a deleted session", zap.Error(err))
		s.after(c, retryPause)
		return
	}
	s.sweepDone(c, s.env.Fault("sweep a deleted session", err))
}

func (s *Actor) sweepDone(c actor.Context, err *protocol.Error) {
	job := s.sweeper.jobs[0]
	s.sweeper.jobs, s.sweeper.failed = s.sweeper.jobs[1:], 0
	c.Send(job.ReplyTo, Swept{job.Session, err})
	s.planSlice(c)
}

// stopSweeping leaves what is not swept to the next opening.
func (s *Actor) stopSweeping() {
	s.sweeper.jobs, s.sweeper.plan = nil, nil
	if s.sweeper.timer != nil {
		s.sweeper.timer.Stop()
	}
}
