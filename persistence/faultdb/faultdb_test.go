package faultdb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"agentos/persistence"
	"agentos/persistence/dbtest"
	"agentos/persistence/faultdb"
	"agentos/persistence/memdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Without a fault the wrapper is the handle inside.
func TestSuiteWithoutFaults(t *testing.T) {
	dbtest.Run(t, func(t testing.TB) persistence.Source { return faultdb.Wrap(memory(t), &faultdb.Plan{}) })
}

func memory(t testing.TB) persistence.Source {
	t.Helper()
	src, err := memdb.New()
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	return src
}

const (
	createFence = `CREATE TABLE fence (singleton INTEGER PRIMARY KEY, last_key TEXT) STRICT`
	firstFence  = `INSERT INTO fence VALUES (1, '')`
	setFence    = `UPDATE fence SET last_key = ? WHERE singleton = ? RETURNING 1`
	getFence    = `SELECT last_key FROM fence`
)

// write is the transaction that leaves key in the fence; wrong makes it mismatch.
func write(key string, wrong bool) persistence.Tx {
	row := int64(1)
	if wrong {
		row = 2
	}
	return persistence.Tx{Key: key, Waves: [][]persistence.Stmt{{{SQL: setFence, Rows: [][]persistence.Value{{key, row}}, Want: 1}}}}
}

func accept(persistence.Querier) error { return nil }

// prepared returns an open database whose plan counts from its next transaction.
func prepared(t testing.TB, faults ...faultdb.Fault) (persistence.Source, persistence.DB, *faultdb.Plan) {
	t.Helper()
	plan := &faultdb.Plan{}
	src := faultdb.Wrap(memory(t), plan)
	t.Cleanup(func() { must(t, src.Release()) })
	db, err := src.Open(accept)
	must(t, err)
	must(t, db.Tx(persistence.Tx{Key: "setup", Waves: [][]persistence.Stmt{
		{{SQL: createFence, Rows: [][]persistence.Value{{}}}}, {{SQL: firstFence, Rows: [][]persistence.Value{{}}}},
	}}))
	for _, f := range faults {
		plan.Arm(f)
	}
	return src, db, plan
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fence(t testing.TB, q persistence.Querier) string {
	t.Helper()
	rows, err := q.Query(context.Background(), persistence.Query{SQL: getFence})
	must(t, err)
	return rows[0][0].(string)
}

func TestS2_7_Ways(t *testing.T) {
	for _, c := range []struct {
		fault   faultdb.Fault
		outcome persistence.Outcome
		class   persistence.Class
		stored  bool
	}{
		{faultdb.Fault{Way: faultdb.Refused}, persistence.NotCommitted, persistence.ClassConstraint, false},
		{faultdb.Fault{Way: faultdb.NotCommitted}, persistence.NotCommitted, persistence.ClassIO, false},
		{faultdb.Fault{Way: faultdb.Full}, persistence.NotCommitted, persistence.ClassFull, false},
		{faultdb.Fault{Way: faultdb.CommittedUnanswered}, persistence.Unknown, persistence.ClassIO, true},
		{faultdb.Fault{Way: faultdb.LostUnanswered}, persistence.Unknown, persistence.ClassIO, false},
		{faultdb.Fault{Way: faultdb.FullAtCommit}, persistence.Unknown, persistence.ClassFull, false},
		{faultdb.Fault{Way: faultdb.Unreadable}, persistence.Unknown, persistence.ClassIO, false},
		{faultdb.Fault{Way: faultdb.Unreadable, Applied: true}, persistence.Unknown, persistence.ClassIO, true},
	} {
		c.fault.At = 2
		t.Run(c.fault.String(), func(t *testing.T) {
			src, db, plan := prepared(t, c.fault)
			must(t, db.Tx(write("first", false)))
			e := persistence.AsError(db.Tx(write("second", false)))
			if e == nil || e.Outcome != c.outcome || e.Class != c.class {
				t.Fatalf("Tx = %v; want outcome %v, class %s", e, c.outcome, c.class)
			}
			next := db.Tx(write("third", true)) // a mismatch: changes nothing if it runs
			wantNext := persistence.ClassMismatch
			if c.outcome == persistence.Unknown {
				wantNext = persistence.ClassClosed
			}
			if e := persistence.AsError(next); e == nil || e.Class != wantNext {
				t.Errorf("next Tx = %v; want %s", next, wantNext)
			}
			must(t, db.Close())
			db, err := src.Open(accept)
			must(t, err)
			want := map[bool]string{true: "second", false: "first"}[c.stored]
			if got := fence(t, db); got != want {
				t.Errorf("fence = %q after reopening; want %q", got, want)
			}
			must(t, db.Tx(write("fourth", false)))
			if fired := plan.Fired(); len(fired) != 1 || fired[0].Way != c.fault.Way || fired[0].At != 3 {
				t.Errorf("Fired = %v; want the one fault at 3, behind the set-up", fired)
			}
		})
	}
}

// A fault at COMMIT does not hide that there would have been no COMMIT.
func TestRealRefusalComesFirst(t *testing.T) {
	for _, way := range []faultdb.Way{faultdb.CommittedUnanswered, faultdb.LostUnanswered, faultdb.FullAtCommit, faultdb.Unreadable} {
		_, db, plan := prepared(t, faultdb.Fault{At: 1, Way: way})
		err := db.Tx(write("key", true))
		if e := persistence.AsError(err); e == nil || e.Class != persistence.ClassMismatch || e.Outcome != persistence.NotCommitted {
			t.Errorf("%s: Tx = %v; want the mismatch", way, err)
		}
		must(t, db.Tx(write("key", false)))
		if fired := plan.Fired(); len(fired) != 0 {
			t.Errorf("%s: Fired = %v; want none", way, fired)
		}
	}
}

func TestUnreadableGoesOn(t *testing.T) {
	src, db, _ := prepared(t, faultdb.Fault{At: 1, Way: faultdb.Unreadable, Times: 3})
	if err := db.Tx(write("key", false)); err == nil {
		t.Fatal("Tx = nil")
	}
	_, err := db.Query(context.Background(), persistence.Query{SQL: getFence})
	wantClass(t, err, persistence.ClassIO)
	must(t, db.Close())
	for range 2 {
		_, err = src.Open(accept)
		wantClass(t, err, persistence.ClassIO)
	}
	db, err = src.Open(accept)
	must(t, err)
	if got := fence(t, db); got != "" {
		t.Errorf("fence = %q; want the old one", got)
	}
}

func wantClass(t testing.TB, err error, class persistence.Class) {
	t.Helper()
	if e := persistence.AsError(err); e == nil || e.Class != class {
		t.Errorf("error = %v; want class %s", err, class)
	}
}

func TestPanic(t *testing.T) {
	for _, applied := range []bool{false, true} {
		src, db, _ := prepared(t, faultdb.Fault{At: 1, Way: faultdb.Panic, Applied: applied})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Tx did not panic")
				}
			}()
			db.Tx(write("key", false))
		}()
		db, err := src.Open(accept) // without closing, as after a crash
		must(t, err)
		if got := fence(t, db) == "key"; got != applied {
			t.Errorf("applied %v: stored = %v", applied, got)
		}
	}
}

func TestSlow(t *testing.T) {
	until := make(chan struct{})
	for name, f := range map[string]faultdb.Fault{
		"Resume": {At: 1, Way: faultdb.Slow},
		"Until":  {At: 1, Way: faultdb.Slow, Until: until},
	} {
		t.Run(name, func(t *testing.T) {
			_, db, plan := prepared(t, f)
			under, done := plan.Changed(), make(chan error, 1)
			go func() { done <- db.Tx(write("key", false)) }()
			<-under
			select {
			case err := <-done:
				t.Fatalf("Tx = %v before it was let go", err)
			default:
			}
			if got := fence(t, db); got != "" {
				t.Errorf("fence = %q while slow; want the old one", got)
			}
			if f.Until == nil {
				plan.Resume()
				plan.Resume()
			} else {
				close(until)
			}
			must(t, <-done)
			if got := fence(t, db); got != "key" {
				t.Errorf("fence = %q; want the new one", got)
			}
		})
	}
}

func TestQueryFails(t *testing.T) {
	plan := faultdb.New(faultdb.Fault{At: 2, Way: faultdb.QueryFails})
	src := faultdb.Wrap(memory(t), plan)
	defer func() { must(t, src.Release()) }()
	one := persistence.Query{SQL: `SELECT 1`}
	db, err := src.Open(func(q persistence.Querier) error {
		_, err := q.Query(context.Background(), one)
		return err
	})
	must(t, err)
	_, err = db.Query(context.Background(), one)
	wantClass(t, err, persistence.ClassIO)
	_, err = db.Query(context.Background(), one)
	must(t, err)
	if plan.Queries() != 3 || plan.Transactions() != 0 || len(plan.Pending()) != 0 {
		t.Errorf("counted %d reads, %d transactions, pending %v", plan.Queries(), plan.Transactions(), plan.Pending())
	}
	plan.Arm(faultdb.Fault{At: 1, Way: faultdb.QueryFails})
	if _, err := src.Open(func(q persistence.Querier) error {
		_, err := q.Query(context.Background(), one)
		return err
	}); persistence.AsError(err) == nil {
		t.Errorf("Open = %v; want the failed read of the inspection", err)
	}
}

// TestS2_7_TheFenceTells runs random transactions and faults beside a twin that
// only knows what each way says it does.
func TestS2_7_TheFenceTells(t *testing.T) {
	atCommit := map[faultdb.Way]bool{faultdb.CommittedUnanswered: true, faultdb.LostUnanswered: true, faultdb.FullAtCommit: true, faultdb.Unreadable: true}
	rapid.Check(t, func(rt *rapid.T) {
		faults := map[int]faultdb.Fault{}
		for _, f := range rapid.SliceOfN(genFault, 0, 8).Draw(rt, "faults") {
			if f.Way != faultdb.Slow && f.Way != faultdb.Panic && f.Way != faultdb.QueryFails {
				faults[f.At] = f
			}
		}
		src, db, plan := prepared(t)
		for _, f := range faults {
			plan.Arm(f)
		}
		want := ""
		for n := 1; n <= 12; n++ {
			key, wrong := fmt.Sprint("key ", n), rapid.IntRange(0, 4).Draw(rt, "wrong") == 0
			f, planned := faults[n]
			err := db.Tx(write(key, wrong))
			stored := !wrong && (!planned || f.Way == faultdb.CommittedUnanswered || f.Applied)
			if stored {
				want = key
			}
			e := persistence.AsError(err)
			unknown := e != nil && e.Outcome == persistence.Unknown
			if wantUnknown := planned && atCommit[f.Way] && !wrong; unknown != wantUnknown || (err == nil) != (!planned && !wrong) {
				rt.Fatalf("transaction %d (%v, wrong %v) = %v", n, f, wrong, err)
			}
			if !unknown {
				continue
			}
			must(t, db.Close())
			for db, err = src.Open(accept); err != nil; db, err = src.Open(accept) {
				wantClass(t, err, persistence.ClassIO)
			}
			if got := fence(t, db); got != want {
				rt.Fatalf("fence = %q after transaction %d (%v); want %q", got, n, f, want)
			}
		}
		if got := fence(t, db); got != want {
			rt.Fatalf("fence = %q; want %q", got, want)
		}
	})
}

var genFault = rapid.Custom(func(t *rapid.T) faultdb.Fault {
	f := faultdb.Fault{
		At: rapid.IntRange(1, 12).Draw(t, "at"),
		Way: rapid.SampledFrom([]faultdb.Way{
			faultdb.Refused, faultdb.NotCommitted, faultdb.CommittedUnanswered, faultdb.LostUnanswered, faultdb.Full,
			faultdb.FullAtCommit, faultdb.Unreadable, faultdb.Panic, faultdb.Slow, faultdb.QueryFails,
		}).Draw(t, "way"),
	}
	if f.Way == faultdb.Unreadable || f.Way == faultdb.Panic {
		f.Applied = rapid.Bool().Draw(t, "applied")
	}
	if f.Way == faultdb.Unreadable {
		f.Times = rapid.IntRange(0, 3).Draw(t, "times")
	}
	return f
})

func TestPlanTextParsesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		faults := rapid.SliceOf(genFault).Draw(rt, "faults")
		plan := faultdb.New(faults...)
		back, err := faultdb.Parse(plan.String())
		if err != nil {
			rt.Fatalf("Parse(%q) = %v", plan, err)
		}
		if diff := cmp.Diff(faults, back.Pending(), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("Parse(%q) (-want +got):\n%s", plan, diff)
		}
	})
}

func TestPlanText(t *testing.T) {
	const text = "committed_unanswered@3 unreadable@4:applied:times=2 query_fails@1"
	plan, err := faultdb.Parse(" committed_unanswered@3;unreadable@4:times=2:applied\nquery_fails@1 ")
	if err != nil || plan.String() != text {
		t.Errorf("Parse = %v, %v; want %s", plan, err, text)
	}
	for _, bad := range []string{"full", "full@", "full@x", "full@0", "empty@1", "full@1:applied", "full@1:times=1", "unreadable@1:times=-1", "unreadable@1:often", "@1", "full@1:"} {
		if p, err := faultdb.Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", bad, p)
		}
	}
}

func TestImpossibleFaultsAreMistakes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New took a fault that can never fire")
		}
	}()
	faultdb.New(faultdb.Fault{Way: faultdb.Full})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "full@1", "unreadable@4:applied:times=2 panic@2:applied", "slow@9;refused@1", "x@1", "full@99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := faultdb.Parse(text)
		if err != nil {
			return
		}
		again, err := faultdb.Parse(plan.String())
		if err != nil || again.String() != plan.String() {
			t.Errorf("%q became %q, then %v, %v", text, plan, again, err)
		}
	})
}

func TestInspectionErrorPassesThrough(t *testing.T) {
	src, db, _ := prepared(t)
	must(t, db.Close())
	refuse := errors.New("refused")
	if _, err := src.Open(func(persistence.Querier) error { return refuse }); !errors.Is(err, refuse) {
		t.Errorf("Open = %v; want the inspection's error", err)
	}
}
