// Package persistence defines what the runtime asks of durable storage: one
// transaction at a time, given whole, and reads.
//
// The port is data only. A transaction is a list of waves of statements, so
// that a handle behind a socket can send a whole wave at once and a local one
// can run a loop; neither needs a callback between statements. Nothing here
// knows sessions, actors or SQL text: the owners (persistence/core, vfs,
// actorstate) make the statements, the handles (sqlitefile, memdb, actoruds)
// run them, and dbtest is the one suite that all handles pass.
//
// # Concurrency
//
// Tx is called by one goroutine at a time and Query by one other; the two may
// overlap. Close is called once, after both have returned for the last time.
//
// # Outcomes
//
// A transaction has one of three outcomes: Tx returned nil (committed), an
// Error with NotCommitted, or an Error with Unknown (the answer to COMMIT was
// missing or an error). Only whoever reads the fence key after reopening may
// turn Unknown into one of the other two (sessions.md S2.7).
package persistence

import (
	"context"
	"errors"
	"fmt"
)

// Value is a SQLite value: nil, int64, float64, string or []byte. An empty
// blob and NULL are different; an empty blob is a non-nil []byte of length 0.
type Value = any

// Stmt is one statement, run once per row of arguments.
type Stmt struct {
	SQL  string    // one statement with ? parameters; a constant, so that it can be prepared once
	Rows [][]Value // arguments, one slice a run; a statement without parameters has one empty row
	// Want is how many rows the runs must return in all, by RETURNING. A
	// different number rolls the transaction back with ClassMismatch: this is
	// compare-and-set. Negative: do not count.
	Want int
}

// Tx is one transaction.
type Tx struct {
	// Key is a fresh UUID. It is what the fence row holds afterwards iff the
	// transaction committed, and the lease of a handle behind a socket.
	Key string
	// Waves run in order. Statements of one wave are independent of each other:
	// a handle may run them in any order or all at once.
	Waves [][]Stmt
	// Relaxed says that the transaction need not survive a power cut by itself: it
	// means nothing without a later one, which makes both durable. Whatever else a
	// transaction promises it keeps, over the end of the process too. A handle may
	// pass it over.
	Relaxed bool
}

// Query is one read.
type Query struct {
	SQL      string
	Args     []Value
	MaxBytes int64 // bound on the bytes of all returned values; <= 0 means no bound
}

// Querier reads.
type Querier interface {
	// Query returns all rows, in order, in memory of the caller's own. It
	// returns an Error with ClassResultLimit when MaxBytes would be passed.
	// Cancelling ctx ends the read and nothing else.
	Query(ctx context.Context, q Query) ([][]Value, error)
}

// DB is an open handle on one VM's database.
type DB interface {
	Querier
	// Tx runs one transaction and returns nil when it is durable. It takes no
	// context: a cancelled statement would take the whole transaction with it.
	Tx(tx Tx) error
	// Idle tells the handle that nothing will be asked of it for a while: it
	// closes its reader and gives memory back. It runs where Tx runs.
	Idle() error
	// Close checkpoints and releases the handle.
	Close() error
}

// Source is where one VM's database lives. It holds the VM's exclusive lock
// from its creation to Release, over any number of openings, so that a handle
// can be reopened after an answer was lost without letting another process in.
type Source interface {
	// Open opens a handle. Before anything is written, not even a pragma,
	// inspect is called with a reader on what is there (nothing, for a new
	// database); if it returns an error the database is unchanged, byte for
	// byte, and Open returns that error. It may be answered from what an earlier
	// handle has read of the same bytes, so it asks what the database alone decides.
	Open(inspect func(Querier) error) (DB, error)
	// Release gives the lock back. It is called once, after the last DB of this
	// source was closed.
	Release() error
}

// Outcome is what became of a transaction that did not return nil.
type Outcome int

// The outcomes of an Error.
const (
	NotCommitted Outcome = iota // nothing of it is stored
	Unknown                     // reopen and read the fence key
)

// Class says what kind of trouble an Error is.
type Class string

// The classes of trouble.
const (
	ClassMismatch    Class = "mismatch"     // a statement returned another number of rows than Want
	ClassConstraint  Class = "constraint"   // a constraint refused a row
	ClassFull        Class = "full"         // disk or quota full
	ClassIO          Class = "io"           // the disk or the connection failed
	ClassReadOnly    Class = "read_only"    // the database cannot be written
	ClassBusy        Class = "busy"         // locked by somebody else
	ClassCorrupt     Class = "corrupt"      // the file is damaged or not a database
	ClassResultLimit Class = "result_limit" // a read is larger than MaxBytes
	ClassTooLarge    Class = "too_large"    // one value or frame is larger than the handle takes
	ClassClosed      Class = "closed"       // the handle is closed or gone
	ClassOther       Class = "other"        // anything else, a malformed statement for instance
)

// Error is the only error of Tx and Query, but for the context's own.
type Error struct {
	Outcome Outcome
	Class   Class
	// Wave and Stmt locate a mismatch or constraint within Tx.Waves; -1 where
	// they do not apply.
	Wave, Stmt int
	Err        error
}

func (e *Error) Error() string {
	if e.Outcome == Unknown {
		return fmt.Sprintf("outcome unknown (%s): %v", e.Class, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Class, e.Err)
}

// Unwrap returns the driver's error.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns the *Error in err's chain, or nil.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Definite reports whether err says that this very batch of statements was
// refused, so that a smaller group without it may succeed.
func Definite(err error) bool {
	e := AsError(err)
	return e != nil && e.Outcome == NotCommitted && (e.Class == ClassMismatch || e.Class == ClassConstraint || e.Class == ClassTooLarge)
}
