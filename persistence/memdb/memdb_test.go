package memdb_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"agentos/persistence"
	"agentos/persistence/dbtest"
	"agentos/persistence/memdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSource(t testing.TB) persistence.Source {
	t.Helper()
	s, err := memdb.New()
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	return s
}

func TestSuite(t *testing.T)         { dbtest.Run(t, newSource) }
func TestSuiteReadOnly(t *testing.T) { dbtest.RunReadOnly(t, newSource) }

const (
	create = `CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT`
	add    = `INSERT INTO t (n) VALUES (?)`
	count  = `SELECT count(*) FROM t`
)

func open(t testing.TB, src persistence.Source) persistence.DB {
	t.Helper()
	db, err := src.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	return db
}

func run(db persistence.DB, sql string, args ...persistence.Value) error {
	return db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: sql, Rows: [][]persistence.Value{args}}}}})
}

func wantCount(t testing.TB, q persistence.Querier, want int64) {
	t.Helper()
	rows, err := q.Query(t.Context(), persistence.Query{SQL: count})
	if err != nil || rows[0][0] != want {
		t.Errorf("count = %v, %v; want %d", rows, err, want)
	}
}

// A crash in a simulation is a handle that nobody closes.
func TestCrashKeepsCommitsAndFencesTheOldHandle(t *testing.T) {
	src := newSource(t)
	defer release(t, src)
	before := open(t, src)
	for _, err := range []error{run(before, create), run(before, add, int64(1))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	after := open(t, src)
	wantCount(t, after, 1)
	if e := persistence.AsError(run(before, add, int64(2))); e == nil || e.Class != persistence.ClassClosed {
		t.Errorf("Tx on the handle before the crash = %v; want closed", e)
	}
	if err := before.Close(); err != nil {
		t.Errorf("Close of the old handle = %v", err)
	}
	if err := run(after, add, int64(2)); err != nil {
		t.Errorf("Tx after the old handle was closed = %v", err)
	}
	wantCount(t, after, 2)
}

func release(t testing.TB, src persistence.Source) {
	t.Helper()
	if err := src.Release(); err != nil {
		t.Errorf("Release = %v", err)
	}
}

func TestSourcesShareNothing(t *testing.T) {
	a, b := newSource(t), newSource(t)
	defer release(t, a)
	defer release(t, b)
	if err := run(open(t, a), create); err != nil {
		t.Fatal(err)
	}
	if err := run(open(t, b), create); err != nil {
		t.Errorf("the same table in another source = %v", err)
	}
}

func TestReleasedIsClosed(t *testing.T) {
	src := newSource(t)
	db := open(t, src)
	release(t, src)
	if e := persistence.AsError(run(db, create)); e == nil || e.Class != persistence.ClassClosed {
		t.Errorf("Tx after Release = %v; want closed", e)
	}
}

// A simulation runs on virtual time; nothing here may wait for the real one.
func TestInAVirtualTimeBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		defer release(t, src)
		db := open(t, src)
		if err := run(db, create); err != nil {
			t.Fatal(err)
		}
		for i := range int64(50) {
			<-time.After(time.Hour)
			if err := run(db, add, i); err != nil {
				t.Fatal(err)
			}
			wantCount(t, db, i+1)
		}
	})
}
