// Package faultdb makes storage fail on demand: it wraps any source and lets the
// n-th transaction or read go wrong in a named way, so that what happens after a
// full disk, a lost answer or an unreadable database is an ordinary test.
//
// It never invents an outcome that a real database cannot have: a transaction
// that would have been refused is refused with the real error, even where its
// COMMIT was to fail, and after an unknown outcome a handle answers ClassClosed
// until it is opened again. It never uses time or randomness.
//
// # Plans
//
// A Plan counts over all openings. Its text, "committed_unanswered@3
// unreadable@7:applied:times=2", makes the same run again:
//
//	plan := faultdb.New(faultdb.Fault{At: 3, Way: faultdb.CommittedUnanswered})
//	src = faultdb.Wrap(src, plan)
//
// # Concurrency
//
// A wrapped handle is used as the one inside; a Plan by anybody at any time. The
// package starts no goroutine. A Slow transaction blocks its caller until its
// channel is closed: whoever plans one sees to that.
//
// # Ownership
//
// Release and Close pass through; the wrapper owns nothing.
package faultdb

import (
	"context"
	"fmt"
	"sync/atomic"

	"agentos/persistence"
)

// Wrap returns src with the faults of plan. Several sources may share a plan.
func Wrap(src persistence.Source, plan *Plan) persistence.Source {
	return &source{Source: src, plan: plan}
}

type source struct {
	persistence.Source
	plan *Plan
}

// Open implements persistence.Source.
func (s *source) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	if s.plan.nextOpen() {
		return nil, failure(persistence.NotCommitted, persistence.ClassIO, "open", Unreadable)
	}
	inner, err := s.Source.Open(func(q persistence.Querier) error {
		return inspect(&querier{inner: q, plan: s.plan})
	})
	if err != nil {
		return nil, err
	}
	return &db{DB: inner, querier: querier{inner: inner, plan: s.plan}}, nil
}

// querier is a Querier with faults.
type querier struct {
	inner persistence.Querier
	plan  *Plan
}

// Query implements persistence.Querier.
func (q *querier) Query(ctx context.Context, query persistence.Query) ([][]persistence.Value, error) {
	if q.plan.nextQuery() {
		return nil, failure(persistence.NotCommitted, persistence.ClassIO, "read", QueryFails)
	}
	return q.inner.Query(ctx, query)
}

// db is a handle with faults.
type db struct {
	persistence.DB
	querier querier
	lost    atomic.Bool // an outcome was unknown
}

// Query implements persistence.Querier.
func (d *db) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	return d.querier.Query(ctx, q)
}

// Tx implements persistence.DB.
func (d *db) Tx(tx persistence.Tx) error {
	plan := d.querier.plan
	if d.lost.Load() {
		return failure(persistence.NotCommitted, persistence.ClassClosed, "begin", "an unknown outcome")
	}
	f, ok := plan.nextTx()
	if !ok {
		return d.DB.Tx(tx)
	}
	if err := d.before(f, tx); err != nil {
		return err
	}
	plan.came(f)
	switch f.Way {
	case Refused:
		e := failure(persistence.NotCommitted, persistence.ClassConstraint, "run", f.Way)
		e.Wave, e.Stmt = 0, 0
		return e
	case NotCommitted:
		return failure(persistence.NotCommitted, persistence.ClassIO, "run", f.Way)
	case Full:
		return failure(persistence.NotCommitted, persistence.ClassFull, "run", f.Way)
	case Panic:
		panic(fmt.Sprintf("fault %s", f))
	case Slow:
		<-plan.gate(f)
		return d.DB.Tx(tx)
	}
	d.lost.Store(true)
	class := persistence.ClassIO
	if f.Way == FullAtCommit {
		class = persistence.ClassFull
	}
	return failure(persistence.Unknown, class, "commit", f.Way)
}

// before does to the real database what has happened to it when f strikes. An
// error of it is real, and f does not come about.
func (d *db) before(f Fault, tx persistence.Tx) error {
	switch f.Way {
	case CommittedUnanswered:
		return d.DB.Tx(tx)
	case LostUnanswered, FullAtCommit:
		return d.rehearse(tx)
	case Unreadable:
		if !f.Applied {
			return d.rehearse(tx)
		}
		return d.DB.Tx(tx)
	case Panic:
		if f.Applied {
			return d.DB.Tx(tx)
		}
	}
	return nil
}

// noRow returns nothing where one row is wanted.
const noRow = `SELECT 1 WHERE 0`

// rehearse runs tx up to COMMIT and rolls it back: its statements are followed by
// one that cannot be satisfied.
func (d *db) rehearse(tx persistence.Tx) error {
	waves := append(append([][]persistence.Stmt{}, tx.Waves...), []persistence.Stmt{{SQL: noRow, Rows: [][]persistence.Value{{}}, Want: 1}})
	err := d.DB.Tx(persistence.Tx{Key: tx.Key, Waves: waves})
	if e := persistence.AsError(err); e != nil && e.Class == persistence.ClassMismatch && e.Wave == len(tx.Waves) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("rehearse transaction: %q returned a row", noRow)
	}
	return err
}

func failure(outcome persistence.Outcome, class persistence.Class, verb string, why Way) *persistence.Error {
	return &persistence.Error{Outcome: outcome, Class: class, Wave: -1, Stmt: -1, Err: fmt.Errorf("%s: planned fault: %s", verb, why)}
}
