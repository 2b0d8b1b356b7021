package sqlitefile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
)

// questions are what the inspections of these tests ask.
var questions = []persistence.Query{
	{SQL: `SELECT name, sql FROM sqlite_schema`, MaxBytes: 1 << 20},
	{SQL: `SELECT version, note, absent FROM version WHERE version > ?`, Args: []persistence.Value{int64(0)}},
}

// asking returns an inspection, and where it puts the answers and whether they
// came from a recall.
func asking() (inspect func(persistence.Querier) error, got *[][][]persistence.Value, recalled *bool) {
	got, recalled = new([][][]persistence.Value), new(bool)
	return func(q persistence.Querier) error {
		*got = nil
		for _, question := range questions {
			rows, err := q.Query(context.Background(), question)
			if err != nil {
				return err
			}
			*got = append(*got, rows)
		}
		*recalled = q.(*inspector).look == nil
		return nil
	}, got, recalled
}

func askAll(q persistence.Querier) error {
	inspect, _, _ := asking()
	return inspect(q)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// slept leaves a database of version 7 as a clean end does, once it has been
// asked the questions.
func slept(t testing.TB, path string) {
	t.Helper()
	src, err := Acquire(path, Options{Create: true})
	must(t, err)
	db, err := src.Open(accept)
	must(t, err)
	must(t, write(db, `CREATE TABLE version (version INTEGER, note TEXT, absent TEXT) STRICT`, `INSERT INTO version VALUES (7, 'as "it" <is> ü', NULL)`,
		`CREATE TABLE other (n INTEGER) STRICT`, `INSERT INTO other VALUES (1)`))
	must(t, db.Close())
	must(t, src.Release())
	again(t, path)
}

// again opens and closes a database and returns the answers and whether they came
// from a recall. The next opening has one, if this one was sound.
func again(t testing.TB, path string) (got [][][]persistence.Value, recalled bool) {
	t.Helper()
	src, err := Acquire(path, Options{})
	must(t, err)
	inspect, answers, from := asking()
	db, err := src.Open(inspect)
	must(t, err)
	must(t, db.Close())
	must(t, src.Release())
	return *answers, *from
}

func lines(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path + ".lock")
	must(t, err)
	return data
}

// other runs statements as a program does that knows nothing of lock files.
func other(t testing.TB, path string, texts ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	for _, text := range texts {
		_, err := pool.Exec(text)
		must(t, err)
	}
	must(t, pool.Close())
}

func TestRecallAnswersAsTheFileDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	before := lines(t, path)
	want := [][]persistence.Value{{int64(7), `as "it" <is> ü`, nil}}
	got, recalled := again(t, path)
	if !recalled {
		t.Error("the database was looked at again")
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(got[0]), "CREATE TABLE version") {
		t.Errorf("schema = %v", got[0])
	}
	if !bytes.Equal(before, lines(t, path)) {
		t.Error("the same database has another recall")
	}
	// A holder's line, and nothing else, while it is held.
	src, err := Acquire(path, Options{Command: "a test"})
	must(t, err)
	var h holder
	if err := json.Unmarshal(lines(t, path), &h); err != nil || h.PID != os.Getpid() {
		t.Errorf("the lock file of a holder = %q, %v", lines(t, path), err)
	}
	must(t, src.Release())
	if h, held := HolderOf(path); held {
		t.Errorf("HolderOf = %+v; want nobody", h)
	}
	// Neither who only holds it nor who only reads it takes it from the next.
	src, err = Acquire(path, Options{ReadOnly: true})
	must(t, err)
	db, err := src.Open(accept)
	must(t, err)
	must(t, db.Close())
	must(t, src.Release())
	if !bytes.Equal(before, lines(t, path)) {
		t.Error("a reader changed the recall")
	}
}

// A commit changes the answers, not only their file.
func TestRecallFollowsTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	for version := int64(8); version < 12; version++ {
		src, err := Acquire(path, Options{})
		must(t, err)
		inspect, got, recalled := asking()
		db, err := src.Open(inspect)
		must(t, err)
		if row := (*got)[1][0]; !*recalled || row[0] != version-1 {
			t.Errorf("answer %v, recalled %v; want version %d, recalled", row, *recalled, version-1)
		}
		must(t, write(db, fmt.Sprintf(`UPDATE version SET version = %d`, version)))
		must(t, db.Close())
		// A second handle of one Source has it from memory.
		db, err = src.Open(inspect)
		must(t, err)
		if row := (*got)[1][0]; !*recalled || row[0] != version {
			t.Errorf("answer %v, recalled %v; want version %d, recalled", row, *recalled, version)
		}
		must(t, db.Close())
		must(t, src.Release())
	}
}

// S2.4: whatever was done to the database since, an inspection hears what is in
// it now. The times are put back each time: they decide nothing.
func TestS2_4_RecallThatLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(t testing.TB, path string)
		want int64
	}{
		"ChangedBySQLite": {func(t testing.TB, path string) { other(t, path, `UPDATE version SET version = 9`) }, 9},
		"ChangedBytes": {func(t testing.TB, path string) {
			data := bytesOf(t, path)
			at := bytes.LastIndex(data, []byte("\x07as \"it\""))
			if at < 0 {
				t.Fatal("no row")
			}
			data[at] = 9
			must(t, os.WriteFile(path, data, 0o600))
		}, 9},
		"Replaced": {func(t testing.TB, path string) {
			elsewhere := filepath.Join(t.TempDir(), "vm.db")
			slept(t, elsewhere)
			other(t, elsewhere, `UPDATE version SET version = 9`)
			must(t, os.Rename(elsewhere, path))
		}, 9},
		"BackupRestored": {func(t testing.TB, path string) {
			backup := bytesOf(t, path)
			src, err := Acquire(path, Options{})
			must(t, err)
			db, err := src.Open(askAll)
			must(t, err)
			must(t, write(db, `UPDATE version SET version = 9`))
			must(t, db.Close())
			must(t, src.Release())
			must(t, os.WriteFile(path, backup, 0o600))
		}, 7},
		"LogWithCommits": {func(t testing.TB, path string) {
			kept := lines(t, path)
			src, err := Acquire(path, Options{})
			must(t, err)
			db, err := src.Open(askAll)
			must(t, err)
			must(t, write(db, `UPDATE version SET version = 9`))
			data, log := bytesOf(t, path), bytesOf(t, path+"-wal")
			must(t, db.Close())
			must(t, src.Release())
			must(t, os.WriteFile(path, data, 0o600))
			must(t, os.WriteFile(path+"-wal", log, 0o600))
			must(t, os.WriteFile(path+".lock", kept, 0o600))
		}, 9},
		"Journal": {func(t testing.TB, path string) {
			must(t, os.WriteFile(path+"-journal", []byte("as good as one"), 0o600))
		}, 7},
		"Larger": {func(t testing.TB, path string) {
			other(t, path, `CREATE TABLE large AS SELECT zeroblob(100000)`)
		}, 7},
		"LinesOfAnother": {func(t testing.TB, path string) {
			elsewhere := filepath.Join(t.TempDir(), "vm.db")
			slept(t, elsewhere)
			other(t, elsewhere, `UPDATE version SET version = 9`)
			again(t, elsewhere)
			must(t, os.WriteFile(path+".lock", lines(t, elsewhere), 0o600))
		}, 7},
		"OtherSQLite": {func(t testing.TB, path string) {
			r := parseRecall(lines(t, path))
			r.SQLite = "3.0.0"
			must(t, os.WriteFile(path+".lock", r.encode(), 0o600))
		}, 7},
		"Empty":    {func(t testing.TB, path string) { must(t, os.WriteFile(path+".lock", nil, 0o600)) }, 7},
		"Huge":     {func(t testing.TB, path string) { must(t, os.Truncate(path+".lock", 1<<30)) }, 7},
		"HugeText": {func(t testing.TB, path string) { appendTo(t, path+".lock", bytes.Repeat([]byte{' '}, maxRecallBytes)) }, 7},
		"Longer":   {func(t testing.TB, path string) { appendTo(t, path+".lock", []byte("\n")) }, 7},
		"Cut": {func(t testing.TB, path string) {
			must(t, os.Truncate(path+".lock", int64(len(lines(t, path))-1)))
		}, 7},
		"DeadHolder": {func(t testing.TB, path string) {
			must(t, os.WriteFile(path+".lock", []byte(`{"pid":1,"startTime":1,"command":"x","socket":""}`+"\n"), 0o600))
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vm.db")
			slept(t, path)
			info, err := os.Stat(path)
			must(t, err)
			c.lie(t, path)
			must(t, os.Chtimes(path, time.Now(), info.ModTime()))
			got, recalled := again(t, path)
			if recalled {
				t.Error("the recall was believed")
			}
			if row := got[1][0]; row[0] != c.want {
				t.Errorf("the inspection heard %v; want version %d", row, c.want)
			}
			if _, recalled = again(t, path); !recalled {
				t.Error("the next opening has no recall")
			}
		})
	}
}

func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func appendTo(t testing.TB, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, append(bytesOf(t, path), data...), 0o600))
}

// Every byte that SQLite read counts, and every byte of the lines.
func TestS2_4_RecallOfOtherBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	at, err := locate(path, false)
	must(t, err)
	kept := lines(t, path)
	r := parseRecall(kept)
	if r == nil || !r.holds(at) {
		t.Fatal("no recall that holds")
	}
	data := bytesOf(t, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	for _, e := range r.Reads {
		for n := e[0]; n < e[0]+e[1]; n += 37 {
			for _, b := range []byte{data[n] ^ 1, data[n]} {
				_, err := f.WriteAt([]byte{b}, n)
				must(t, err)
				if r.holds(at) != (b == data[n]) {
					t.Fatalf("byte %d is %d instead of %d: holds = %v", n, b, data[n], b != data[n])
				}
			}
		}
	}
	for n := range kept {
		damaged := bytes.Clone(kept)
		damaged[n] ^= 1
		if parseRecall(damaged) != nil {
			t.Fatalf("damaged at byte %d it was believed", n)
		}
	}
	for _, bad := range [][]extent{nil, {{-1, 10}}, {{0, 0}}, {{0, -5}}, {{0, 1 << 40}}, {{1 << 40, 10}}, {{1 << 62, 1 << 62}}, make([]extent, maxReads+1)} {
		lie := *r
		lie.Reads = bad
		if lie.holds(at) {
			t.Errorf("reads %v were believed", bad)
		}
	}
}

// S2.4: who is refused from a recall leaves nothing behind, not even beside it.
func TestS2_4_RefusedFromARecall(t *testing.T) {
	for name, change := range map[string]func(t testing.TB, path string){
		"AsItWas": func(testing.TB, string) {},
		"NoLog":   func(t testing.TB, path string) { must(t, errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm"))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "vm.db")
			slept(t, path)
			change(t, path)
			before := everything(t, dir)
			refuse := errors.New("refused")
			src, err := Acquire(path, Options{})
			must(t, err)
			inspect, got, recalled := asking()
			_, err = src.Open(func(q persistence.Querier) error {
				if err := inspect(q); err != nil {
					return err
				}
				return refuse
			})
			if err != refuse || !*recalled || (*got)[1][0][0] != int64(7) {
				t.Errorf("Open = %v, recalled %v, %v", err, *recalled, *got)
			}
			// A question that is new, and one that writes.
			_, err = src.Open(func(q persistence.Querier) error {
				rows, err := q.Query(context.Background(), persistence.Query{SQL: `SELECT n FROM other`})
				if err != nil || len(rows) != 1 || rows[0][0] != int64(1) {
					t.Errorf("a new question: %v, %v", rows, err)
				}
				_, err = q.Query(context.Background(), persistence.Query{SQL: `DELETE FROM version`})
				if e := persistence.AsError(err); e == nil || e.Class != persistence.ClassReadOnly {
					t.Errorf("writing in an inspection = %v", err)
				}
				return refuse
			})
			if err != refuse {
				t.Errorf("Open = %v", err)
			}
			must(t, src.Release())
			if diff := cmp.Diff(before, everything(t, dir)); diff != "" {
				t.Errorf("the directory changed (-before +after):\n%s", diff)
			}
		})
	}
}

// everything returns what lies in a directory, but for the time of the lock file.
func everything(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	all := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		at := info.ModTime()
		if filepath.Ext(e.Name()) == ".lock" {
			at = time.Time{}
		}
		all[e.Name()] = fmt.Sprintf("%v %x at %v", info.Mode(), sha256.Sum256(bytesOf(t, filepath.Join(dir, e.Name()))), at)
	}
	return all
}
