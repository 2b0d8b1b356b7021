package core_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

// delete marks the twin's session, whose turn has ended.
func (w *twin) delete() {
	if w.snap.Active != nil {
		w.end("", `{"code":"prompt_interrupted"}`)
	}
	w.did(protocol.SessionDeleted{})
}

// sweep sweeps a session, and looks at the database after each slice.
func sweep(t reporter, db persistence.DB, id protocol.SessionID, after func()) (slices int) {
	t.Helper()
	for ; ; slices++ {
		wave, err := core.Sweep(context.Background(), db, id)
		if err != nil {
			t.Fatalf("Sweep = %v", err)
		}
		if wave == nil {
			return slices
		}
		if err := db.Tx(persistence.Tx{Key: "k", Waves: [][]persistence.Stmt{wave}}); err != nil {
			t.Fatalf("slice %d: %v", slices, err)
		}
		after()
	}
}

// rowsOf counts what the tables have of a session.
func rowsOf(t reporter, db persistence.DB, id protocol.SessionID) (n int) {
	for table, rows := range dump(t, db) {
		for _, row := range rows {
			if strings.HasPrefix(table, "agentos_core_") && len(row) > 1 && row[1] == string(id) {
				n++
			}
		}
	}
	events := read(t, db, `SELECT count(*) FROM agentos_core_events WHERE session_id = ?`, string(id))
	return n + int(events[0][0].(int64))
}

// A deleted session is invisible at once; the counters are right after every slice
// of its sweep, nothing of it is left, and nobody else is touched.
func TestS9_3_SweepOfAnySession(t *testing.T) {
	checks(t, 30)
	db := newDB(t)
	rapid.Check(t, func(t *rapid.T) {
		wipe(t, db)
		gone, stays := newTwin("gone"), newTwin("stays")
		for range rapid.IntRange(1, 30).Draw(t, "batches") {
			w := rapid.SampledFrom([]*twin{gone, gone, stays}).Draw(t, "session")
			if err := write(db, w.batch(func() { w.step(t) }, func() { w.step(t) })); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		if !gone.exists {
			return
		}
		if err := write(db, gone.batch(gone.delete)); err != nil {
			t.Fatalf("delete: %v", err)
		}
		invisible(t, db, "gone")
		sweep(t, db, "gone", func() { noFindings(t, db) })
		if n := rowsOf(t, db, "gone"); n != 0 {
			t.Fatalf("%d rows are left", n)
		}
		if stays.exists {
			stays.agrees(t, db)
		}
		gone = newTwin("gone")
		if err := write(db, gone.batch(func() { gone.step(t) }, func() { gone.step(t) })); err != nil {
			t.Fatalf("open again: %v", err)
		}
		gone.agrees(t, db)
	})
}

func invisible(t reporter, db persistence.DB, id protocol.SessionID) {
	t.Helper()
	ctx := context.Background()
	if _, found, err := core.Load(ctx, db, id); found || err != nil {
		t.Fatalf("Load of a deleted session = %v, %v", found, err)
	}
	if _, err := core.History(ctx, db, id, core.PageRequest{}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Fatalf("History of a deleted session = %v", err)
	}
	list, _, err := core.Sessions(ctx, db, core.ListRequest{})
	for _, s := range list {
		if s.ID == id || err != nil {
			t.Fatalf("Sessions = %v, %v", list, err)
		}
	}
	deleting, err := core.DeletingSessions(ctx, db)
	if d := cmp.Diff([]protocol.SessionID{id}, deleting); d != "" || err != nil {
		t.Fatalf("DeletingSessions = %v, %v", deleting, err)
	}
}

// A slice is bounded in rows and in bytes, and one event may be larger than that.
func TestS9_3_SlicesAreBounded(t *testing.T) {
	db := newDB(t)
	w := newTwin("gone")
	large := `{"text":"` + strings.Repeat("x", 2<<20) + `"}`
	if err := write(db, w.batch(func() { w.open(protocol.Spec{Agent: "a", Cwd: "/", Policy: protocol.PolicyAsk}) }, func() {
		for i := range 1000 {
			w.update(fmt.Sprintf(`{"n":%d}`, i))
		}
		for range 3 {
			w.update(large)
		}
		w.delete()
	})); err != nil {
		t.Fatal(err)
	}
	left, most := rowsOf(t, db, "gone"), 0
	slices := sweep(t, db, "gone", func() {
		n := rowsOf(t, db, "gone")
		left, most = n, max(most, left-n)
	})
	if most != 256 || slices != 3+1+2+1 {
		t.Errorf("%d slices of at most %d rows", slices, most)
	}
}
