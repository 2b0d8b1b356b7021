package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"agentos/persistence"
)

// Tx runs tx in one transaction that takes the write lock at its start: one that
// reads first and then finds somebody else has written fails at once, whatever
// the busy timeout. See persistence.DB for the outcomes. After an unknown
// outcome every further call returns ClassClosed.
//
// It takes no context: SQLite rolls a whole transaction back when one of its
// statements is interrupted, and would run the next one outside of it.
func (c *Conn) Tx(tx persistence.Tx) error {
	if c.closed {
		return errClosed()
	}
	if c.lost {
		return failed(persistence.ClassClosed, errors.New("the outcome of an earlier transaction is unknown; open the database again"))
	}
	if err := c.prepareControl(); err != nil {
		return err
	}
	defer c.forgetArgs()
	if err := c.control(c.begin); err != nil {
		return failed(ClassOf(err), fmt.Errorf("begin: %w", err))
	}
	if err := c.waves(tx.Waves); err != nil {
		return c.abandon(err)
	}
	if err := c.control(c.commit); err != nil {
		// SQLite may or may not have written the commit record, and a crash
		// may yet bring it to light. Only the fence row can tell.
		c.lost = true
		return unknown(ClassOf(err), fmt.Errorf("commit: %w", err))
	}
	return nil
}

// prepareControl does its work in the first transaction of a Conn only.
func (c *Conn) prepareControl() (err error) {
	if c.begin != nil {
		return nil
	}
	if c.commit, err = c.prepared("COMMIT"); err != nil {
		return err
	}
	if c.rollback, err = c.prepared("ROLLBACK"); err != nil {
		return err
	}
	c.begin, err = c.prepared("BEGIN IMMEDIATE")
	return err
}

// control runs BEGIN, COMMIT or ROLLBACK.
func (c *Conn) control(s *stmt) error {
	_, err := s.raw.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return err
}

// abandon rolls back after cause and returns what Tx is to return.
func (c *Conn) abandon(cause *persistence.Error) error {
	err := c.control(c.rollback)
	if err == nil || rolledBackAlready(err) {
		return cause
	}
	c.lost = true
	return unknown(cause.Class, fmt.Errorf("roll back: %w (after: %w)", err, cause))
}

// waves runs all statements. Its error says where.
func (c *Conn) waves(waves [][]persistence.Stmt) *persistence.Error {
	for w := range waves {
		for i := range waves[w] {
			if e := c.runAll(&waves[w][i]); e != nil {
				e.Wave, e.Stmt = w, i
				return e
			}
		}
	}
	return nil
}

// justOne ends the statements that return a row only to be counted. SQLite counts
// changed rows anyway, and the driver's way of returning a row costs as much as a
// small update: the loop runs the statement without this end, and counts changes.
// They are the same number, as the port's statements have no triggers.
const justOne = "RETURNING 1"

func (c *Conn) runAll(st *persistence.Stmt) *persistence.Error {
	text, counted := countable(st.SQL)
	s, err := c.forTx(text)
	if err != nil {
		return persistence.AsError(err)
	}
	returned := 0
	for _, row := range st.Rows {
		n, err := c.runOnce(s, row, counted)
		if err != nil {
			return persistence.AsError(err)
		}
		returned += n
	}
	if st.Want >= 0 && returned != st.Want {
		return failed(persistence.ClassMismatch, fmt.Errorf("run %q: %d rows returned, want %d", shorten(st.SQL), returned, st.Want))
	}
	return nil
}

// countable returns sqlText without the end that only makes it countable.
func countable(sqlText string) (text string, counted bool) {
	text, counted = strings.CutSuffix(sqlText, justOne)
	if !counted {
		return sqlText, false
	}
	return strings.TrimRight(text, " \t\r\n"), true
}

// forTx returns the prepared statement of a text. Definitions of tables run once
// in a database's life: they are not worth keeping, and each of them makes
// SQLite prepare all kept statements again. One goes out with the next.
func (c *Conn) forTx(sqlText string) (*stmt, error) {
	if !definition(sqlText) {
		return c.prepared(sqlText)
	}
	if err := c.dropDefinition(); err != nil {
		return nil, err
	}
	s, err := c.newStmt(sqlText)
	c.definition = s
	return s, err
}

func (c *Conn) dropDefinition() error {
	if c.definition == nil {
		return nil
	}
	old := c.definition
	c.definition = nil
	return old.close()
}

func definition(sqlText string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(sqlText, " \t\r\n"), " ")
	switch strings.ToUpper(word) {
	case "CREATE", "DROP", "ALTER":
		return true
	}
	return false
}

// runOnce runs s with one row of arguments and returns how many rows came back.
func (c *Conn) runOnce(s *stmt, row []persistence.Value, counted bool) (int, error) {
	args, err := c.bind(row)
	if err != nil {
		return 0, failed(persistence.ClassOther, fmt.Errorf("run %q: %w", shorten(s.sql), err))
	}
	if s.rowless || counted {
		r, err := s.raw.(driver.StmtExecContext).ExecContext(context.Background(), args)
		if err != nil {
			return 0, runError(s.sql, err)
		}
		if !counted {
			return 0, nil
		}
		n, err := r.RowsAffected()
		return int(n), err
	}
	rows, err := s.raw.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return 0, runError(s.sql, err)
	}
	columns := len(rows.Columns())
	s.rowless = columns == 0
	n, err := count(rows, columns)
	if err != nil {
		return 0, runError(s.sql, err)
	}
	return n, nil
}

// count drains and closes rows.
func count(rows driver.Rows, columns int) (int, error) {
	dest := make([]driver.Value, columns)
	for n := 0; ; n++ {
		err := rows.Next(dest)
		if err == io.EOF {
			return n, rows.Close()
		}
		if err != nil {
			// Close only repeats the error of the failed step.
			return n, errors.Join(err, ignoreRepeated(rows.Close(), err))
		}
	}
}

func ignoreRepeated(closing, err error) error {
	if closing != nil && closing.Error() == err.Error() {
		return nil
	}
	return closing
}

// bind returns row as the driver's arguments, in the Conn's scratch space.
func (c *Conn) bind(row []persistence.Value) ([]driver.NamedValue, error) {
	for len(c.args) < len(row) {
		c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1})
	}
	for i, v := range row {
		switch v.(type) {
		case nil, int64, float64, string, []byte:
			c.args[i].Value = v
		default:
			// The driver would store a time as Go prints it and refuse an int.
			return nil, fmt.Errorf("argument %d is a %T, which is no SQLite value", i+1, v)
		}
	}
	return c.args[:len(row)], nil
}

// forgetArgs lets go of the values that the scratch space still refers to.
func (c *Conn) forgetArgs() {
	for i := range c.args {
		c.args[i].Value = nil
	}
}
