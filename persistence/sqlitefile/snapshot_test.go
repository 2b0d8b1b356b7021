package sqlitefile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

var errRefused = errors.New("refused by the test")

// look returns what lies in a directory, but for the lock file: names, modes,
// times and bytes.
func look(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	seen := map[string]string{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".lock" {
			continue
		}
		info, err := e.Info()
		must(t, err)
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		seen[e.Name()] = fmt.Sprintf("%v %d bytes %x at %v", info.Mode(), len(data), sha256.Sum256(data), info.ModTime())
	}
	return seen
}

func wantUnchanged(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, look(t, dir)); diff != "" {
		t.Errorf("the directory changed (-before +after):\n%s", diff)
	}
}

// killed leaves a database with a log and its index, as a killed process does.
func killed(t testing.TB, path string) {
	t.Helper()
	c := start(t.(*testing.T), nil, "leave", path)
	if got := c.line(t); got != "filled" {
		t.Fatal(got)
	}
	c.kill(t)
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(path + suffix); err != nil || info.Size() == 0 {
			t.Fatalf("%s: %v, %v; want what a killed process leaves", suffix, info, err)
		}
	}
}

// hot leaves a database of another program in the middle of a transaction that
// has changed its rows in the file, with the journal that undoes it.
func hot(t testing.TB, path string) {
	t.Helper()
	c := foreign(t, path)
	execAll(t, c, `PRAGMA cache_size = 1`, `PRAGMA cache_spill = 1`, `BEGIN`, `UPDATE rows SET payload = '`+strings.Repeat("changed ", 200)+`'`)
	for n := 10; n < 100; n++ { // pages that push the changed ones out of the cache
		execAll(t, c, fmt.Sprintf(`INSERT INTO rows VALUES (%d, '%01000d')`, n, n))
	}
	saved := map[string][]byte{}
	for _, suffix := range []string{"", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		saved[suffix] = data
	}
	execAll(t, c, `ROLLBACK`)
	must(t, c.Close())
	if !bytes.Contains(saved[""], []byte("changed changed")) || saved["-journal"][0] == 0 {
		t.Fatal("the transaction has not reached the file")
	}
	for suffix, data := range saved {
		must(t, os.WriteFile(path+suffix, data, 0o600))
	}
}

// foreign makes a database with a rollback journal, as other programs do, of
// three rows, too long for one page, and returns the connection.
func foreign(t testing.TB, path string) driver.Conn {
	t.Helper()
	c, err := bareDriver(t).Open("file:" + path)
	must(t, err)
	execAll(t, c, createRows)
	for n := range 3 {
		execAll(t, c, fmt.Sprintf(`INSERT INTO rows VALUES (%d, '%s')`, n, strings.Repeat("as it is", 200)))
	}
	return c
}

func execAll(t testing.TB, c driver.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := c.(driver.ExecerContext).ExecContext(context.Background(), text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// wantThree wants the three rows that were committed, as they were.
func wantThree(t testing.TB, q persistence.Querier) {
	t.Helper()
	row := read(t, q, `SELECT count(*), sum(payload GLOB 'changed*') FROM rows`)
	if row[0] != int64(3) || row[1] != int64(0) {
		t.Errorf("%v rows, %v of them changed; want the 3 committed ones", row[0], row[1])
	}
}

func TestS2_4_RefusedStaysByteForByte(t *testing.T) {
	for name, make := range map[string]func(t testing.TB, path string){
		"Closed":  filled,
		"Killed":  killed,
		"Foreign": func(t testing.TB, path string) { must(t, foreign(t, path).Close()) },
		"Hot":     hot,
		"NoIndex": func(t testing.TB, path string) { killed(t, path); must(t, os.Remove(path+"-shm")) },
		"NoLog": func(t testing.TB, path string) {
			filled(t, path)
			must(t, os.Remove(path+"-wal"))
			must(t, os.Remove(path+"-shm"))
		},
		"TornLog": func(t testing.TB, path string) {
			killed(t, path)
			f, err := os.OpenFile(path+"-wal", os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.Write(bytes.Repeat([]byte("torn"), 500))
			must(t, errors.Join(err, f.Close()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := db(t)
			make(t, path)
			dir := filepath.Dir(path)
			before := look(t, dir)
			src := acquire(t, path, sqlitefile.Options{Create: true})
			_, err := src.Open(func(q persistence.Querier) error {
				wantThree(t, q)
				_, err := q.Query(context.Background(), persistence.Query{SQL: `INSERT INTO rows VALUES (99, 'x')`})
				if e := persistence.AsError(err); e == nil || e.Class != persistence.ClassReadOnly {
					t.Errorf("writing in an inspection = %v", err)
				}
				return errRefused
			})
			if err != errRefused {
				t.Errorf("Open = %v; want the inspection's error itself", err)
			}
			wantUnchanged(t, dir, before)
			h, err := src.Open(accept)
			must(t, err)
			wantThree(t, h)
			must(t, run(h, addRow, int64(3), "x"))
			closeAll(t, src, h)
		})
	}
}

func TestS2_4_NotADatabase(t *testing.T) {
	random := make([]byte, 10_000)
	rand.New(rand.NewSource(1)).Read(random)
	for name, c := range map[string]struct {
		data []byte
		code protocol.Code
	}{
		"Text":            {[]byte("This is a text file, and longer than the header of a database, which has a hundred bytes in all.\n"), protocol.CodeNotAVMDatabase},
		"ShortText":       {[]byte("x"), protocol.CodeNotAVMDatabase},
		"Random":          {random, protocol.CodeNotAVMDatabase},
		"Zeros":           {make([]byte, 8192), protocol.CodeNotAVMDatabase},
		"MagicOnly":       {[]byte("SQLite format 3\x00"), protocol.CodeNotAVMDatabase},
		"MagicThenRandom": {append([]byte("SQLite format 3\x00"), random...), protocol.CodeNotAVMDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			path := db(t)
			must(t, os.WriteFile(path, c.data, 0o640))
			refusedUnchanged(t, path, c.code)
		})
	}
}

func TestDamagedIsNotForeign(t *testing.T) {
	path := db(t)
	src, h := openNew(t, path)
	must(t, run(h, createRows))
	for n := range int64(200) {
		must(t, run(h, addRow, n, payload(n)))
	}
	closeAll(t, src, h)
	must(t, os.Truncate(path, 5*4096+100))
	refusedUnchanged(t, path, protocol.CodeStorageError)
}

// A lock file is made beside what may be a database only: who mistakes a letter
// for one finds nothing beside it. Where there is one it is used.
func TestS2_4_NoLockFileBesideWhatIsNoDatabase(t *testing.T) {
	path := db(t)
	must(t, os.WriteFile(path, []byte("This is a letter.\n"), 0o640))
	for _, o := range []sqlitefile.Options{{}, {Create: true}, {ReadOnly: true}} {
		_, err := sqlitefile.Acquire(path, o)
		wantCode(t, err, protocol.CodeNotAVMDatabase)
		if _, err := os.Lstat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: the lock file: %v", o, err)
		}
	}
	must(t, os.WriteFile(path+".lock", nil, 0o600))
	src := acquire(t, path, sqlitefile.Options{})
	_, err := sqlitefile.Acquire(path, sqlitefile.Options{})
	wantCode(t, err, protocol.CodeVMInUse)
	must(t, src.Release())
}

// refusedUnchanged opens what must be refused before anybody inspects it: with
// the lock file of an earlier time beside it, and without.
func refusedUnchanged(t *testing.T, path string, code protocol.Code) {
	t.Helper()
	dir := filepath.Dir(path)
	before := look(t, dir)
	src, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	if err != nil {
		wantCode(t, err, code)
		wantUnchanged(t, dir, before)
		must(t, os.WriteFile(path+".lock", nil, 0o600))
		src = acquire(t, path, sqlitefile.Options{Create: true})
	}
	defer func() { must(t, src.Release()) }()
	_, err = src.Open(func(persistence.Querier) error {
		t.Error("an inspection was asked for")
		return nil
	})
	wantCode(t, err, code)
	wantUnchanged(t, dir, before)
}

func TestS2_4_RefusedNewDatabaseIsNotMade(t *testing.T) {
	path := db(t)
	src := acquire(t, path, sqlitefile.Options{Create: true})
	if _, err := src.Open(func(persistence.Querier) error { return errRefused }); err != errRefused {
		t.Errorf("Open = %v", err)
	}
	wantUnchanged(t, filepath.Dir(path), map[string]string{})
	must(t, src.Release())
}

func TestReadOnlySourceChangesNothing(t *testing.T) {
	for name, make := range map[string]func(t testing.TB, path string){"Closed": filled, "Killed": killed, "Hot": hot} {
		t.Run(name, func(t *testing.T) {
			path := db(t)
			make(t, path)
			before := look(t, filepath.Dir(path))
			src := acquire(t, path, sqlitefile.Options{ReadOnly: true})
			h, err := src.Open(accept)
			must(t, err)
			wantThree(t, h)
			if e := persistence.AsError(run(h, addRow, int64(9), "x")); e == nil || e.Class != persistence.ClassReadOnly {
				t.Errorf("Tx = %v; want read_only", e)
			}
			must(t, h.Idle())
			closeAll(t, src, h)
			wantUnchanged(t, filepath.Dir(path), before)
		})
	}
}
