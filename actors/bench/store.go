package bench

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/actors/store"
	"agentos/persistence"
	"agentos/protocol"
)

// patience bounds every wait here; it is for a machine that is busy.
const patience = time.Minute

// storeRig is a store actor on a file, without sessions: authors stand for them.
type storeRig struct {
	trial   *trial
	path    string
	env     *kernel.Env
	system  *actor.ActorSystem
	store   *actor.PID
	commits atomic.Int64 // transactions
	slots   []*slot
	idle    chan error // one a slot that has stored what it was told to
}

// slot is one session of a rig: it has one commit under way at a time.
type slot struct {
	rig    *storeRig
	author *author
	pid    *actor.PID
	left   int // commits to come, the one under way included
	sent   time.Time
	took   time.Duration // of the last commit, from sending it to hearing that it is durable
}

// begin tells a slot to store that many events, one after another.
type begin struct{ events int }

// Receive implements actor.Actor.
func (s *slot) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case begin:
		s.left = m.events
		s.next(c)
	case store.Stored:
		s.took = time.Since(s.sent)
		if m.Err != nil {
			s.rig.idle <- m.Err
			return
		}
		if s.left--; s.left > 0 {
			s.next(c)
			return
		}
		s.rig.idle <- nil
	}
}

func (s *slot) next(c actor.Context) {
	batch := s.author.append(payload)
	s.author.number++
	s.sent = time.Now()
	c.Send(s.rig.store, store.Commit{Epoch: 1, Number: s.author.number, Batch: batch, ReplyTo: c.Self()})
}

// function is an actor that is a function.
type function func(actor.Context)

// Receive implements actor.Actor.
func (f function) Receive(c actor.Context) { f(c) }

// startStore makes a database with the sessions of authors and starts a store on
// it, with a slot for each. It is stopped with the trial.
func (t *trial) startStore(list []*author) (*storeRig, error) {
	path, _, err := t.create("ours", list, 0)
	if err != nil {
		return nil, err
	}
	r := &storeRig{trial: t, path: path, idle: make(chan error, len(list))}
	r.env = &kernel.Env{Log: zap.NewNop(), Clock: time.Now, IDs: newID, Limits: protocol.DefaultLimits()}
	r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
	t.atEnd(func() error { r.system.Shutdown(); return nil })
	opened := make(chan store.Opened, 1)
	r.spawn(function(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Spawn(r.env.Props(func() actor.Actor {
				return store.New(r.env, protocol.Descriptor{SQLiteFile: path}, r.source)
			}, kernel.StopFailed))
		case store.Opened:
			opened <- m
		}
	}))
	select {
	case o := <-opened:
		if o.Err != nil {
			return nil, o.Err
		}
		r.store = o.Store
	case <-time.After(patience):
		return nil, errors.New("the store did not open")
	}
	for _, a := range list {
		s := &slot{rig: r, author: a}
		s.pid = r.spawn(s)
		r.slots = append(r.slots, s)
	}
	return r, nil
}

// spawn starts an actor without a parent; it is stopped with the trial.
func (r *storeRig) spawn(a actor.Actor) *actor.PID {
	pid := r.system.Root.Spawn(r.env.RootProps(func() actor.Actor { return a }, kernel.StopFailed))
	r.trial.atEnd(func() error { return r.system.Root.PoisonFuture(pid).Wait() })
	return pid
}

func (r *storeRig) source(d protocol.Descriptor) (persistence.Source, error) {
	src, err := r.trial.config.Sources(d)
	return watched{src, func(persistence.Tx) { r.commits.Add(1) }}, err
}

// run has every slot store that many events and waits for the last.
func (r *storeRig) run(events int) error {
	for _, s := range r.slots {
		r.system.Root.Send(s.pid, begin{events})
	}
	end := time.NewTimer(patience)
	defer end.Stop()
	var errs []error
	for range r.slots {
		select {
		case err := <-r.idle:
			errs = append(errs, err)
		case <-end.C:
			return errors.New("the store did not answer")
		}
	}
	return errors.Join(errs...)
}

var commitMeasure = Measure{Name: "commit", run: commit, Works: []Work{{
	Name: "commit", Unit: "µs", Target: Target{AtMost: 1.25},
	About: "An event of 600 bytes is sent to a store that has nothing else to do, until its session hears that it is on the disk. Against the bare driver writing the same rows by hand, the row of the fence too; p50 by p50.",
}}}

func commit(t *trial) ([]figure, error) {
	ours, other := authors(1), authors(1)
	rig, err := t.startStore(ours)
	if err != nil {
		return nil, err
	}
	bare, err := t.startTwin(other)
	if err != nil {
		return nil, err
	}
	m, err := t.rounds(400,
		func() (time.Duration, error) { err := rig.run(1); return rig.slots[0].took, err },
		func() (time.Duration, error) { return clock(func() error { return bare.appendEach(other) }) },
	)
	if err != nil {
		return nil, err
	}
	mine, least := m[0].median(), m[1].median()
	return []figure{{
		value: micros(mine), ratio: float64(mine) / float64(least),
		against: fmt.Sprintf("bare driver, %s µs", Digits(micros(least))),
	}}, t.same(rig.path, bare.path)
}

func groupMeasure(size int) Measure {
	name := fmt.Sprint("group-", size)
	return Measure{Name: name, run: func(t *trial) ([]figure, error) { return group(t, size) }, Works: []Work{{
		Name: name, Unit: "events/s", Target: Target{AtLeast: 0.8},
		About: fmt.Sprintf("%d sessions, each with one event under way at a time. Against the bare driver with %d events in each transaction.", size, size),
	}}}
}

func group(t *trial, size int) ([]figure, error) {
	ours, other := authors(size), authors(size)
	rig, err := t.startStore(ours)
	if err != nil {
		return nil, err
	}
	bare, err := t.startTwin(other)
	if err != nil {
		return nil, err
	}
	// Events of a session in a round: enough to leave the start behind, which has
	// a group of one, and not more than a tenth of a long history.
	each := max(2, min(64, max(16, 2048/size), t.config.events(1)/10/size))
	m, err := t.rounds(max(2, 4096/(size*each)),
		func() (time.Duration, error) { return clock(func() error { return rig.run(each) }) },
		func() (time.Duration, error) {
			return clock(func() error {
				for range each {
					if err := bare.appendEach(other); err != nil {
						return err
					}
				}
				return nil
			})
		},
	)
	if err != nil {
		return nil, err
	}
	stored := float64(ours[0].number) * float64(size)
	return []figure{{
		value: rate(size*each, m[0].median()), ratio: m[1].over(m[0]),
		against: fmt.Sprintf("bare driver, %s events/s in groups of %d (ours %s)", Digits(rate(size*each, m[1].median())), size, Digits(stored/float64(rig.commits.Load()))),
	}}, t.same(rig.path, bare.path)
}
