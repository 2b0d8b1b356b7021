package bench

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
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
	env     *kernel.Env
	system  *actor.ActorSystem
	store   *actor.PID
	commits atomic.Int64 // transactions
	slots   []*slot
	idle    chan *slot // those that have stored what they were told to
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
			s.rig.trial.Errorf("commit: %v", m.Err)
		}
		if s.left--; s.left > 0 && m.Err == nil {
			s.next(c)
			return
		}
		s.rig.idle <- s
	}
}

func (s *slot) next(c actor.Context) {
	batch := s.author.append(1)
	s.author.number++
	s.sent = time.Now()
	c.Send(s.rig.store, store.Commit{Epoch: 1, Number: s.author.number, Batch: batch, ReplyTo: c.Self()})
}

// function is an actor that is a function.
type function func(actor.Context)

// Receive implements actor.Actor.
func (f function) Receive(c actor.Context) { f(c) }

// startStore starts a store on the database at path with a slot for each author.
// It is stopped with the trial.
func (t *trial) startStore(path string, list []*author) *storeRig {
	t.Helper()
	r := &storeRig{trial: t, idle: make(chan *slot, len(list))}
	r.env = &kernel.Env{Log: zap.NewNop(), Clock: time.Now, IDs: newID, Limits: protocol.DefaultLimits()}
	r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
	opened := make(chan store.Opened, 1)
	parent := r.spawn(function(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Spawn(r.env.Props(func() actor.Actor {
				return store.New(r.env, protocol.Descriptor{SQLiteFile: path}, r.source)
			}, kernel.StopFailed))
		case store.Opened:
			opened <- m
		}
	}))
	t.Cleanup(func() {
		t.must(r.system.Root.PoisonFuture(parent).Wait())
		r.system.Shutdown()
	})
	select {
	case o := <-opened:
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		r.store = o.Store
	case <-time.After(patience):
		t.Fatal("the store did not open")
	}
	for _, a := range list {
		s := &slot{rig: r, author: a}
		s.pid = r.spawn(s)
		r.slots = append(r.slots, s)
	}
	return r
}

// spawn starts an actor without a parent; it is stopped with the trial.
func (r *storeRig) spawn(a actor.Actor) *actor.PID {
	return r.system.Root.Spawn(r.env.RootProps(func() actor.Actor { return a }, kernel.StopFailed))
}

func (r *storeRig) source(d protocol.Descriptor) (persistence.Source, error) {
	src, err := file(d)
	return watched{src, func(persistence.Tx) { r.commits.Add(1) }}, err
}

// run has every slot store that many events and waits for the last.
func (r *storeRig) run(events int) {
	for _, s := range r.slots {
		r.system.Root.Send(s.pid, begin{events})
	}
	end := time.NewTimer(patience)
	defer end.Stop()
	for range r.slots {
		select {
		case <-r.idle:
		case <-end.C:
			r.trial.Fatal("the store did not answer")
		}
	}
}

// commit is the single durable commit: an event of about 600 bytes sent to a
// store that has nothing else to do, until its author hears that it is durable.
func commit(t *trial) {
	ours, twin := authors(1), authors(1)
	path, _ := t.create("ours", ours, 0)
	rig := t.startStore(path, ours)
	twinPath, epoch := t.create("bare", twin, 0)
	bare := t.openBare(twinPath, epoch)

	m := t.rounds(t.either(400, 1),
		func() time.Duration { rig.run(1); return rig.slots[0].took },
		func() time.Duration { return clock(func() { bare.appendEach(twin) }) },
	)
	t.same(path, twinPath)
	t.report(float64(m[0].median())/float64(m[1].median()), "x-bare-p50")
	t.report(1.25, "x-max")
	t.micros(m[0].median(), "ours")
	t.micros(m[1].median(), "bare")
	t.report(float64(m[0].quantile(0.99))/float64(m[1].quantile(0.99)), "x-bare-p99")
}

// group is throughput: that many sessions, each with one commit under way,
// against the bare driver with as many events in each transaction.
func group(size int) func(*trial) {
	return func(t *trial) {
		ours, twin := authors(size), authors(size)
		path, _ := t.create("ours", ours, 0)
		rig := t.startStore(path, ours)
		twinPath, epoch := t.create("bare", twin, 0)
		bare := t.openBare(twinPath, epoch)
		each := t.either(max(16, min(64, 2048/size)), 2) // events of a session in a round

		m := t.rounds(t.either(max(1, 1000/(size*each)), 0),
			func() time.Duration { return clock(func() { rig.run(each) }) },
			func() time.Duration {
				return clock(func() {
					for range each {
						bare.appendEach(twin)
					}
				})
			},
		)
		t.same(path, twinPath)
		t.report(m[1].over(m[0]), "x-bare-events/s")
		t.report(0.8, "x-min")
		t.rate(size*each, m[0].median(), "ours")
		t.rate(size*each, m[1].median(), "bare")
		t.report(float64(ours[0].number)*float64(size)/float64(rig.commits.Load()), "events/tx")
	}
}

// same fails the trial unless both databases hold as much.
func (t *trial) same(ours, bare string) {
	t.Helper()
	a, b := t.holds(ours), t.holds(bare)
	if a != b {
		t.Fatalf("the runtime's database holds %v, the bare driver's %v", a, b)
	}
}

func BenchmarkCommit(b *testing.B) { measured(b, commit) }

func BenchmarkGroup(b *testing.B) {
	for _, size := range []int{8, 64, 512} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { measured(b, group(size)) })
	}
}
