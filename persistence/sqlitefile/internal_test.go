package sqlitefile

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
	"agentos/protocol"
)

func accept(persistence.Querier) error { return nil }

func acquired(t *testing.T, o Options) (*source, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vm.db")
	o.Create = true
	src, err := Acquire(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Release(); err != nil {
			t.Errorf("Release = %v", err)
		}
	})
	return src.(*source), path
}

func write(db persistence.DB, texts ...string) error {
	for _, text := range texts {
		if err := db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: text, Rows: [][]persistence.Value{{}}}}}}); err != nil {
			return err
		}
	}
	return nil
}

// SQLite takes a setting that it cannot grant without a word.
func TestSettingsAreReadBack(t *testing.T) {
	for name, settings := range map[string]string{
		"journal_mode": strings.Replace(writerSettings, "=WAL", "=DELETE", 1),
		"synchronous":  strings.Replace(writerSettings, "=FULL", "=NORMAL", 1),
		"foreign_keys": strings.Replace(writerSettings, "_foreign_keys=1", "_foreign_keys=0", 1),
	} {
		src, _ := acquired(t, Options{settings: settings})
		_, err := src.Open(accept)
		if protocol.CodeOf(err) != protocol.CodeStorageError || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: Open = %v; want a refusal that names it", name, err)
		}
	}
}

func TestSettings(t *testing.T) {
	src, _ := acquired(t, Options{})
	db, err := src.Open(accept)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range firstReads + 1 { // the writer serves the first ones
		if _, err := db.Query(context.Background(), persistence.Query{SQL: `SELECT 1`}); err != nil {
			t.Fatal(err)
		}
	}
	h := db.(*handle)
	for _, c := range []struct {
		conn   *engine.Conn
		pragma string
		want   persistence.Value
	}{
		{h.writer, "journal_mode", "wal"}, {h.writer, "synchronous", int64(2)}, {h.writer, "foreign_keys", int64(1)},
		{h.writer, "busy_timeout", int64(5000)}, {h.writer, "cache_size", int64(-512)}, {h.writer, "wal_autocheckpoint", int64(1000)},
		{h.writer, "journal_size_limit", int64(8388608)}, {h.writer, "temp_store", int64(2)}, {h.writer, "query_only", int64(0)},
		{h.reader, "query_only", int64(1)}, {h.reader, "busy_timeout", int64(5000)}, {h.reader, "cache_size", int64(-512)},
	} {
		row, err := c.conn.Exec("PRAGMA " + c.pragma)
		if err != nil || len(row) != 1 || row[0] != c.want {
			t.Errorf("%s = %v, %v; want %v", c.pragma, row, err, c.want)
		}
	}
}

const impatient = "_busy_timeout=1"

func TestBusy(t *testing.T) {
	src, path := acquired(t, Options{settings: strings.Replace(writerSettings, "_busy_timeout=5000", impatient, 1)})
	db, err := src.Open(accept)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(db, `CREATE TABLE t (a INTEGER) STRICT`); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	run(t, other, `BEGIN IMMEDIATE`)
	e := persistence.AsError(write(db, `INSERT INTO t VALUES (1)`))
	if e == nil || e.Class != persistence.ClassBusy || e.Outcome != persistence.NotCommitted {
		t.Errorf("Tx = %v; want busy, not committed", e)
	}
	run(t, other, `ROLLBACK`)
	if err := errors.Join(write(db, `INSERT INTO t VALUES (1)`), other.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, path string) *engine.Conn {
	t.Helper()
	c, err := engine.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, c *engine.Conn, text string) {
	t.Helper()
	if _, err := c.Exec(text); err != nil {
		t.Fatal(err)
	}
}

func TestLockedByAnotherProgram(t *testing.T) {
	src, path := acquired(t, Options{settings: strings.Replace(writerSettings, "_busy_timeout=5000", impatient, 1)})
	other := open(t, path) // with a rollback journal
	run(t, other, `CREATE TABLE t (a INTEGER) STRICT`)
	run(t, other, `BEGIN EXCLUSIVE`)
	_, err := src.Open(accept)
	if protocol.CodeOf(err) != protocol.CodeStorageUnavailable {
		t.Errorf("Open = %v; want unavailable", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := src.Open(accept)
	if err != nil {
		t.Fatalf("Open after it = %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// After a write error at COMMIT the log is copied and flushed before anything
// else is believed.
func TestS2_7_SuspectLogIsCheckpointedFirst(t *testing.T) {
	if !Alone(t) {
		return
	}
	src, path := acquired(t, Options{settings: strings.Replace(writerSettings, "_busy_timeout=5000", impatient, 1)})
	db, err := src.Open(accept)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(db, `CREATE TABLE t (a TEXT) STRICT`, `INSERT INTO t VALUES ('x')`); err != nil {
		t.Fatal(err)
	}
	reader := open(t, path)
	run(t, reader, `BEGIN`)
	run(t, reader, `SELECT * FROM t`)

	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 320 << 10, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err = write(db, `INSERT INTO t VALUES (hex(zeroblob(215000)))`)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if e := persistence.AsError(err); e == nil || e.Outcome != persistence.Unknown || e.Class != persistence.ClassIO || !src.suspect {
		t.Fatalf("Tx = %v, suspect %v; want an unknown outcome", err, src.suspect)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Open(accept); protocol.CodeOf(err) != protocol.CodeStorageUnavailable {
		t.Errorf("Open beside a reader that holds the log = %v; want unavailable", err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = src.Open(accept)
	if err != nil || src.suspect {
		t.Fatalf("Open = %v, suspect %v", err, src.suspect)
	}
	if err := errors.Join(write(db, `INSERT INTO t VALUES ('y')`), db.Close()); err != nil {
		t.Error(err)
	}
}

// DB-09: it is said before the first byte is written.
func TestUnsafeFileSystemIsNoticed(t *testing.T) {
	var notices []string
	o := Options{
		Notice:     func(text string) { notices = append(notices, text) },
		fileSystem: func(string) (string, error) { return "NFS", nil },
	}
	src, _ := acquired(t, o)
	refuse := errors.New("refused")
	if _, err := src.Open(func(persistence.Querier) error { return refuse }); err != refuse || len(notices) != 0 {
		t.Errorf("Open = %v, notices %q; want none before there is a write", err, notices)
	}
	for range 2 {
		db, err := src.Open(accept)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "NFS") {
		t.Errorf("notices = %q; want one that names it", notices)
	}
	if name, err := networkFileSystem("/proc"); name != "" || err != nil {
		t.Errorf("networkFileSystem(/proc) = %q, %v", name, err)
	}
}

func FuzzParseHolder(f *testing.F) {
	for _, line := range []string{"", "\n", `{"pid":1}` + "\n", `{"pid":-1}` + "\n", `{"pid":7,"startTime":1,"command":"c","socket":"s"}` + "\nrest", `{"pid":1e99}` + "\n", "{}{}\n"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, ok := parseHolder(strings.NewReader(text))
		if ok && h.PID <= 0 || !ok && h != (holder{}) {
			t.Errorf("parseHolder(%q) = %+v, %v", text, h, ok)
		}
	})
}

func FuzzParseStartTime(f *testing.F) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	for _, stat := range []string{"", ")", "1 (a) ", "1 (a)" + rest, "1 (a) b) (c)" + rest, "1 (a" + rest, "1 (a)" + strings.Replace(rest, "4711", "-4711", 1)} {
		f.Add(stat)
	}
	f.Fuzz(func(t *testing.T, stat string) {
		got := parseStartTime([]byte(stat))
		if strings.HasSuffix(stat, ")"+rest) && got != 4711 {
			t.Errorf("parseStartTime(%q) = %d; want field 22", stat, got)
		}
	})
}

// A relaxed transaction leaves the writer flushing, whatever becomes of it; and what
// the writer serves first cannot write.
func TestWriter_IsAsItWas(t *testing.T) {
	src, _ := acquired(t, Options{})
	db, err := src.Open(accept)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := db.(*handle)
	for _, sql := range []string{`CREATE TABLE t (n INTEGER NOT NULL) STRICT`, `INSERT INTO t VALUES (1)`, `INSERT INTO t VALUES (NULL)`} {
		err := db.Tx(persistence.Tx{Key: "k", Relaxed: true, Waves: [][]persistence.Stmt{{{SQL: sql, Rows: [][]persistence.Value{{}}, Want: -1}}}})
		if (err != nil) != strings.Contains(sql, "NULL)") && !strings.Contains(sql, "CREATE") {
			t.Errorf("%s: %v", sql, err)
		}
		if row, err := h.writer.Exec("PRAGMA synchronous"); err != nil || row[0] != int64(2) {
			t.Errorf("after %s: synchronous = %v, %v", sql, row, err)
		}
	}
	if _, err := db.Query(context.Background(), persistence.Query{SQL: `INSERT INTO t VALUES (2) RETURNING n`}); err == nil {
		t.Error("a read has written")
	}
	if row, err := h.writer.Exec("PRAGMA query_only"); err != nil || row[0] != int64(0) || h.reader != nil {
		t.Errorf("query_only = %v, %v; reader %v", row, err, h.reader)
	}
	if err := db.Tx(persistence.Tx{Key: "k", Waves: [][]persistence.Stmt{{{SQL: `INSERT INTO t VALUES (3)`, Rows: [][]persistence.Value{{}}, Want: -1}}}}); err != nil {
		t.Errorf("a write after a read: %v", err)
	}
	rows, err := db.Query(context.Background(), persistence.Query{SQL: `SELECT group_concat(n) FROM t`})
	if err != nil || rows[0][0] != "1,3" {
		t.Errorf("rows = %v, %v", rows, err)
	}
}
