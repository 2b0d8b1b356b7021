package sqlitefile

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agentos/persistence"
	"agentos/protocol"
)

// What is damaged is refused before anybody judges it, recall or not: also where
// no inspection reads.
func TestRecallOfADamagedDatabase(t *testing.T) {
	for want, damage := range map[protocol.Code]func(path string, size int) error{
		protocol.CodeNotAVMDatabase: func(path string, size int) error { return os.WriteFile(path, make([]byte, size), 0o600) },
		protocol.CodeStorageError:   func(path string, size int) error { return os.Truncate(path, int64(size-4096)) },
	} {
		path := filepath.Join(t.TempDir(), "vm.db")
		slept(t, path)
		must(t, damage(path, len(bytesOf(t, path))))
		src, err := Acquire(path, Options{})
		must(t, err)
		_, err = src.Open(func(persistence.Querier) error { t.Error("an inspection was asked for"); return nil })
		if protocol.CodeOf(err) != want {
			t.Errorf("Open = %v; want %s", err, want)
		}
		must(t, src.Release())
		if left := lines(t, path); len(left) != 0 {
			t.Errorf("a recall that does not hold was kept: %q", left)
		}
	}
}

// Nothing is remembered that was read from a log, nor more than has room.
func TestNoRecallOfALogOrOfMuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	src, err := Acquire(path, Options{})
	must(t, err)
	db, err := src.Open(accept)
	must(t, err)
	at := src.(*source).at
	must(t, write(db, `CREATE TABLE large (n INTEGER PRIMARY KEY, filling TEXT) STRICT`))
	must(t, write(db, `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 600) INSERT INTO large SELECT n, hex(zeroblob(1900)) FROM n`))
	if r := remember(at, questions); r != nil {
		t.Errorf("with a log: %+v", r)
	}
	must(t, db.Close())
	if r := remember(at, questions); r == nil {
		t.Error("without a log: nothing")
	}
	for _, tc := range [][]persistence.Query{
		{{SQL: `SELECT count(filling) FROM large`}},
		{{SQL: `SELECT filling FROM large WHERE n < 20`}},
		{{SQL: `SELECT 1.5`}},
		{{SQL: `SELECT no_such_column FROM version`}},
		make([]persistence.Query, maxAnswers+1),
	} {
		if r := remember(at, tc); r.encode() != nil {
			t.Errorf("after %v there is a recall", tc)
		}
	}
	must(t, src.Release())
}

// The line of a holder that died is not put back by who only takes the lock.
func TestDeadHolderIsNotPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	must(t, os.WriteFile(path+".lock", []byte(`{"pid":1,"startTime":1,"command":"x","socket":""}`+"\n"), 0o600))
	src, err := Acquire(path, Options{})
	must(t, err)
	must(t, src.Release())
	if left := lines(t, path); len(left) != 0 {
		t.Errorf("the lock file = %q", left)
	}
}

func TestRecallThroughASymlink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	kept := lines(t, path)
	must(t, os.Rename(path+".lock", path+".elsewhere"))
	must(t, os.Symlink(path+".elsewhere", path+".lock"))
	if _, err := Acquire(path, Options{}); protocol.CodeOf(err) != protocol.CodeStorageError {
		t.Errorf("Acquire = %v", err)
	}
	if data := bytesOf(t, path+".elsewhere"); !bytes.Equal(data, kept) {
		t.Error("what the symlink points to was changed")
	}
}

// An end that is not clean leaves no recall: here somebody still reads.
func TestNoRecallWithALogInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vm.db")
	slept(t, path)
	pool, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer pool.Close()
	rows, err := pool.Query(`SELECT name FROM sqlite_schema`)
	must(t, err)
	rows.Next()
	src, err := Acquire(path, Options{})
	must(t, err)
	db, err := src.Open(accept)
	must(t, err)
	must(t, write(db, `UPDATE version SET version = 8`))
	if e := persistence.AsError(db.Close()); e == nil || e.Class != persistence.ClassBusy {
		t.Errorf("Close = %v; want that the log is in use", e)
	}
	must(t, src.Release())
	if left := lines(t, path); len(left) != 0 {
		t.Errorf("the lock file = %q", left)
	}
	must(t, rows.Close())
}

// What does not come back as it was is not kept.
func TestRecallKeepsExactValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Float64().AsAny(),
			rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }).AsAny())
		var want []persistence.Value
		exact := true
		for _, v := range rapid.SliceOfN(value, 0, 6).Draw(t, "row") {
			want = append(want, v)
			switch v := v.(type) {
			case float64, []byte:
				exact = false
			case string:
				exact = exact && utf8.ValidString(v)
			}
		}
		kept, ok := keepRow(want)
		if ok != exact {
			t.Fatalf("%#v: kept = %v", want, ok)
		}
		if !ok {
			return
		}
		back := parseRecall((&recall{Answers: []answer{{Key: "k", Rows: [][]string{kept}}}}).encode())
		got, ok := backRow(back.Answers[0].Rows[0])
		if !ok || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%#v came back as %#v", want, got)
		}
	})
}

func TestQuestionsAreToldApart(t *testing.T) {
	seen := map[string]persistence.Query{}
	for _, q := range []persistence.Query{
		{SQL: "SELECT 1"}, {SQL: "SELECT 2"}, {SQL: "SELECT 1", MaxBytes: 1}, {SQL: "SELECT 1", Args: []persistence.Value{nil}},
		{SQL: "SELECT 1", Args: []persistence.Value{int64(1)}}, {SQL: "SELECT 1", Args: []persistence.Value{"1"}}, {SQL: "SELECT 1", Args: []persistence.Value{"1", "2"}}, {SQL: "SELECT 1", Args: []persistence.Value{"1,2"}},
		{SQL: `SELECT 1`, Args: []persistence.Value{`1","2`}},
	} {
		key, ok := keyOf(q)
		if other, twice := seen[key]; !ok || twice {
			t.Errorf("%+v and %+v have one key; %v", q, other, ok)
		}
		seen[key] = q
	}
	if _, ok := keyOf(persistence.Query{SQL: "SELECT 1", Args: []persistence.Value{1.5}}); ok {
		t.Error("a float was given a key")
	}
}

func FuzzRecall(f *testing.F) {
	path := filepath.Join(f.TempDir(), "vm.db")
	slept(f, path)
	at, err := locate(path, false)
	must(f, err)
	line, _, _ := bytes.Cut(lines(f, path), []byte("\n"))
	f.Add(line)
	f.Add([]byte(`{"recall":null}`))
	f.Add([]byte(`{"recall":{"reads":[[0,9223372036854775807],[9223372036854775807,1]],"answers":[{"rows":[["i1.5","","x",null]]}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		parseRecall(line)
		if _, known := parseHolder(bytes.NewReader(append(line, '\n'))); known {
			return
		}
		r := parseRecall(fmt.Appendf(bytes.Clone(line), "\n%x\n", sha256.Sum256(line)))
		if r == nil {
			return
		}
		r.holds(at)
		for _, a := range r.Answers {
			for _, kept := range a.Rows {
				backRow(kept)
			}
		}
		again := parseRecall(r.encode())
		if again == nil && len(line) < maxRecallBytes/8 || again != nil && again.holds(at) != r.holds(at) {
			t.Errorf("%+v came back as %+v", r, again)
		}
	})
}
