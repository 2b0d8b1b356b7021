package core_test

import (
	"context"
	"fmt"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/protocol"
)

// reporter is what *testing.T and *rapid.T have in common.
type reporter interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

var ctx = context.Background()

// migrate brings db to the newest core schema.
func migrate(t reporter, db persistence.DB) {
	t.Helper()
	plan, err := schema.Inspect(db, []schema.Owner{core.Owner})
	if err != nil {
		t.Fatalf("Inspect = %v", err)
	}
	if err := schema.Run(db, plan, func() string { return "migration" }); err != nil {
		t.Fatalf("Run = %v", err)
	}
}

// template makes the newest schema at once. It is what the first migration made:
// with the race detector one takes 80 ms, and there are many databases.
var template []string

// newDB returns an empty database with the newest core schema.
func newDB(t reporter) persistence.DB {
	t.Helper()
	db := openDB(t)
	if template != nil {
		exec(t, db, template...)
		return db
	}
	migrate(t, db)
	for _, row := range read(t, db, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid`) {
		template = append(template, row[0].(string))
	}
	template = append(template,
		fmt.Sprintf(`INSERT INTO %s VALUES (1, %d)`, core.Owner.VersionTable, len(core.Owner.Steps)),
		`INSERT INTO agentos_core_totals VALUES (1, 0, 0, 0, 0)`)
	return db
}

// wipe empties a database, but for its schema.
func wipe(t reporter, db persistence.DB) {
	t.Helper()
	for table := range dump(t, db) {
		if table != core.Owner.VersionTable && table != "agentos_core_totals" {
			exec(t, db, `DELETE FROM `+table)
		}
	}
	exec(t, db, `UPDATE agentos_core_totals SET sessions = 0, prompts = 0, pending = 0, outcomes = 0`)
}

// exec runs statements of a test's own, in order.
func exec(t reporter, db persistence.DB, sql ...string) {
	t.Helper()
	var tx persistence.Tx
	for _, s := range sql {
		tx.Waves = append(tx.Waves, []persistence.Stmt{{SQL: s, Rows: [][]persistence.Value{{}}, Want: -1}})
	}
	if err := db.Tx(tx); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func read(t reporter, q persistence.Querier, sql string, args ...persistence.Value) [][]persistence.Value {
	t.Helper()
	rows, err := q.Query(ctx, persistence.Query{SQL: sql, Args: args})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// write commits a group of batches, or says why not.
func write(db persistence.DB, batches ...protocol.Batch) error {
	waves, err := core.Compile(batches)
	if err != nil {
		return err
	}
	return db.Tx(persistence.Tx{Key: "key", Waves: waves})
}

// mustWrite commits a group of batches.
func mustWrite(t reporter, db persistence.DB, batches ...protocol.Batch) {
	t.Helper()
	if err := write(db, batches...); err != nil {
		t.Fatalf("write = %v", err)
	}
}

// dump returns every row of every core table.
func dump(t reporter, q persistence.Querier) map[string][][]persistence.Value {
	t.Helper()
	all := make(map[string][][]persistence.Value)
	for _, row := range read(t, q, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'agentos_core_*'`) {
		name := row[0].(string)
		all[name] = read(t, q, `SELECT rowid, * FROM `+name+` ORDER BY rowid`)
	}
	return all
}

// noFindings fails the test if Check finds anything.
func noFindings(t reporter, q persistence.Querier) {
	t.Helper()
	findings, err := core.Check(ctx, q)
	if err != nil {
		t.Fatalf("Check = %v", err)
	}
	for _, f := range findings {
		t.Errorf("Check found: %v", f)
	}
}

// history reads all events of a session, in pages of n.
func history(t reporter, q persistence.Querier, id protocol.SessionID, n int) []protocol.Event {
	t.Helper()
	var all []protocol.Event
	for after := protocol.Sequence(0); ; {
		page, err := core.History(ctx, q, id, core.PageRequest{After: &after, Limit: n})
		if err != nil {
			t.Fatalf("History(%q, after %d) = %v", id, after, err)
		}
		all = append(all, page.Events...)
		if !page.HasMoreAfter {
			return all
		}
		after = page.Events[len(page.Events)-1].Sequence
	}
}

func seq(n protocol.Sequence) *protocol.Sequence { return &n }

func name[T ~string](kind string, n int) T { return T(fmt.Sprintf("%s-%d", kind, n)) }
