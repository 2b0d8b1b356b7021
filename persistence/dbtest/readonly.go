package dbtest

import (
	"context"
	"testing"

	"agentos/persistence"
)

var readonlyCases = []testCase{
	{"DoesNotWrite", doesNotWrite},
	{"S2_4_InspectCannotWrite", inspectCannotWrite},
}

func doesNotWrite(t *testing.T, b *bench) {
	db := b.db(t)
	for range 2 { // a statement that was prepared before is no better
		_, err := db.Query(context.Background(), persistence.Query{SQL: `INSERT INTO items (id, n) VALUES (1, 1) RETURNING id`})
		wantClass(t, err, persistence.ClassReadOnly)
	}
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
	mustTx(t, db, wave(items(1, 1)...))
}

func inspectCannotWrite(t *testing.T, b *bench) {
	src := b.source(t)
	for range 2 { // on nothing, then on something
		db, err := src.Open(func(q persistence.Querier) error {
			_, err := q.Query(context.Background(), persistence.Query{SQL: `CREATE TABLE sneaked (id INTEGER) STRICT`})
			wantClass(t, err, persistence.ClassReadOnly)
			return nil
		})
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		mustTx(t, db, wave(one(`CREATE TABLE IF NOT EXISTS there (id INTEGER) STRICT`)))
		wantRows(t, db, [][]persistence.Value{{int64(1)}}, countTables)
		mustClose(t, db)
	}
}
