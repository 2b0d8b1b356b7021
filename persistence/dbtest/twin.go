package dbtest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"agentos/persistence"
)

// twin is the dumbest database there is: the items by id, with their n.
type twin map[int64]int64

const removeItem = `DELETE FROM items WHERE id = ? RETURNING id`

// randomTransactions runs random transactions on the handle and on a twin. The statements
// of a wave are about different items, so their order cannot matter.
func randomTransactions(t *testing.T, b *bench) {
	rapid.Check(t, func(rt *rapid.T) {
		src := b.make(t)
		db := open(t, src)
		mustTx(t, db, wave(one(createItems)))
		now := twin{}
		for range rapid.IntRange(1, 8).Draw(rt, "transactions") {
			next := maps.Clone(now)
			waves, class, w, s := drawTx(rt, next)
			err := db.Tx(persistence.Tx{Key: key(), Waves: waves})
			e := persistence.AsError(err)
			if class == "" {
				if err != nil {
					rt.Fatalf("Tx = %v; want nil", err)
				}
				now = next
			} else if e == nil || e.Outcome != persistence.NotCommitted || e.Class != class || e.Wave != w || e.Stmt != s {
				rt.Fatalf("Tx = %+v; want %s in wave %d, statement %d", e, class, w, s)
			}
			now.compare(rt, db)
			if rapid.IntRange(0, 4).Draw(rt, "reopen") == 0 {
				mustClose(t, db)
				db = open(t, src)
			}
		}
		mustClose(t, db)
		if err := src.Release(); err != nil {
			rt.Fatalf("Release = %v", err)
		}
	})
}

// drawTx draws a transaction, does it to the twin, and says how it has to end: by
// the class and place of its first refusal.
func drawTx(rt *rapid.T, now twin) (waves [][]persistence.Stmt, class persistence.Class, w, s int) {
	w, s = -1, -1
	for range rapid.IntRange(0, 3).Draw(rt, "waves") {
		var stmts []persistence.Stmt
		for _, id := range rapid.SliceOfNDistinct(rapid.Int64Range(0, 5), 0, 3, rapid.ID).Draw(rt, "ids") {
			st, refusal := now.draw(rt, id)
			stmts = append(stmts, st)
			if refusal != "" && class == "" {
				class, w, s = refusal, len(waves), len(stmts)-1
			}
		}
		waves = append(waves, stmts)
	}
	return waves, class, w, s
}

// draw draws one statement about an item and does it.
func (now twin) draw(rt *rapid.T, id int64) (persistence.Stmt, persistence.Class) {
	n, there := now[id]
	switch rapid.SampledFrom([]string{"add", "add", "set", "set", "stale", "remove", "negative"}).Draw(rt, "what") {
	case "add":
		if there {
			return one(addItem, id, nil, int64(1)), persistence.ClassConstraint
		}
		now[id] = 1
		return one(addItem, id, nil, int64(1)), ""
	case "negative":
		return one(addItem, id, nil, int64(-1)), persistence.ClassConstraint
	case "stale":
		return want(1, setItem, n+1, id, n+1000), persistence.ClassMismatch
	case "remove":
		if !there {
			return want(1, removeItem, id), persistence.ClassMismatch
		}
		delete(now, id)
		return want(1, removeItem, id), ""
	default:
		if !there {
			return want(0, setItem, n+1, id, n), ""
		}
		now[id] = n + 1
		return want(1, setItem, n+1, id, n), ""
	}
}

// compare compares the whole database with the twin.
func (now twin) compare(rt *rapid.T, q persistence.Querier) {
	var want [][]persistence.Value
	for _, id := range slices.Sorted(maps.Keys(now)) {
		want = append(want, []persistence.Value{id, nil, now[id]})
	}
	got, err := q.Query(context.Background(), persistence.Query{SQL: allItems})
	if err != nil {
		rt.Fatalf("Query = %v", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("items (-want +got):\n%s", diff)
	}
}
