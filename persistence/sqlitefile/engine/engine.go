// Package engine runs transactions and reads on one raw SQLite connection. It is
// what the handles with SQLite in this process (sqlitefile, memdb) have in
// common: statements that stay prepared, the loop over waves, the outcome of a
// COMMIT, exact values, and the class of an error.
//
// It never opens a file by itself, sets no pragma, takes no lock and knows no
// path: the handles do. It never goes through database/sql, whose pool would
// break the rule of one connection and whose scanning loses the difference
// between an empty blob and NULL.
//
// # Concurrency
//
// A Conn is used by one goroutine at a time; the driver corrupts memory
// otherwise. It starts no goroutine; the driver starts one for the length of a
// Query whose context can be cancelled.
//
// # Ownership
//
// Whoever opened a Conn closes it. Nothing a Conn returns refers to memory of
// SQLite's or of the Conn's.
package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"agentos/persistence"
)

// Version is that of SQLite itself.
const Version = sqlite3.SQLITE_VERSION

// sqliteDriver is the registered driver, which alone has the functions and
// collations of the package; one made by hand has none. setup is what went
// wrong with it. Both process-wide switches MUST be set before the first file
// is opened, so they are set when the package is loaded.
var sqliteDriver, setup = loadDriver()

func loadDriver() (driver.Driver, error) {
	// A commit without the flush of timestamps is exactly as durable, and
	// faster where timestamps go through a slow journal. Not on every system.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, fmt.Errorf("switch to fdatasync: %w", err)
	}
	// POSIX locks of a file are dropped when anything in the process opens and
	// closes it, as the inspection before Open and every backup does.
	if _, err := sqlite.OFDLocking(true); err != nil && !errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return nil, fmt.Errorf("switch to OFD locks: %w", err)
	}
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return nil, fmt.Errorf("find driver: %w", err)
	}
	d := db.Driver()
	return d, db.Close()
}

// rawConn is what the driver's connection can do.
type rawConn interface {
	driver.Conn
	driver.ConnPrepareContext
	sqlite.FileControl
}

// Conn is one connection. Its statements stay prepared until Close.
type Conn struct {
	raw   rawConn
	stmts map[string]*stmt
	args  []driver.NamedValue // scratch: the driver copies arguments before it returns

	begin, commit, rollback *stmt // among stmts; nil until the first transaction
	definition              *stmt // the last one run that is not kept; see forTx

	// lost is set once the outcome of a transaction was unknown. Invariant:
	// when set, no statement of a transaction is run any more.
	lost   bool
	closed bool // the driver crashes when a closed connection is used
}

// Open opens dsn (driver syntax). Errors are *persistence.Error.
func Open(dsn string) (*Conn, error) {
	if setup != nil {
		return nil, failed(persistence.ClassOther, setup)
	}
	c, err := sqliteDriver.Open(dsn)
	if err != nil {
		return nil, failed(ClassOf(err), fmt.Errorf("open database: %w", err))
	}
	raw, ok := c.(rawConn)
	if !ok {
		return nil, failed(persistence.ClassOther, errors.Join(fmt.Errorf("open database: driver connection %T lacks an interface", c), c.Close()))
	}
	return &Conn{raw: raw, stmts: map[string]*stmt{}}, nil
}

// Lost reports whether the outcome of a transaction was unknown. Such a Conn
// only reads, until it is closed.
func (c *Conn) Lost() bool { return c.lost }

// KeepWAL makes Close leave the write-ahead log's file in place instead of
// deleting it, which saves creating it again at the next opening.
func (c *Conn) KeepWAL() error {
	if c.closed {
		return errClosed()
	}
	if _, err := c.raw.FileControlPersistWAL("main", 1); err != nil {
		return failed(ClassOf(err), fmt.Errorf("keep write-ahead log: %w", err))
	}
	return nil
}

// Exec runs one statement once, outside a transaction of Tx, and returns its
// first row (nil if there is none). For pragmas. The statement is not kept.
func (c *Conn) Exec(sqlText string) ([]persistence.Value, error) {
	s, err := c.newStmt(sqlText)
	if err != nil {
		return nil, err
	}
	rows, err := c.read(context.Background(), s, persistence.Query{SQL: sqlText})
	if err := errors.Join(err, s.close()); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0], nil
}

// Close finalizes the statements and closes the connection; an open transaction
// is rolled back by SQLite. Every later call returns ClassClosed, but Close
// itself: it does nothing the second time.
func (c *Conn) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	errs := []error{c.dropDefinition()}
	for _, s := range c.stmts {
		errs = append(errs, s.close())
	}
	clear(c.stmts)
	if err := c.raw.Close(); err != nil {
		errs = append(errs, failed(ClassOf(err), fmt.Errorf("close database: %w", err)))
	}
	return errors.Join(errs...)
}

// stmt is one prepared statement.
type stmt struct {
	sql string
	raw driver.Stmt
	// rowless is set when a run showed that the statement has no result
	// columns; the driver's cheaper way of running it is right then.
	rowless bool
}

// prepared returns the statement of a text, preparing it the first time.
func (c *Conn) prepared(sqlText string) (*stmt, error) {
	if s := c.stmts[sqlText]; s != nil {
		return s, nil
	}
	s, err := c.newStmt(sqlText)
	if err == nil {
		c.stmts[sqlText] = s
	}
	return s, err
}

func (c *Conn) newStmt(sqlText string) (*stmt, error) {
	if c.closed {
		return nil, errClosed()
	}
	// The driver takes anything behind the semicolon for a second statement and
	// then prepares the text again in every run.
	raw, err := c.raw.PrepareContext(context.Background(), strings.TrimRight(sqlText, "; \t\r\n"))
	if err != nil {
		// The text of SQLite's complaint about a constant holds no value.
		return nil, failed(ClassOf(err), fmt.Errorf("prepare %q: %w", shorten(sqlText), err))
	}
	return &stmt{sql: sqlText, raw: raw}, nil
}

func (s *stmt) close() error {
	if err := s.raw.Close(); err != nil {
		return failed(ClassOf(err), fmt.Errorf("finalize %q: %w", shorten(s.sql), err))
	}
	return nil
}
