package dbtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"agentos/persistence"
)

var readsCases = []testCase{
	{"SeesTheLastCommitAtOnce", seesTheLastCommitAtOnce},
	{"NoRows", noRows},
	{"Arguments", arguments},
	{"Malformed", malformed},
	{"MaxBytes", maxBytes},
	{"CancelEndsTheReadAndNothingElse", cancelEndsTheReadAndNothingElse},
	{"BesideTransactions", besideTransactions},
}

func seesTheLastCommitAtOnce(t *testing.T, b *bench) {
	db := b.db(t)
	for i := range int64(20) {
		mustTx(t, db, wave(one(addItem, i, nil, int64(1))))
		wantRows(t, db, [][]persistence.Value{{i + 1}}, countItems)
	}
}

func noRows(t *testing.T, b *bench) {
	db := b.db(t)
	if got := rows(t, db, allItems); len(got) != 0 {
		t.Errorf("rows = %v; want none", got)
	}
}

func arguments(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(items(1, 9)...))
	wantRows(t, db, [][]persistence.Value{{int64(8), "item 8", int64(0)}, {int64(9), "item 9", int64(0)}}, itemsFrom, int64(8), int64(5))
	wantRows(t, db, [][]persistence.Value{{int64(3), "item 3", int64(0)}}, itemsFrom, int64(3), int64(1))
}

func malformed(t *testing.T, b *bench) {
	db := b.db(t)
	for _, q := range []persistence.Query{{SQL: `SELECT`}, {SQL: `SELECT * FROM nowhere`}} {
		_, err := db.Query(context.Background(), q)
		wantClass(t, err, persistence.ClassOther)
	}
	wantRows(t, db, [][]persistence.Value{{int64(0)}}, countItems)
}

func maxBytes(t *testing.T, b *bench) {
	db := b.db(t)
	st := persistence.Stmt{SQL: addCell}
	for i := range 10 {
		st.Rows = append(st.Rows, []persistence.Value{int64(i), strings.Repeat("x", 1000)})
	}
	mustTx(t, db, wave(st))
	const sql = `SELECT v FROM cells ORDER BY id`
	for _, c := range []struct {
		max int64
		ok  bool
	}{{0, true}, {-1, true}, {11_000, true}, {10_000, true}, {9_000, false}, {1, false}} {
		got, err := db.Query(context.Background(), persistence.Query{SQL: sql, MaxBytes: c.max})
		if c.ok && (err != nil || len(got) != 10) {
			t.Errorf("MaxBytes %d: %d rows, %v", c.max, len(got), err)
		}
		if !c.ok {
			wantClass(t, err, persistence.ClassResultLimit)
		}
	}
	mustTx(t, db, wave(one(addCell, int64(99), "after")))
}

func cancelEndsTheReadAndNothingElse(t *testing.T, b *bench) {
	db := b.db(t)
	mustTx(t, db, wave(items(1, 3)...))
	before, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Query(before, persistence.Query{SQL: allItems}); !errors.Is(err, context.Canceled) {
		t.Errorf("Query with a cancelled context = %v", err)
	}
	during, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := db.Query(during, persistence.Query{SQL: countForever})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Query cancelled = %v", err)
	}
	mustTx(t, db, wave(want(3, raiseAllConst)))
	wantRows(t, db, [][]persistence.Value{{int64(3), int64(3)}}, sumItems)
}

// besideTransactions reads while it writes: every read is of one commit, and no
// read is of an earlier one than the one before.
func besideTransactions(t *testing.T, b *bench) {
	db := b.db(t)
	const commits, each = 60, 5
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		last := int64(0)
		for {
			got, err := db.Query(context.Background(), persistence.Query{SQL: sumItems})
			if err != nil {
				t.Errorf("Query = %v", err)
				return
			}
			n := got[0][0].(int64)
			if n%each != 0 || got[0][1] != n || n < last {
				t.Errorf("read %v after %d items; want whole commits, never fewer", got[0], last)
				return
			}
			last = n
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for c := range commits {
		st := persistence.Stmt{SQL: addItem}
		for i := range each {
			st.Rows = append(st.Rows, []persistence.Value{int64(c*each + i), nil, int64(1)})
		}
		mustTx(t, db, wave(st))
	}
	close(stop)
	wg.Wait()
	wantRows(t, db, [][]persistence.Value{{int64(commits * each), int64(commits * each)}}, sumItems)
}
