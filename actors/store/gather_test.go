package store

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"agentos/persistence"
	"agentos/protocol"
)

// Whoever has just heard is let run before the next group is taken, and joins it.
func TestStore_Rule3_WhoHasJustHeardJoins(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // then a yield runs all that can run
	s := &Actor{}
	for range 8 {
		go s.arrived.Add(1)
	}
	s.gather(8)
	if n := s.arrived.Load(); n != 8 {
		t.Errorf("%d of 8 joined", n)
	}
	s.gather(9) // nobody comes: it ends all the same
}

// Fates of a session come in the order of its commits, whichever goroutine tells
// them, and what is said to be durable is what is stored, while commits of other
// sessions in the same groups are refused.
func TestStore_Rule2_FatesComeInOrder(t *testing.T) {
	const sessions, rounds, ahead = 12, 40, 3
	r := newRig(t)
	lines, last, durable := make([]*line, sessions), make([]uint64, sessions), make([]int64, sessions)
	send := func(i int, number uint64) {
		b := lines[i].next()
		if i%4 == 3 && number == rounds/2 { // its database refuses it, and all behind it
			b.Base.Latest += 7
		}
		// The epoch says whose fate it is.
		r.commit(uint64(i+1), number, b)
	}
	for i := range lines {
		lines[i] = newLine(protocol.SessionID(fmt.Sprint("s", i)))
		for n := range ahead {
			send(i, uint64(n+1))
		}
	}
	for range sessions * rounds {
		m, ok := r.hear().(Stored)
		if !ok {
			t.Fatalf("heard %T", m)
		}
		i := int(m.Epoch) - 1
		if m.Number != last[i]+1 {
			t.Fatalf("session %d heard of commit %d after %d", i, m.Number, last[i])
		}
		last[i] = m.Number
		if refused := i%4 == 3 && m.Number >= rounds/2; refused != (m.Err != nil) {
			t.Fatalf("commit %d of session %d: %v; want refused %v", m.Number, i, m.Err, refused)
		}
		if m.Err == nil {
			durable[i] = int64(m.Number)
		}
		if next := m.Number + ahead; next <= rounds {
			send(i, next)
		}
	}
	for i, want := range durable {
		if got := r.stored(lines[i].row.ID); got != want-1 { // the first commit has no event
			t.Errorf("session %d has %d events; want %d", i, got, want-1)
		}
	}
}

// stored counts the events of a session through the store's reader.
func (r *rig) stored(id protocol.SessionID) int64 {
	answer := make(chan int64, 1)
	r.system.Root.Send(r.store, Read{
		Run: func(q persistence.Querier) {
			rows, err := q.Query(context.Background(), persistence.Query{
				SQL: "SELECT count(*) FROM agentos_core_events WHERE session_id = ?", Args: []persistence.Value{string(id)},
			})
			if err != nil {
				r.t.Errorf("count events: %v", err)
				answer <- -1
				return
			}
			answer <- rows[0][0].(int64)
		},
		Fail: func(err *protocol.Error) { r.t.Errorf("read: %v", err); answer <- -1 },
	})
	return <-answer
}

// A group with a refused batch in it is told by the actor and the next one by the
// writer: the writer does not come first.
func TestStore_Rule2_AMixedGroupIsToldBeforeTheNext(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	bad := newLine("bad").next()
	bad.Row.ID = "other"
	r.commit(2, 1, bad)
	a := newLine("a")
	const commits = groupBatches + 100 // two groups
	want := []Stored{{2, 1, refused}}
	for n := range uint64(commits) {
		r.commit(3, n+1, a.next())
		want = append(want, Stored{3, n + 1, nil})
	}
	release()
	r.expect(want...)
}

// A session with thousands of commits waiting holds up no other: they take turns,
// so that another's commit is in the next group (CC-05).
func TestCC05_SessionsTakeTurns(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	loud := newLine("loud")
	const flood = 6 * groupBatches
	for n := range uint64(flood) {
		r.commit(1, n+1, loud.next())
	}
	for i := range uint64(3) {
		r.commit(i+2, 1, newLine(protocol.SessionID(fmt.Sprint("quiet", i))).next())
	}
	release()
	quiet := 0
	for heard := 1; heard <= flood+3; heard++ {
		m, ok := r.hear().(Stored)
		if !ok || m.Err != nil {
			t.Fatalf("heard %+v", m)
		}
		if m.Epoch == 1 {
			continue
		}
		if quiet++; heard > groupBatches+3 { // the first group of all was on its way
			t.Errorf("a quiet session's commit was stored as number %d; want it in the next group", heard)
		}
	}
	if quiet != 3 {
		t.Errorf("%d quiet commits were stored", quiet)
	}
}
