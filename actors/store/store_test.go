package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/persistence"
	"agentos/persistence/faultdb"
	"agentos/persistence/memdb"
	"agentos/protocol"
)

// rig is a store actor and what it tells its VM and its sessions.
type rig struct {
	t      *testing.T
	system *actor.ActorSystem
	store  *actor.PID
	self   *actor.PID
	heard  chan any
	plan   *faultdb.Plan
}

func newRig(t *testing.T) *rig {
	mem, err := memdb.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, heard: make(chan any, 10_000), plan: faultdb.New(), system: actor.NewActorSystem()}
	e := &kernel.Env{Log: zap.NewNop(), Clock: time.Now, IDs: uuid.NewString, Limits: protocol.DefaultLimits()}
	source := faultdb.Wrap(mem, r.plan)
	s := New(e, protocol.Descriptor{SQLiteFile: "/memory"}, func(protocol.Descriptor) (persistence.Source, error) { return source, nil })
	spawned, ended := make(chan *actor.PID, 1), make(chan struct{})
	r.self = r.system.Root.Spawn(e.RootProps(func() actor.Actor {
		return parentFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				spawned <- c.Spawn(e.Props(func() actor.Actor { return s }, kernel.StopFailed))
			case Opened, Stored:
				r.heard <- m
			case *actor.Stopped:
				close(ended)
			}
		})
	}, kernel.StopFailed))
	r.store = <-spawned
	if o, ok := r.hear().(Opened); !ok || o.Err != nil {
		t.Fatalf("store opened with %+v", o)
	}
	t.Cleanup(func() {
		r.system.Root.Poison(r.self)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Error("the store did not end")
		}
	})
	return r
}

type parentFunc func(actor.Context)

// Receive implements actor.Actor.
func (f parentFunc) Receive(c actor.Context) { f(c) }

func (r *rig) hear() any {
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

func (r *rig) commit(epoch, number uint64, b protocol.Batch) {
	r.system.Root.Send(r.store, Commit{Epoch: epoch, Number: number, Batch: b, ReplyTo: r.self})
}

// expect checks the next fates, in order.
func (r *rig) expect(want ...Stored) {
	r.t.Helper()
	for _, w := range want {
		got, ok := r.hear().(Stored)
		if !ok || got.Epoch != w.Epoch || got.Number != w.Number || (got.Err != nil) != (w.Err != nil) {
			r.t.Fatalf("fate %+v; want epoch %d number %d refused %v", got, w.Epoch, w.Number, w.Err != nil)
		}
	}
}

var refused = errGap("x")

func TestStore_Rule2_WhatDoesNotFollowIsRefused(t *testing.T) {
	r := newRig(t)
	a := newLine("a")
	r.commit(5, 1, a.next())
	r.expect(Stored{5, 1, nil})
	r.commit(5, 3, a.next()) // 2 was lost
	r.expect(Stored{5, 3, refused})
	r.commit(5, 2, a.next()) // too late: this life is over
	r.expect(Stored{5, 2, refused})
	r.commit(4, 1, a.next()) // of a life before
	r.expect(Stored{4, 1, refused})
	b := newLine("b") // another session does not notice
	r.commit(1, 1, b.next())
	r.expect(Stored{1, 1, nil})
	a.row.Latest, a.row.RetainedEvents, a.row.RetainedBytes = 0, 0, 0
	r.commit(6, 1, a.next()) // a new life starts from what is stored
	r.commit(6, 2, a.next())
	r.expect(Stored{6, 1, nil}, Stored{6, 2, nil})
}

func TestStore_Rule2_BehindARefusedCommitNothingIsStored(t *testing.T) {
	r := newRig(t)
	a := newLine("a")
	r.commit(1, 1, a.next())
	r.expect(Stored{1, 1, nil})
	bad := a.next()
	bad.Base.Latest = 7 // a compare-and-set that must miss
	r.commit(1, 2, bad)
	r.commit(1, 3, a.next())
	r.commit(1, 4, a.next())
	r.expect(Stored{1, 2, refused}, Stored{1, 3, refused}, Stored{1, 4, refused})
}

func TestStore_Rule3_GroupsWhatWaits(t *testing.T) {
	r := newRig(t)
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
	drained := Drain{kernel.NewPromise[kernel.Done]()}
	r.system.Root.Send(r.store, drained)
	close(until)
	for range 2*waiting + 1 {
		if m := r.hear().(Stored); m.Err != nil {
			t.Fatal(m.Err)
		}
	}
	if _, err := drained.Wait(t.Context()); err != nil {
		t.Errorf("drain: %v", err)
	}
	if n := r.plan.Transactions() - before; n != 2 {
		t.Errorf("%d transactions; want 2: one, and one for all that waited", n)
	}
}

// hold keeps a transaction under way until the returned function is called, so
// that what is sent meanwhile makes one group.
func (r *rig) hold() (release func()) {
	until := make(chan struct{})
	r.plan.Arm(faultdb.Fault{At: 1, Way: faultdb.Slow, Until: until})
	changed := r.plan.Changed()
	r.commit(1, 1, newLine("held").next())
	<-changed
	return func() {
		close(until)
		r.expect(Stored{1, 1, nil})
	}
}

func TestStore_Rule3_OneRefusedBatchHurtsNobodyElse(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	a, b, c := newLine("a"), newLine("b"), newLine("c")
	for _, l := range []*line{a, b, c} {
		r.commit(1, 1, l.next())
	}
	r.commit(1, 2, a.next())
	bad := b.next()
	event := bad.Changes[0].(protocol.EventAppended)
	event.Event.Payload = []byte("not JSON") // the database refuses it
	bad.Changes[0] = event
	r.commit(1, 2, bad)
	r.commit(1, 2, c.next())
	r.commit(1, 3, b.next()) // would leave a hole
	release()
	r.expect(Stored{1, 1, nil}, Stored{1, 1, nil}, Stored{1, 1, nil},
		Stored{1, 2, nil}, Stored{1, 2, refused}, Stored{1, 2, nil}, Stored{1, 3, refused})
}

func TestStore_Rule3_FullHitsTheWholeGroupOnce(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	r.plan.Arm(faultdb.Fault{At: 1, Way: faultdb.Full})
	before := r.plan.Transactions()
	r.commit(1, 1, newLine("a").next())
	r.commit(1, 1, newLine("b").next())
	release()
	for range 2 {
		if m := r.hear().(Stored); protocol.CodeOf(m.Err) != protocol.CodeStorageFull {
			t.Errorf("%v; want storage_full", m.Err)
		}
	}
	if n := r.plan.Transactions() - before; n != 1 {
		t.Errorf("%d transactions; want 1: a full disk is not asked twice", n)
	}
	r.commit(2, 1, newLine("c").next()) // and it works again
	r.expect(Stored{2, 1, nil})
}
