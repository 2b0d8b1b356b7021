package sqlitefile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
)

// roleEnv names what a second process of this test binary is to do.
const roleEnv = "SQLITEFILE_TEST_ROLE"

var roles = map[string]func(args []string) error{
	"hold":   roleHold,
	"leave":  roleLeave,
	"append": roleAppend,
	"open":   roleOpen,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child is a second process.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
	in    io.Closer
}

// start runs a role. The process is killed when the test ends, at the latest.
func start(t *testing.T, cred *syscall.Credential, role string, args ...string) *child {
	t.Helper()
	// The binary lies in a directory that an ordinary user cannot search.
	c := &child{Cmd: exec.Command("/proc/self/exe", args...)}
	c.Dir = "/"
	// The race detector's runtime would wait a second at the end of each process.
	c.Env = append(os.Environ(), roleEnv+"="+role, "TMPDIR="+os.TempDir(), "GORACE=atexit_sleep_ms=0")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	c.in, c.lines = in, bufio.NewScanner(out)
	c.Stderr = os.Stderr
	must(t, c.Start())
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.kill(t)
		}
	})
	return c
}

// line waits for the next line of the process.
func (c *child) line(t testing.TB) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the process ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// kill ends the process as a power cut for processes does, and waits for it.
func (c *child) kill(t testing.TB) {
	t.Helper()
	must(t, c.Process.Kill())
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		t.Fatalf("Wait = %v; want the kill", err)
	}
}

// finish lets the process end by itself.
func (c *child) finish(t testing.TB) {
	t.Helper()
	must(t, c.in.Close())
	for c.lines.Scan() {
		t.Errorf("unexpected line %q", c.lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	createRows = `CREATE TABLE rows (n INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT`
	addRow     = `INSERT INTO rows (n, payload) VALUES (?, ?)`
	countRows  = `SELECT count(*), coalesce(max(n), 0) FROM rows`
)

func accept(persistence.Querier) error { return nil }

func run(db persistence.DB, sql string, args ...persistence.Value) error {
	return db.Tx(persistence.Tx{Key: "key", Waves: [][]persistence.Stmt{{{SQL: sql, Rows: [][]persistence.Value{args}}}}})
}

func read(t testing.TB, q persistence.Querier, sql string) []persistence.Value {
	t.Helper()
	rows, err := q.Query(context.Background(), persistence.Query{SQL: sql})
	must(t, err)
	if len(rows) != 1 {
		t.Fatalf("%s = %v; want one row", sql, rows)
	}
	return rows[0]
}

func acquire(t testing.TB, path string, o sqlitefile.Options) persistence.Source {
	t.Helper()
	src, err := sqlitefile.Acquire(path, o)
	must(t, err)
	return src
}

// openNew acquires and opens a database that is made if it is missing.
func openNew(t testing.TB, path string) (persistence.Source, persistence.DB) {
	t.Helper()
	src := acquire(t, path, sqlitefile.Options{Create: true})
	db, err := src.Open(accept)
	must(t, err)
	return src, db
}

func closeAll(t testing.TB, src persistence.Source, db persistence.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := src.Release(); err != nil {
		t.Errorf("Release = %v", err)
	}
}

// filled makes a database with one table of three rows.
func filled(t testing.TB, path string) {
	t.Helper()
	src, db := openNew(t, path)
	must(t, run(db, createRows))
	for n := range int64(3) {
		must(t, run(db, addRow, n, "payload"))
	}
	closeAll(t, src, db)
}

// roleHold holds a database until its standard input ends.
func roleHold(args []string) error {
	src, err := sqlitefile.Acquire(args[0], sqlitefile.Options{Create: true, Command: "agentos serve", Socket: "/run/door.sock"})
	if err != nil {
		return err
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return src.Release()
}

// roleLeave fills a database and stays, so that it can be killed with its log.
func roleLeave(args []string) error {
	src, err := sqlitefile.Acquire(args[0], sqlitefile.Options{Create: true})
	if err != nil {
		return err
	}
	db, err := src.Open(accept)
	if err != nil {
		return err
	}
	if err := run(db, createRows); err != nil {
		return err
	}
	for n := range int64(3) {
		if err := run(db, addRow, n, "payload"); err != nil {
			return err
		}
	}
	fmt.Println("filled")
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// roleAppend appends rows from a number on and says each one that is stored.
func roleAppend(args []string) error {
	src, err := sqlitefile.Acquire(args[0], sqlitefile.Options{Create: true})
	if err != nil {
		return err
	}
	db, err := src.Open(accept)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	if n == 0 {
		if err := run(db, createRows); err != nil {
			return err
		}
	}
	for {
		n++
		if err := run(db, addRow, n, payload(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// payload makes some transactions spill over many pages.
func payload(n int64) string { return fmt.Sprintf("%0*d", 100+n%7*3000, n) }

func db(t testing.TB) string { return filepath.Join(t.TempDir(), "vm.db") }
