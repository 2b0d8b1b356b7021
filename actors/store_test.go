package actors

import (
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/persistence"
	"agentos/persistence/faultdb"
	"agentos/persistence/memdb"
	"agentos/protocol"
)

// storeRig is a store actor and what it tells its VM and its sessions.
type storeRig struct {
	t     *testing.T
	node  *Node
	store *actor.PID
	self  *actor.PID
	heard chan any
	plan  *faultdb.Plan
}

func newStoreRig(t *testing.T) *storeRig {
	mem, err := memdb.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &storeRig{t: t, heard: make(chan any, 10_000), plan: faultdb.New()}
	source := faultdb.Wrap(mem, r.plan)
	r.node, err = Start(Config{
		Sources:  func(protocol.Descriptor) (persistence.Source, error) { return source, nil },
		Adapters: Processes(nil, nil, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	e := r.node.env
	spawned := make(chan *actor.PID, 1)
	r.self = r.node.system.Root.Spawn(e.rootProps(func() actor.Actor {
		return parentFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				s := &storeActor{env: e, descriptor: protocol.Descriptor{SQLiteFile: "/memory"}}
				spawned <- c.Spawn(e.props(func() actor.Actor { return s }, sessionChildren))
			case opened, stored:
				r.heard <- m
			}
		})
	}, sessionChildren))
	r.store = <-spawned
	if o, ok := r.hear().(opened); !ok || o.err != nil {
		t.Fatalf("store opened with %+v", o)
	}
	t.Cleanup(func() {
		for _, pid := range []*actor.PID{r.store, r.self, r.node.root} {
			if err := r.node.poison(pid); err != nil {
				t.Error(err)
			}
		}
	})
	return r
}

type parentFunc func(actor.Context)

// Receive implements actor.Actor.
func (f parentFunc) Receive(c actor.Context) { f(c) }

func (r *storeRig) hear() any {
	r.t.Helper()
	select {
	case m := <-r.heard:
		return m
	case <-time.After(30 * time.Second):
		r.t.Fatal("the store said nothing")
		return nil
	}
}

// line makes the batches of one session, in order.
type line struct {
	row    protocol.Record
	exists bool
}

func (l *line) next() protocol.Batch {
	if !l.exists {
		l.exists = true
		return protocol.Batch{Session: l.row.ID, Changes: []protocol.Change{protocol.SessionOpened{Record: l.row}}, Row: l.row}
	}
	base := protocol.Base{Exists: true, Latest: l.row.Latest, State: l.row.State}
	payload := fmt.Sprintf(`{"sessionUpdate":"n","n":%d}`, l.row.Latest+1)
	l.row.Latest++
	l.row.RetainedEvents++
	l.row.RetainedBytes += int64(len(payload))
	e := protocol.Event{Sequence: l.row.Latest, At: 1, ACP: 1, Kind: protocol.KindUpdate, Payload: []byte(payload)}
	return protocol.Batch{Session: l.row.ID, Base: base, Changes: []protocol.Change{protocol.EventAppended{Event: e}}, Row: l.row}
}

func newLine(id protocol.SessionID) *line {
	return &line{row: protocol.Record{
		ID: id, State: protocol.StateIdle, OldestRetained: 1, CreatedAt: 1, UpdatedAt: 1, LastAt: 1,
		Spec: protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk},
	}}
}

func (r *storeRig) commit(epoch, number uint64, b protocol.Batch) {
	r.node.system.Root.Send(r.store, commit{epoch: epoch, number: number, batch: b, replyTo: r.self})
}

// expect checks the next fates, in order.
func (r *storeRig) expect(want ...stored) {
	r.t.Helper()
	for _, w := range want {
		got, ok := r.hear().(stored)
		if !ok || got.epoch != w.epoch || got.number != w.number || (got.err != nil) != (w.err != nil) {
			r.t.Fatalf("fate %+v; want epoch %d number %d refused %v", got, w.epoch, w.number, w.err != nil)
		}
	}
}

var refused = errGap("x")

func TestStore_Rule2_WhatDoesNotFollowIsRefused(t *testing.T) {
	r := newStoreRig(t)
	a := newLine("a")
	r.commit(5, 1, a.next())
	r.expect(stored{5, 1, nil})
	r.commit(5, 3, a.next()) // 2 was lost
	r.expect(stored{5, 3, refused})
	r.commit(5, 2, a.next()) // too late: this life is over
	r.expect(stored{5, 2, refused})
	r.commit(4, 1, a.next()) // of a life before
	r.expect(stored{4, 1, refused})
	b := newLine("b") // another session does not notice
	r.commit(1, 1, b.next())
	r.expect(stored{1, 1, nil})
	a.row.Latest, a.row.RetainedEvents, a.row.RetainedBytes = 0, 0, 0
	r.commit(6, 1, a.next()) // a new life starts from what is stored
	r.commit(6, 2, a.next())
	r.expect(stored{6, 1, nil}, stored{6, 2, nil})
}

func TestStore_Rule2_BehindARefusedCommitNothingIsStored(t *testing.T) {
	r := newStoreRig(t)
	a := newLine("a")
	r.commit(1, 1, a.next())
	r.expect(stored{1, 1, nil})
	bad := a.next()
	bad.Base.Latest = 7 // a compare-and-set that must miss
	r.commit(1, 2, bad)
	r.commit(1, 3, a.next())
	r.commit(1, 4, a.next())
	r.expect(stored{1, 2, refused}, stored{1, 3, refused}, stored{1, 4, refused})
}

func TestStore_Rule3_GroupsWhatWaits(t *testing.T) {
	r := newStoreRig(t)
	until := make(chan struct{})
	r.plan.Arm(faultdb.Fault{At: 1, Way: faultdb.Slow, Until: until})
	before := r.plan.Transactions()
	changed := r.plan.Changed()
	r.commit(1, 1, newLine("first").next())
	<-changed // it is under way, and stays there
	const waiting = 100
	lines := make([]*line, waiting)
	for i := range lines {
		lines[i] = newLine(protocol.SessionID(fmt.Sprint("s", i)))
		r.commit(1, 1, lines[i].next())
		r.commit(1, 2, lines[i].next())
	}
	drained := drain{newPromise[done]()}
	r.node.system.Root.Send(r.store, drained)
	close(until)
	for range 2*waiting + 1 {
		if m := r.hear().(stored); m.err != nil {
			t.Fatal(m.err)
		}
	}
	if _, err := drained.wait(t.Context()); err != nil {
		t.Errorf("drain: %v", err)
	}
	if n := r.plan.Transactions() - before; n != 2 {
		t.Errorf("%d transactions; want 2: one, and one for all that waited", n)
	}
}

func TestBackoff_GrowsWithACap(t *testing.T) {
	for n := 1; n < 100; n++ {
		full := min(maxDelay, firstDelay<<min(n-1, 20))
		for range 20 {
			if d := delay(n); d < full/2 || d > full {
				t.Errorf("delay(%d) = %v; want %v to %v", n, d, full/2, full)
			}
		}
	}
}

func TestCredit_Rule6_StopsReadingPastItsBound(t *testing.T) {
	c := newCredit()
	big, ok := c.acquire(routeCredit * 3) // one message passes whatever its size
	if !ok {
		t.Fatal("refused")
	}
	got := make(chan grant)
	go func() {
		g, _ := c.acquire(1)
		got <- g
	}()
	select {
	case <-got:
		t.Error("acquired past the bound")
	default:
	}
	big.release()
	(<-got).release()
	if c.taken != 0 {
		t.Errorf("%d bytes are taken after everything was released", c.taken)
	}
	held, _ := c.acquire(routeCredit)
	ended := make(chan bool)
	go func() {
		_, ok := c.acquire(1)
		ended <- ok
	}()
	c.close()
	if <-ended {
		t.Error("acquired from a closed credit")
	}
	held.release()
}
