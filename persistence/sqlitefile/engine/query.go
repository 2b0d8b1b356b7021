package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"agentos/persistence"
)

// Query runs one read; see persistence.Querier. A Conn used for reads must have
// been opened so that it cannot write: Query itself runs what it is given.
//
// Cancelling ctx interrupts SQLite until the first row and is looked at between
// rows after that: the driver offers no more. So one step between two rows, a
// scan that finds nothing for long, is not cut short.
func (c *Conn) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.closed {
		return nil, errClosed()
	}
	s, err := c.prepared(q.SQL)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, s, q)
}

func (c *Conn) read(ctx context.Context, s *stmt, q persistence.Query) (out [][]persistence.Value, err error) {
	defer c.forgetArgs()
	args, err := c.bind(q.Args)
	if err != nil {
		return nil, failed(persistence.ClassOther, fmt.Errorf("run %q: %w", shorten(s.sql), err))
	}
	rows, err := s.raw.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, readError(ctx, s.sql, err)
	}
	defer func() {
		// Rows left open would hold their snapshot, and the log could not shrink.
		if closing := rows.Close(); closing != nil && err == nil {
			out, err = nil, readError(ctx, s.sql, closing)
		}
	}()
	return collect(ctx, s, q.MaxBytes, rows)
}

// collect copies rows out of SQLite.
func collect(ctx context.Context, s *stmt, maxBytes int64, rows driver.Rows) (out [][]persistence.Value, err error) {
	columns := len(rows.Columns())
	dest := make([]driver.Value, columns)
	slab := slab{columns: columns}
	for size := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := rows.Next(dest)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, readError(ctx, s.sql, err)
		}
		row := slab.row()
		n, err := copyRow(row, dest)
		if err != nil {
			return nil, failed(persistence.ClassOther, fmt.Errorf("run %q: %w", shorten(s.sql), err))
		}
		if size += n; maxBytes > 0 && size > maxBytes {
			return nil, failed(persistence.ClassResultLimit, fmt.Errorf("run %q: more than %d bytes", shorten(s.sql), maxBytes))
		}
		out = append(out, row)
	}
}

// slab cuts rows from larger pieces: one allocation a row is a tenth of a page.
type slab struct {
	columns int
	free    []persistence.Value
	rows    int // rows in the next piece
}

func (s *slab) row() []persistence.Value {
	if len(s.free) < s.columns || s.columns == 0 {
		s.rows = min(max(1, 4*s.rows), 64)
		s.free = make([]persistence.Value, s.columns*s.rows)
	}
	row := s.free[:s.columns:s.columns]
	s.free = s.free[s.columns:]
	return row
}

// copyRow copies one row and returns its bytes: the length of text and blobs, 8
// for a number, 0 for NULL. The driver gives text and blobs in memory of their
// own.
func copyRow(row []persistence.Value, dest []driver.Value) (int64, error) {
	size := int64(0)
	for i, v := range dest {
		switch x := v.(type) {
		case nil:
		case int64, float64:
			size += 8
		case string:
			size += int64(len(x))
		case []byte:
			size += int64(len(x))
			if x == nil {
				// The driver's empty blob is a nil []byte, its NULL is a nil
				// interface; database/sql would make both one.
				v = []byte{}
			}
		default:
			// The driver turns text of a column declared DATE into a time.
			return 0, fmt.Errorf("column %d came back as a %T, which is no SQLite value", i+1, v)
		}
		row[i] = v
	}
	return size, nil
}

// readError returns the context's own error if that is what ended the read.
func readError(ctx context.Context, sqlText string, err error) error {
	if cause := ctx.Err(); cause != nil && (errors.Is(err, cause) || interrupted(err)) {
		return cause
	}
	return runError(sqlText, err)
}
