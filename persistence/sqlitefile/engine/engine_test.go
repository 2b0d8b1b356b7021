package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"modernc.org/sqlite"

	"agentos/persistence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory(t *testing.T, texts ...string) *Conn {
	t.Helper()
	c, err := Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	for _, text := range texts {
		if err := c.Tx(tx(text)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func tx(sql string, args ...persistence.Value) persistence.Tx {
	return persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: sql, Rows: [][]persistence.Value{args}}}}}
}

func wantClass(t *testing.T, err error, outcome persistence.Outcome, class persistence.Class) {
	t.Helper()
	if e := persistence.AsError(err); e == nil || e.Class != class || e.Outcome != outcome {
		t.Errorf("error = %v; want outcome %v, class %s", err, outcome, class)
	}
}

func single(t *testing.T, c *Conn, sql string) persistence.Value {
	t.Helper()
	rows, err := c.Query(t.Context(), persistence.Query{SQL: sql})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s = %v, %v", sql, rows, err)
	}
	return rows[0][0]
}

func TestProcessWideSwitches(t *testing.T) {
	if setup != nil || !sqlite.FdatasyncEnabled() || !sqlite.OFDLockingEnabled() {
		t.Errorf("setup = %v, fdatasync %v, OFD locks %v", setup, sqlite.FdatasyncEnabled(), sqlite.OFDLockingEnabled())
	}
}

func TestS15_ErrorsQuoteNoArgument(t *testing.T) {
	const secret = "hunter2-secret"
	c := memory(t,
		`CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE CHECK (length(name) < 30), doc TEXT CHECK (json_valid(doc))) STRICT`,
		`CREATE VIRTUAL TABLE words USING fts5 (w)`,
		`CREATE TRIGGER speak BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'the row ' || new.name || ' is refused'); END`,
		`INSERT INTO t (id, name) VALUES (1, 'hunter2-secret')`,
	)
	for _, sql := range []string{
		`INSERT INTO t (name) VALUES (?)`,
		`INSERT INTO t (id) VALUES (?)`,
		`INSERT INTO t (name) VALUES (? || '0123456789012345678901234567890')`,
		`INSERT INTO t (doc) VALUES (?)`,
		`UPDATE t SET name = ?`,
		`SELECT json_extract('{}', ?)`,
		`SELECT json(?)`,
		`SELECT count(*) FROM words WHERE words MATCH ? || ' "unclosed'`,
		`SELECT count(*) FROM words WHERE words MATCH ? || ' : ('`,
		`SELECT json_extract('{}', '$' || ?)`,
	} {
		err := c.Tx(tx(sql, secret))
		if err == nil {
			t.Errorf("%s succeeded", sql)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := e.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "secret") {
				t.Errorf("%s: %s", sql, text)
			}
		}
		if !strings.Contains(err.Error(), strings.Fields(sql)[0]) {
			t.Errorf("%v does not name the statement", err)
		}
	}
	// What a person needs is there.
	err := c.Tx(tx(`INSERT INTO t (name) VALUES (?)`, secret))
	if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed: t.name") {
		t.Errorf("error = %v; want the constraint", err)
	}
	err = c.Tx(tx(`SELECT json(?)`, secret))
	if err == nil || !strings.Contains(err.Error(), "malformed JSON") {
		t.Errorf("error = %v; want the reason", err)
	}
}

func TestErrorsShowLongStatementsShort(t *testing.T) {
	c := memory(t)
	err := c.Tx(tx("SELECT 1 FROM nowhere\n\t WHERE '" + strings.Repeat("\u00e9", 500) + "' = 'x'"))
	if err == nil || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\t") {
		t.Errorf("error = %v", err)
	}
}

func TestTooFewArguments(t *testing.T) {
	c := memory(t, `CREATE TABLE t (a, b)`)
	wantClass(t, c.Tx(tx(`INSERT INTO t VALUES (?, ?)`, int64(1))), persistence.NotCommitted, persistence.ClassOther)
	// Those of the run before are not taken instead.
	if err := c.Tx(tx(`INSERT INTO t VALUES (?, ?)`, int64(1), int64(2))); err != nil {
		t.Fatal(err)
	}
	wantClass(t, c.Tx(tx(`INSERT INTO t VALUES (?, ?)`, int64(1))), persistence.NotCommitted, persistence.ClassOther)
	_, err := c.Query(t.Context(), persistence.Query{SQL: `SELECT ?, ?`, Args: []persistence.Value{"a"}})
	wantClass(t, err, persistence.NotCommitted, persistence.ClassOther)
	if got := single(t, c, `SELECT count(*) FROM t`); got != int64(1) {
		t.Errorf("%v rows; want 1", got)
	}
}

func TestTooLarge(t *testing.T) {
	c := memory(t, `CREATE TABLE t (a)`)
	err := c.Tx(tx(`INSERT INTO t VALUES (zeroblob(1000000001))`))
	wantClass(t, err, persistence.NotCommitted, persistence.ClassTooLarge)
	if !persistence.Definite(err) {
		t.Errorf("Definite(%v) = false", err)
	}
}

// SQLite has rolled back by itself when a table is full; the ROLLBACK after it
// finds no transaction, which is no failure.
func TestFullBeforeCommit(t *testing.T) {
	c := memory(t, `CREATE TABLE t (a)`)
	if _, err := c.Exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	err := c.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{
		{SQL: `INSERT INTO t VALUES (1)`, Rows: [][]persistence.Value{{}}},
		{SQL: `INSERT INTO t VALUES (?)`, Rows: [][]persistence.Value{{make([]byte, 200_000)}}},
	}}})
	wantClass(t, err, persistence.NotCommitted, persistence.ClassFull)
	if got := single(t, c, `SELECT count(*) FROM t`); got != int64(0) {
		t.Errorf("%v rows; want none", got)
	}
	if err := c.Tx(tx(`INSERT INTO t VALUES (1)`)); err != nil {
		t.Errorf("a small Tx after it = %v", err)
	}
}

// flaky fails to run one statement, whatever SQLite would say.
type flaky struct {
	rawConn
	text string
}

var errFlaky = errors.New("no answer")

func (f *flaky) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := f.rawConn.PrepareContext(ctx, text)
	if err == nil && text == f.text {
		return flakyStmt{s}, nil
	}
	return s, err
}

type flakyStmt struct{ driver.Stmt }

func (flakyStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return nil, errFlaky
}

func TestS2_7_OutcomeOfControlStatements(t *testing.T) {
	for _, want := range []struct {
		text    string
		bad     bool // a statement of the transaction fails too
		outcome persistence.Outcome
		class   persistence.Class
		lost    bool
	}{
		{"BEGIN IMMEDIATE", false, persistence.NotCommitted, persistence.ClassOther, false},
		{"COMMIT", false, persistence.Unknown, persistence.ClassOther, true},
		{"COMMIT", true, persistence.NotCommitted, persistence.ClassConstraint, false},
		{"ROLLBACK", false, persistence.NotCommitted, "", false},
		{"ROLLBACK", true, persistence.Unknown, persistence.ClassConstraint, true},
	} {
		t.Run(fmt.Sprint(want.text, want.bad), func(t *testing.T) {
			c := memory(t)
			if _, err := c.Exec(`CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT`); err != nil {
				t.Fatal(err)
			}
			c.raw = &flaky{c.raw, want.text}
			sql := `INSERT INTO t VALUES (1)`
			if want.bad {
				sql = `INSERT INTO t VALUES ('x')`
			}
			err := c.Tx(tx(sql))
			if want.class == "" {
				if err != nil {
					t.Errorf("Tx = %v", err)
				}
			} else {
				wantClass(t, err, want.outcome, want.class)
			}
			if c.Lost() != want.lost {
				t.Errorf("Lost = %v; want %v", c.Lost(), want.lost)
			}
			if want.lost {
				wantClass(t, c.Tx(tx(`SELECT 1`)), persistence.NotCommitted, persistence.ClassClosed)
			}
		})
	}
}

func TestDefinitionsAreNotKept(t *testing.T) {
	c := memory(t)
	for i := range 50 {
		if err := c.Tx(tx(fmt.Sprintf("CREATE TABLE t%d (a) STRICT", i))); err == nil {
			t.Fatal("a STRICT column without a type")
		}
		if err := c.Tx(tx(fmt.Sprintf("\n create TABLE t%d (a ANY) STRICT;\n", i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.stmts) > 3 {
		t.Errorf("%d statements kept; want BEGIN, COMMIT, ROLLBACK", len(c.stmts))
	}
}

// The driver makes a time of such a column's text; better no answer than another.
func TestColumnsThatTheDriverRewrites(t *testing.T) {
	c := memory(t, `CREATE TABLE t (d DATE)`, `INSERT INTO t VALUES ('2026-01-02')`)
	_, err := c.Query(t.Context(), persistence.Query{SQL: `SELECT d FROM t`})
	wantClass(t, err, persistence.NotCommitted, persistence.ClassOther)
	if got := single(t, c, `SELECT d || '' FROM t`); got != "2026-01-02" {
		t.Errorf("d = %v", got)
	}
}

func TestClosed(t *testing.T) {
	c := memory(t, `CREATE TABLE t (a)`)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, queried := c.Query(t.Context(), persistence.Query{SQL: `SELECT 1`})
	_, executed := c.Exec(`SELECT 1`)
	for _, err := range []error{c.Tx(tx(`SELECT 1`)), queried, executed, c.KeepWAL()} {
		wantClass(t, err, persistence.NotCommitted, persistence.ClassClosed)
	}
}

func TestClasses(t *testing.T) {
	c := memory(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL) STRICT`)
	for sql, class := range map[string]persistence.Class{
		`INSERT INTO t VALUES (1, NULL)`:   persistence.ClassConstraint,
		`INSERT INTO t VALUES ('x', 'a')`:  persistence.ClassConstraint,
		`INSERT INTO t VALUES (1, x'00')`:  persistence.ClassConstraint,
		`SELECT nothing FROM t`:            persistence.ClassOther,
		`SELECT abs(-9223372036854775808)`: persistence.ClassOther,
		`no SQL`:                           persistence.ClassOther,
	} {
		t.Run(sql, func(t *testing.T) { wantClass(t, c.Tx(tx(sql)), persistence.NotCommitted, class) })
	}
	if _, err := c.Exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	wantClass(t, c.Tx(tx(`INSERT INTO t VALUES (1, 'a')`)), persistence.NotCommitted, persistence.ClassReadOnly)
	_, err := Open("file:/nonexistent/directory/x.db")
	wantClass(t, err, persistence.NotCommitted, persistence.ClassIO)
}

// A statement that ends in RETURNING 1 is run without it; what it is counted as
// must be what SQLite would have returned.
func TestCountsWhatReturningOneReturns(t *testing.T) {
	for _, sql := range []string{
		`INSERT INTO t VALUES (9, 'x')`,
		`INSERT INTO t VALUES (1, 'taken') ON CONFLICT DO NOTHING`,
		`INSERT INTO t VALUES (1, 'y') ON CONFLICT DO UPDATE SET a = excluded.a`,
		`INSERT INTO t VALUES (1, 'y') ON CONFLICT DO UPDATE SET a = excluded.a WHERE a = 'none'`,
		`INSERT INTO t SELECT id + 10, a FROM t`,
		`INSERT OR REPLACE INTO t VALUES (1, 'z')`,
		`UPDATE t SET a = 'b' WHERE id > 1`,
		`UPDATE t SET a = a`,
		`UPDATE t SET a = 'b' WHERE id = 77`,
		`DELETE FROM t WHERE id < 3`,
		`DELETE FROM t`,
	} {
		t.Run(sql, func(t *testing.T) {
			fill := `INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')`
			c := memory(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL) STRICT`, fill)
			want := 0
			rows, err := c.Query(t.Context(), persistence.Query{SQL: sql + ` RETURNING id`})
			if want = len(rows); err != nil {
				t.Fatal(err)
			}
			for try := range 2 { // the second time it is prepared
				if err := c.Tx(tx(`DELETE FROM t`)); err != nil {
					t.Fatal(err)
				}
				if err := c.Tx(tx(fill)); err != nil {
					t.Fatal(err)
				}
				one := tx(sql + "\nRETURNING 1")
				one.Waves[0][0].Want = want + 1
				wantClass(t, c.Tx(one), persistence.NotCommitted, persistence.ClassMismatch)
				one.Waves[0][0].Want = want
				if err := c.Tx(one); err != nil {
					t.Errorf("try %d: Tx = %v; want %d rows", try, err, want)
				}
			}
		})
	}
}
