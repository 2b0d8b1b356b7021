package bare_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"agentos/persistence/sqlitefile/bare"
)

func open(t *testing.T, path string) *bare.Conn {
	t.Helper()
	c, err := bare.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func exec(t *testing.T, c *bare.Conn, text string, args ...any) int64 {
	t.Helper()
	run, err := c.Exec(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := run(args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func rows(t *testing.T, c *bare.Conn, text string, args ...any) (all [][]any) {
	t.Helper()
	run, err := c.Rows(text)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a statement can be run again
		all = nil
		if err := run(func(row []any) { all = append(all, append([]any(nil), row...)) }, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return all
}

func TestConn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := open(t, path)
	exec(t, c, "CREATE TABLE t (a INTEGER, b TEXT) STRICT")
	insert, err := c.Exec("INSERT INTO t VALUES (?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"x", "y", "z"} {
		if n, err := insert(int64(i), text); n != 1 || err != nil {
			t.Fatalf("insert = %d, %v; want 1", n, err)
		}
	}
	if n := exec(t, c, "UPDATE t SET b = ? WHERE a > ?", "w", int64(0)); n != 2 {
		t.Errorf("update changed %d rows; want 2", n)
	}
	want := [][]any{{int64(0), "x"}, {int64(1), "w"}, {int64(2), "w"}}
	if diff := cmp.Diff(want, rows(t, c, "SELECT a, b FROM t ORDER BY a")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}

	other := open(t, path)
	if got := rows(t, other, "SELECT count(*) FROM t WHERE a >= ?", int64(1)); got[0][0] != int64(2) {
		t.Errorf("the second connection counts %v; want 2", got)
	}
	if _, err := c.Exec("nonsense"); err == nil {
		t.Error("nonsense was prepared")
	}
}

// What is measured is only fair with the settings of the runtime's writer.
func TestOpen_Settings(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "x.db"))
	for pragma, want := range map[string]any{
		"journal_mode": "wal", "synchronous": int64(2), "foreign_keys": int64(1), "cache_size": int64(-512),
		"wal_autocheckpoint": int64(1000), "journal_size_limit": int64(8 << 20), "temp_store": int64(2),
	} {
		if got := rows(t, c, "PRAGMA "+pragma); len(got) != 1 || got[0][0] != want {
			t.Errorf("%s = %v; want %v", pragma, got, want)
		}
	}
	if !sqlite.FdatasyncEnabled() || !sqlite.OFDLockingEnabled() {
		t.Errorf("fdatasync %v, OFD locks %v; want both", sqlite.FdatasyncEnabled(), sqlite.OFDLockingEnabled())
	}
}
