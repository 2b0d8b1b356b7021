package sqlitefile_test

import (
	"fmt"
	"strconv"
	"testing"

	"agentos/persistence/sqlitefile"
)

// A writer is killed again and again; what it said was stored is there.
func TestKillKeepsEveryAcknowledgedRow(t *testing.T) {
	path := db(t)
	acknowledged := int64(0)
	for round := range 10 {
		writer := start(t, nil, "append", path, fmt.Sprint(acknowledged))
		for range 20 + round*7 {
			n, err := strconv.ParseInt(writer.line(t), 10, 64)
			must(t, err)
			acknowledged = n
		}
		must(t, writer.Process.Kill())
		for writer.lines.Scan() { // it went on until the signal reached it
			if n, err := strconv.ParseInt(writer.lines.Text(), 10, 64); err == nil {
				acknowledged = n
			}
		}
		if err := writer.Wait(); err == nil {
			t.Fatal("the writer ended by itself")
		}
		acknowledged = checkRows(t, path, acknowledged)
	}
}

// checkRows returns the last row stored: one more may be than was acknowledged.
func checkRows(t *testing.T, path string, acknowledged int64) int64 {
	t.Helper()
	src := acquire(t, path, sqlitefile.Options{})
	h, err := src.Open(accept)
	must(t, err)
	defer closeAll(t, src, h)
	if got := read(t, h, `PRAGMA integrity_check`); got[0] != "ok" {
		t.Errorf("integrity_check = %v", got)
	}
	row := read(t, h, countRows)
	count, last := row[0].(int64), row[1].(int64)
	if count != last || last < acknowledged || last > acknowledged+1 {
		t.Errorf("%d rows up to %d; %d were acknowledged", count, last, acknowledged)
	}
	if got := read(t, h, `SELECT count(*) FROM rows WHERE CAST(payload AS INTEGER) <> n OR length(payload) <> 100 + n % 7 * 3000`); got[0] != int64(0) {
		t.Errorf("%v rows are damaged", got[0])
	}
	return last
}
