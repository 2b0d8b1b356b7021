// Package dbtest is the one suite that every storage handle passes: it says in
// code what the comments of package persistence say in words.
//
// It never looks at files or sockets; what is special to a handle is tested
// beside the handle. It keeps to what all of them can do: its SQL texts are
// constants, no statement depends on an earlier one of the same wave, and text is
// UTF-8.
//
// # Concurrency
//
// Cases run one after the other; one of them uses a handle from two goroutines,
// which is what the race detector is for. Every goroutine has ended when its case
// ends.
//
// # Ownership
//
// The suite opens and closes handles and releases every source it was given.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
)

// The statements of the suite.
const (
	createItems = `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER NOT NULL CHECK (n >= 0)) STRICT`
	createCells = `CREATE TABLE cells (id INTEGER PRIMARY KEY, v ANY) STRICT`
	indexItems  = `CREATE INDEX items_n ON items (n)`

	addItem       = `INSERT INTO items (id, name, n) VALUES (?, ?, ?)`
	addItemBack   = `INSERT INTO items (id, name, n) VALUES (?, ?, ?) RETURNING id`
	setItem       = `UPDATE items SET n = ? WHERE id = ? AND n = ? RETURNING id`
	raiseAll      = `UPDATE items SET n = n + ? RETURNING id, n`
	raiseAllConst = `UPDATE items SET n = n + 1 RETURNING id`
	addCell       = `INSERT INTO cells (id, v) VALUES (?, ?)`
	allItems      = `SELECT id, name, n FROM items ORDER BY id`
	itemsFrom     = `SELECT id, name, n FROM items WHERE id >= ? ORDER BY id LIMIT ?`
	countItems    = `SELECT count(*) FROM items`
	sumItems      = `SELECT count(*), coalesce(sum(n), 0) FROM items`
	allCells      = `SELECT id, v, typeof(v) FROM cells ORDER BY id`
	countTables   = `SELECT count(*) FROM sqlite_schema WHERE type = 'table'`
	countForever  = `WITH RECURSIVE up(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM up WHERE i < 20000000) SELECT count(*) FROM up`
)

// testCase is one case of the suite.
type testCase struct {
	name string
	run  func(*testing.T, *bench)
}

// Run runs the suite. newSource returns a source of a new, empty database; the
// suite releases it.
func Run(t *testing.T, newSource func(t testing.TB) persistence.Source) {
	runCases(t, newSource, "Outcome", outcomeCases)
	runCases(t, newSource, "Values", valuesCases)
	runCases(t, newSource, "Reads", readsCases)
	runCases(t, newSource, "Lifetime", lifetimeCases)
	runCases(t, newSource, "Twin", []testCase{{"RandomTransactions", randomTransactions}})
}

// RunReadOnly runs the cases for handles that keep a read from writing. A handle
// on a database of somebody else's cannot promise that.
func RunReadOnly(t *testing.T, newSource func(t testing.TB) persistence.Source) {
	runCases(t, newSource, "ReadOnly", readonlyCases)
}

func runCases(t *testing.T, newSource func(t testing.TB) persistence.Source, group string, cases []testCase) {
	for _, c := range cases {
		t.Run(group+"/"+c.name, func(t *testing.T) { c.run(t, &bench{make: newSource}) })
	}
}

// bench makes the databases of one group of cases.
type bench struct {
	make func(t testing.TB) persistence.Source
}

// source returns a new source, released when the test ends.
func (b *bench) source(t testing.TB) persistence.Source {
	t.Helper()
	src := b.make(t)
	t.Cleanup(func() {
		if err := src.Release(); err != nil {
			t.Errorf("Release = %v", err)
		}
	})
	return src
}

// db returns a handle on a new database with the suite's tables.
func (b *bench) db(t testing.TB) persistence.DB {
	t.Helper()
	db := open(t, b.source(t))
	t.Cleanup(func() { mustClose(t, db) })
	mustTx(t, db, wave(one(createItems), one(createCells)), wave(one(indexItems)))
	return db
}

func open(t testing.TB, src persistence.Source) persistence.DB {
	t.Helper()
	db, err := src.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	return db
}

func mustClose(t testing.TB, db persistence.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// one is a statement that runs once and returns nothing.
func one(sql string, args ...persistence.Value) persistence.Stmt {
	return persistence.Stmt{SQL: sql, Rows: [][]persistence.Value{args}}
}

// want is a statement that runs once and returns n rows.
func want(n int, sql string, args ...persistence.Value) persistence.Stmt {
	return persistence.Stmt{SQL: sql, Rows: [][]persistence.Value{args}, Want: n}
}

func wave(stmts ...persistence.Stmt) []persistence.Stmt { return stmts }

// key returns a fresh key; a handle behind a socket uses each once.
var key = func() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
}()

func mustTx(t testing.TB, db persistence.DB, waves ...[]persistence.Stmt) {
	t.Helper()
	if err := db.Tx(persistence.Tx{Key: key(), Waves: waves}); err != nil {
		t.Fatalf("Tx = %v", err)
	}
}

// refused runs a transaction that must not commit and returns its error.
func refused(t testing.TB, db persistence.DB, class persistence.Class, waves ...[]persistence.Stmt) *persistence.Error {
	t.Helper()
	err := db.Tx(persistence.Tx{Key: key(), Waves: waves})
	e := persistence.AsError(err)
	if e == nil || e.Outcome != persistence.NotCommitted || e.Class != class {
		t.Fatalf("Tx = %v; want not committed, %s", err, class)
	}
	return e
}

func rows(t testing.TB, q persistence.Querier, sql string, args ...persistence.Value) [][]persistence.Value {
	t.Helper()
	got, err := q.Query(context.Background(), persistence.Query{SQL: sql, Args: args})
	if err != nil {
		t.Fatalf("Query %q = %v", sql, err)
	}
	return got
}

func wantRows(t testing.TB, q persistence.Querier, want [][]persistence.Value, sql string, args ...persistence.Value) {
	t.Helper()
	if diff := cmp.Diff(want, rows(t, q, sql, args...)); diff != "" {
		t.Errorf("Query %q (-want +got):\n%s", sql, diff)
	}
}

func wantClass(t testing.TB, err error, class persistence.Class) {
	t.Helper()
	if e := persistence.AsError(err); e == nil || e.Class != class {
		t.Errorf("error = %v; want class %s", err, class)
	}
}

var errRefused = errors.New("refused by the test")
