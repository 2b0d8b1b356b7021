package dbtest

import (
	"fmt"
	"testing"

	"agentos/persistence"
)

var outcomeCases = []testCase{
	{"WavesRunInOrder", wavesRunInOrder},
	{"ManyRowsInOneStatement", manyRowsInOneStatement},
	{"ReturningManyRows", returningManyRows},
	{"NoRowsOfArgumentsIsNoRun", noRowsOfArgumentsIsNoRun},
	{"EmptyTransaction", emptyTransaction},
	{"MismatchRollsEverythingBack", mismatchRollsEverythingBack},
	{"ConstraintRollsEverythingBack", constraintRollsEverythingBack},
	{"MalformedStatement", malformedStatement},
	{"SchemaChangesUnderPreparedStatements", schemaChangesUnderPreparedStatements},
}

func wavesRunInOrder(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db,
		wave(one(addItem, int64(1), "a", int64(10)), one(addItem, int64(2), "b", int64(20))),
		wave(want(1, setItem, int64(11), int64(1), int64(10)), want(1, setItem, int64(21), int64(2), int64(20))),
		wave(want(2, raiseAllConst)),
	)
	wantRows(t, db, [][]persistence.Value{{int64(1), "a", int64(12)}, {int64(2), "b", int64(22)}}, allItems)
}

func manyRowsInOneStatement(t *testing.T, b *bench) {
	db := b.db(t)
	st := persistence.Stmt{SQL: addItemBack, Want: 1500}
	for i := range 1500 {
		st.Rows = append(st.Rows, []persistence.Value{int64(i), fmt.Sprint("name ", i), int64(1)})
	}
	mustTx(t, db, wave(st))
	wantRows(t, db, [][]persistence.Value{{int64(1500), int64(1500)}}, sumItems)
}

func returningManyRows(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(items(1, 7)...))
	mustTx(t, db, wave(want(7, raiseAll, int64(5))))
	e := refused(t, db, persistence.ClassMismatch, wave(want(6, raiseAll, int64(5))))
	wantPlace(t, e, 0, 0)
	refused(t, db, persistence.ClassMismatch, wave(want(0, raiseAll, int64(5))))
	mustTx(t, db, wave(want(-1, raiseAll, int64(1))))
	wantRows(t, db, [][]persistence.Value{{int64(7), int64(7 * 6)}}, sumItems)
}

func noRowsOfArgumentsIsNoRun(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(persistence.Stmt{SQL: addItem}))
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
}

func emptyTransaction(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db)
	mustTx(t, db, wave())
}

func mismatchRollsEverythingBack(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(items(1, 2)...))
	e := refused(t, db, persistence.ClassMismatch,
		wave(one(addItem, int64(7), "x", int64(0))),
		wave(one(addItem, int64(8), "y", int64(0)), want(1, setItem, int64(9), int64(1), int64(77))),
		wave(one(addItem, int64(9), "z", int64(0))),
	)
	wantPlace(t, e, 1, 1)
	if !persistence.Definite(e) {
		t.Errorf("Definite(%v) = false", e)
	}
	wantRows(t, db, [][]persistence.Value{{int64(2), int64(0)}}, sumItems)
	mustTx(t, db, wave(want(1, setItem, int64(9), int64(1), int64(0))))
}

func constraintRollsEverythingBack(t *testing.T, b *bench) {
	for name, bad := range map[string]persistence.Stmt{
		"Unique":  one(addItem, int64(50), "item 1", int64(0)),
		"Primary": one(addItem, int64(1), "other", int64(0)),
		"Check":   one(addItem, int64(50), "other", int64(-1)),
		"NotNull": one(addItem, int64(50), "other", nil),
		"Type":    one(addItem, int64(50), "other", "no number"),
		"Second":  {SQL: addItem, Rows: [][]persistence.Value{{int64(60), "sixty", int64(0)}, {int64(60), "again", int64(0)}}},
	} {
		t.Run(name, func(t *testing.T) {
			db := b.db(t)
			mustTx(t, db, wave(items(1, 1)...))
			e := refused(t, db, persistence.ClassConstraint, wave(one(addItem, int64(7), "x", int64(0))), wave(one(addItem, int64(8), "y", int64(0)), bad))
			wantPlace(t, e, 1, 1)
			wantRows(t, db, [][]persistence.Value{{int64(1)}}, countItems)
			mustTx(t, db, wave(one(addItem, int64(7), "x", int64(0))))
			wantRows(t, db, [][]persistence.Value{{int64(2)}}, countItems)
		})
	}
}

func malformedStatement(t *testing.T, b *bench) {
	db := b.db(t)
	refused(t, db, persistence.ClassOther, wave(one(addItem, int64(7), "x", int64(0))), wave(one(`INSERT INTO nowhere VALUES (1)`)))
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
	mustTx(t, db, wave(items(1, 1)...))
}

func schemaChangesUnderPreparedStatements(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(items(1, 1)...))
	rows(t, db, allItems)
	mustTx(t, db, wave(one(`ALTER TABLE items ADD COLUMN extra TEXT`)), wave(one(`CREATE TABLE more (id INTEGER) STRICT;
	`)), wave(one(`INSERT INTO more (id) VALUES (?)`, int64(1)), one(addItem, int64(2), "item 2", int64(0))))
	wantRows(t, db, [][]persistence.Value{{int64(2)}}, countItems)
	if got := rows(t, db, allItems); len(got) != 2 {
		t.Errorf("rows = %v; want 2", got)
	}
}

// items returns statements that add the items first..last with n = 0.
func items(first, last int) []persistence.Stmt {
	st := persistence.Stmt{SQL: addItem}
	for i := first; i <= last; i++ {
		st.Rows = append(st.Rows, []persistence.Value{int64(i), fmt.Sprint("item ", i), int64(0)})
	}
	return wave(st)
}

func wantPlace(t testing.TB, e *persistence.Error, w, s int) {
	t.Helper()
	if e.Wave != w || e.Stmt != s {
		t.Errorf("error names wave %d, statement %d; want %d, %d (%v)", e.Wave, e.Stmt, w, s, e)
	}
}
