package sqlitefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

func wantClass(t testing.TB, err error, class persistence.Class) *persistence.Error {
	t.Helper()
	e := persistence.AsError(err)
	if e == nil || e.Class != class {
		t.Fatalf("error = %v; want class %s", err, class)
	}
	return e
}

const (
	createParent = `CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT`
	createChild  = `CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED) STRICT`
	addOrphan    = `INSERT INTO children VALUES (?)`
)

// A COMMIT that fails, here because only then is the reference looked at.
func TestS2_7_FailedCommitIsUnknown(t *testing.T) {
	src, h := openNew(t, db(t))
	must(t, run(h, createRows))
	must(t, run(h, createParent))
	must(t, run(h, createChild))
	err := h.Tx(persistence.Tx{Key: "k", Waves: [][]persistence.Stmt{{
		{SQL: addRow, Rows: [][]persistence.Value{{int64(1), "x"}}},
		{SQL: addOrphan, Rows: [][]persistence.Value{{int64(7)}}},
	}}})
	if e := wantClass(t, err, persistence.ClassConstraint); e.Outcome != persistence.Unknown || e.Wave != -1 {
		t.Errorf("Tx = %+v; want an unknown outcome without a place", e)
	}
	for range 2 {
		if e := wantClass(t, run(h, addRow, int64(2), "x"), persistence.ClassClosed); e.Outcome != persistence.NotCommitted {
			t.Errorf("Tx after it = %v", e)
		}
	}
	wantClass(t, h.Idle(), persistence.ClassClosed)
	must(t, h.Close())
	h, err = src.Open(accept)
	must(t, err)
	if got := read(t, h, countRows); got[0] != int64(0) {
		t.Errorf("%v rows; want none", got[0])
	}
	must(t, run(h, addRow, int64(2), "x"))
	closeAll(t, src, h)
}

func TestCancelEndsALongRead(t *testing.T) {
	src, h := openNew(t, db(t))
	must(t, run(h, createRows))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	// Without an end to speak of: the test hangs if the read goes on.
	_, err := h.Query(ctx, persistence.Query{SQL: `WITH RECURSIVE up(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM up) SELECT max(i) FROM up`})
	if !errors.Is(err, context.DeadlineExceeded) || persistence.AsError(err) != nil {
		t.Errorf("Query = %v; want the context's own error", err)
	}
	must(t, run(h, addRow, int64(1), "x"))
	if got := read(t, h, countRows); got[0] != int64(1) {
		t.Errorf("%v rows; want 1", got[0])
	}
	closeAll(t, src, h)
}

func TestDatabaseTakenAwayWhileOpen(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"Removed":  os.Remove,
		"Renamed":  func(path string) error { return os.Rename(path, path+".old") },
		"Replaced": func(path string) error { return os.Rename(path+".other", path) },
		"Symlink":  func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path+".other", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := db(t)
			filled(t, path+".other")
			src, h := openNew(t, path)
			must(t, run(h, createRows))
			must(t, h.Idle())
			must(t, take(path))
			if e := wantClass(t, run(h, addRow, int64(1), "x"), persistence.ClassClosed); e.Outcome != persistence.NotCommitted {
				t.Errorf("Tx = %v; want not committed", e)
			}
			if name != "Removed" && name != "Renamed" {
				_, err := h.Query(context.Background(), persistence.Query{SQL: countRows})
				wantClass(t, err, persistence.ClassClosed)
			}
			must(t, h.Close())
			_, err := src.Open(accept)
			wantCode(t, err, protocol.CodeStorageError)
			must(t, src.Release())
		})
	}
}

// limitFiles makes writes past size bytes of a file fail, until the test ends.
func limitFiles(t testing.TB, size uint64) (lift func()) {
	t.Helper()
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	lift = func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) }
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: old.Max}))
	t.Cleanup(lift)
	return lift
}

func TestS2_7_WriteErrorAtCommit(t *testing.T) {
	if !sqlitefile.Alone(t) {
		return
	}
	path := db(t)
	src, h := openNew(t, path)
	must(t, run(h, createRows))
	must(t, run(h, addRow, int64(1), "x"))
	lift := limitFiles(t, 320<<10) // below what is kept in memory until the commit
	err := run(h, addRow, int64(2), strings.Repeat("x", 440<<10))
	if e := wantClass(t, err, persistence.ClassIO); e.Outcome != persistence.Unknown {
		t.Errorf("Tx = %v; want an unknown outcome", e)
	}
	must(t, h.Close())
	for _, limited := range []bool{true, false} {
		if !limited {
			lift()
		}
		h, err = src.Open(accept)
		must(t, err)
		if got := read(t, h, countRows); got[0] != int64(1) {
			t.Errorf("limited %v: %v rows; want 1", limited, got[0])
		}
		must(t, h.Close())
	}
	h, err = src.Open(accept)
	must(t, err)
	must(t, run(h, addRow, int64(2), strings.Repeat("x", 440<<10)))
	if got := read(t, h, `PRAGMA integrity_check`); got[0] != "ok" {
		t.Errorf("integrity_check = %v", got)
	}
	closeAll(t, src, h)
}

// DB-03: nothing is left behind by a thousand openings.
func TestOpeningsLeaveNoDescriptor(t *testing.T) {
	path := db(t)
	filled(t, path)
	cycle := func() {
		src, h := openNew(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := h.Query(ctx, persistence.Query{SQL: countRows}); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		closeAll(t, src, h)
	}
	cycle()
	before := descriptors(t)
	for range 200 {
		cycle()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// DB-06, DB-07: a reader of another process keeps the log; it is said, and
// closing ends in time.
func TestStuckReaderIsReported(t *testing.T) {
	path := db(t)
	src, h := openNew(t, path)
	must(t, run(h, createRows))
	other, err := bareDriver(t).Open("file:" + path)
	must(t, err)
	execAll(t, other, `BEGIN`, `SELECT count(*) FROM rows`)
	for n := range int64(20) {
		must(t, run(h, addRow, n, payload(n)))
	}
	must(t, h.Idle()) // a small log is no news
	rows := persistence.Stmt{SQL: addRow}
	for n := range int64(4500) {
		rows.Rows = append(rows.Rows, []persistence.Value{n + 100, fmt.Sprintf("%04000d", n)})
	}
	must(t, h.Tx(persistence.Tx{Key: "k", Waves: [][]persistence.Stmt{{rows}}}))
	wantClass(t, h.Idle(), persistence.ClassBusy)
	must(t, run(h, addRow, int64(99), "still works"))
	wantClass(t, h.Close(), persistence.ClassBusy)
	must(t, other.Close())
	h, err = src.Open(accept)
	must(t, err)
	must(t, h.Idle())
	closeAll(t, src, h)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("log after closing: %v, %v; want an empty one", info, err)
	}
}

func TestIdleClosesTheReader(t *testing.T) {
	src, h := openNew(t, db(t))
	must(t, run(h, createRows))
	for range 5 { // the writer serves the first ones
		read(t, h, countRows)
	}
	before := descriptors(t)
	must(t, h.Idle())
	if after := descriptors(t); after >= before {
		t.Errorf("%d descriptors after Idle, %d before", after, before)
	}
	read(t, h, countRows)
	closeAll(t, src, h)
}
