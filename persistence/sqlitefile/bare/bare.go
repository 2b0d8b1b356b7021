// Package bare is the SQLite driver without anything of ours: one raw connection
// with the settings of the runtime's writer, statements prepared once, and a loop
// around them. It is what the runtime is measured against (agentos bench).
//
// It never checks a path, takes a lock, reads a setting back, classifies an error
// or keeps a value: all that is what a handle adds, and must not be part of the
// least that the same work could cost. Do not use it for data that matters.
//
// # Concurrency
//
// A Conn and its statements are used by one goroutine at a time; the driver
// corrupts memory otherwise. The package starts no goroutine.
//
// # Ownership
//
// Whoever opened a Conn closes it, and with it its statements.
package bare

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	// Its switches are the process's: fdatasync instead of fsync, OFD locks. Both
	// sides of a measurement have them.
	_ "agentos/persistence/sqlitefile/engine"
)

// settings are those of the runtime's writer.
const settings = "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=1" +
	"&_pragma=cache_size(-512)&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(8388608)&_pragma=temp_store(MEMORY)"

// Conn is one connection.
type Conn struct {
	raw   driver.Conn
	stmts []driver.Stmt
}

// Open opens the database at path, which may be open elsewhere. A file that is
// not there is made.
func Open(path string) (*Conn, error) {
	pool, err := sql.Open("sqlite", "") // opens nothing: it only knows the driver
	if err != nil {
		return nil, fmt.Errorf("find driver: %w", err)
	}
	d := pool.Driver()
	if err := pool.Close(); err != nil {
		return nil, fmt.Errorf("find driver: %w", err)
	}
	raw, err := d.Open((&url.URL{Scheme: "file", Path: path, RawQuery: settings}).String())
	if err != nil {
		return nil, fmt.Errorf("open bare database: %w", err)
	}
	return &Conn{raw: raw}, nil
}

// Exec prepares a statement that writes. The function runs it with one value for
// each parameter and returns how many rows it changed; one that is no INSERT,
// UPDATE or DELETE repeats the number of the one before.
func (c *Conn) Exec(text string) (func(args ...any) (changed int64, err error), error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	run, ok := s.(driver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("prepare: the driver's statement %T cannot be run", s)
	}
	var bound []driver.NamedValue // the driver copies it before it returns
	return func(args ...any) (int64, error) {
		bound = bind(bound, args)
		r, err := run.ExecContext(context.Background(), bound)
		if err != nil {
			return 0, fmt.Errorf("run bare statement: %w", err)
		}
		return r.RowsAffected()
	}, nil
}

// Rows prepares a statement that reads. The function runs it with one value for
// each parameter and shows every row to visit, which must not keep it.
func (c *Conn) Rows(text string) (func(visit func(row []any), args ...any) error, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	run, ok := s.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("prepare: the driver's statement %T cannot be read from", s)
	}
	var bound []driver.NamedValue
	var row []driver.Value
	var shown []any
	return func(visit func(row []any), args ...any) error {
		bound = bind(bound, args)
		rows, err := run.QueryContext(context.Background(), bound)
		if err != nil {
			return fmt.Errorf("run bare query: %w", err)
		}
		if row == nil {
			row = make([]driver.Value, len(rows.Columns()))
			shown = make([]any, len(row))
		}
		for {
			err := rows.Next(row)
			if errors.Is(err, io.EOF) {
				return rows.Close()
			}
			if err != nil {
				return errors.Join(fmt.Errorf("read bare row: %w", err), rows.Close())
			}
			for i, v := range row {
				shown[i] = v
			}
			visit(shown)
		}
	}, nil
}

func (c *Conn) prepare(text string) (driver.Stmt, error) {
	s, err := c.raw.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("prepare bare statement: %w", err)
	}
	c.stmts = append(c.stmts, s)
	return s, nil
}

// Close finalizes the statements and closes the connection. It is called once.
func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// bind fills room with the values, in order.
func bind(room []driver.NamedValue, values []any) []driver.NamedValue {
	room = room[:0]
	for i, v := range values {
		room = append(room, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return room
}
