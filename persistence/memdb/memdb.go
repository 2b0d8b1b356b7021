// Package memdb is the storage of a VM in memory: the same SQL and the same
// outcomes as a file, for simulations and tests.
//
// It never touches a disk, and it never loses a commit: what Tx returned nil for
// is there in every later handle of the Source, whether the one before was closed
// or simply forgotten, as a crash would have it. Faults are faultdb's business.
//
// # Concurrency
//
// A handle is used as persistence.DB says; a read and a transaction that overlap
// take turns. Opening again while an older handle is in use is allowed, and is
// how a crash is simulated: from then on the older one answers ClassClosed. The
// package starts no goroutine; the driver starts one for the length of a Query
// whose context can be cancelled.
//
// # Ownership
//
// Whoever called New calls Release, which frees the memory: it is SQLite's, and
// Go's collector does not see it.
package memdb

import (
	"context"
	"errors"
	"sync"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
)

// settings are those of a file, as far as they have a meaning here.
const settings = ":memory:?_foreign_keys=1&_pragma=temp_store(MEMORY)"

// Source is one database in memory. It implements persistence.Source.
type Source struct {
	mu      sync.Mutex // held through every use of conn
	conn    *engine.Conn
	current *handle         // the only one that is not closed
	reads   map[string]bool // texts that a Query was seen to run without writing
}

// New returns an empty database. It costs some ten microseconds.
// Errors are *persistence.Error.
func New() (*Source, error) {
	c, err := engine.Open(settings)
	if err != nil {
		return nil, err
	}
	return &Source{conn: c, reads: map[string]bool{}}, nil
}

// Open implements persistence.Source.
func (s *Source) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	h := &handle{source: s}
	s.mu.Lock()
	s.current = h
	s.mu.Unlock()
	if err := inspect(h); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Release implements persistence.Source: the data is gone.
func (s *Source) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	return s.conn.Close()
}

// handle is one opening of a Source.
type handle struct{ source *Source }

// use runs f with the connection if the handle is still the current one.
func (h *handle) use(f func(*engine.Conn) error) error {
	s := h.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != h {
		return &persistence.Error{Class: persistence.ClassClosed, Wave: -1, Stmt: -1, Err: errors.New("the database is closed")}
	}
	return f(s.conn)
}

// Tx implements persistence.DB.
func (h *handle) Tx(tx persistence.Tx) error {
	return h.use(func(c *engine.Conn) error { return c.Tx(tx) })
}

// Query implements persistence.Querier.
func (h *handle) Query(ctx context.Context, q persistence.Query) (rows [][]persistence.Value, err error) {
	err = h.use(func(c *engine.Conn) error {
		rows, err = h.source.read(ctx, c, q)
		return err
	})
	return rows, err
}

// read runs q so that it cannot write, as a file's reader cannot. Whether a
// statement writes does not depend on its arguments, so it is asked once a text.
func (s *Source) read(ctx context.Context, c *engine.Conn, q persistence.Query) (rows [][]persistence.Value, err error) {
	if s.reads[q.SQL] {
		return c.Query(ctx, q)
	}
	if _, err := c.Exec("PRAGMA query_only = 1"); err != nil {
		return nil, err
	}
	defer func() {
		if _, off := c.Exec("PRAGMA query_only = 0"); off != nil {
			rows, err = nil, errors.Join(err, off)
		}
	}()
	if rows, err = c.Query(ctx, q); err == nil {
		s.reads[q.SQL] = true
	}
	return rows, err
}

// Idle implements persistence.DB.
func (h *handle) Idle() error {
	return h.use(func(c *engine.Conn) error {
		_, err := c.Exec("PRAGMA shrink_memory")
		return err
	})
}

// Close implements persistence.DB. The data stays with the Source.
func (h *handle) Close() error {
	s := h.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == h {
		s.current = nil
	}
	return nil
}
