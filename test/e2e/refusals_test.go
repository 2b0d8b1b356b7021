package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

// refusal is how a command is refused. The zero value is one that is not: it
// looks at the database and finds something or nothing in it.
type refusal struct {
	code protocol.Code
	text string // a regular expression: what a person is told
}

// The commands that are tried on everything.
var (
	writing = [][]string{{"prompt", "--json", "hello"}, {"prompt", "--json", "--session", "new", "--agent", "scripted", "hello"}}
	reading = [][]string{{"history", "--json"}, {"sessions", "--json"}}
	looking = [][]string{{"doctor", "--json"}}
)

// try runs commands that must be refused, and wants the exit code and the error
// of the code, and nothing to have changed.
func (tr *trial) try(t *testing.T, commands [][]string, want refusal, locked bool) {
	t.Helper()
	for _, args := range commands {
		before := tr.prints(t)
		had := emptyLock(before)
		out := tr.run(t, args...)
		after := tr.prints(t)
		if has := emptyLock(after); has != (had || locked) {
			t.Errorf("%v: a lock file: %v; want %v", args, has, had || locked)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%v changed (-before +after):\n%s", args, diff)
		}
		if want == (refusal{}) {
			if out.Code > protocol.ExitFailed || strings.Contains(string(out.Stdout), `{"error":`) || len(out.Stdout) == 0 || out.Stderr != "" {
				t.Errorf("%v = %d, %s%s; want a report", args, out.Code, out.Stdout, out.Stderr)
			}
			continue
		}
		e := lastError(t, out)
		if len(out.Lines()) != 1 || out.Code != want.code.Info().Exit || e.Code != string(want.code) || !regexp.MustCompile(want.text).MatchString(e.Message) {
			t.Errorf("%v = %d, %s; want %d, %s, %q", args, out.Code, out.Stdout, want.code.Info().Exit, want.code, want.text)
		}
		if !strings.HasPrefix(out.Stderr, fmt.Sprintf("agentos: %s: %s\n", e.Code, e.Message)) {
			t.Errorf("%v says on stderr %q", args, out.Stderr)
		}
	}
}

// stored builds a trial with a stored database that statements have changed, and
// the mode of a file that is not our own.
func stored(name string, statements ...string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		putStored(t, name, path)
		if len(statements) > 0 {
			sqlite(t, path, false, statements...)
		}
		mustDo(t, os.Chmod(path, 0o644))
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// another makes the version table of an owner anew, as a program with bugs, or
// one with bad intentions, may leave it.
func another(o schema.Owner, columns, values string) []string {
	statements := []string{"DROP TABLE " + o.VersionTable, fmt.Sprintf("CREATE TABLE %s (%s)", o.VersionTable, columns)}
	if values != "" {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES %s", o.VersionTable, values))
	}
	return statements
}

// TestS2_4_VersionsThatAreRefused: for each owner, a version that only a newer
// program knows, and everything that is no version at all.
func TestS2_4_VersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	const loose = "singleton, schema_version"
	for _, o := range []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner} {
		top := len(o.Steps)
		corrupt := refusal{protocol.CodeCorruptSchema, fmt.Sprintf(`^the %s owner has .*supported: versions up to %d.*nothing was changed.*backup`, o.Name, top)}
		future := refusal{protocol.CodeFutureSchema, fmt.Sprintf(`^the %s tables have schema version \d+ and this program knows versions up to %d; use a newer program`, o.Name, top)}
		for name, tc := range map[string]struct {
			sql  []string
			want refusal
		}{
			"next":        {[]string{fmt.Sprintf("UPDATE %s SET schema_version = %d", o.VersionTable, top+1)}, future},
			"far":         {[]string{fmt.Sprintf("UPDATE %s SET schema_version = 9223372036854775807", o.VersionTable)}, future},
			"missing":     {[]string{"DELETE FROM " + o.VersionTable}, corrupt},
			"dropped":     {[]string{"DROP TABLE " + o.VersionTable}, corrupt},
			"duplicated":  {another(o, loose, "(1, 1), (1, 1)"), corrupt},
			"several":     {another(o, loose, "(1, 1), (2, 1)"), corrupt},
			"another row": {another(o, loose, "(2, 1)"), corrupt},
			"negative":    {another(o, loose, "(1, -1)"), corrupt},
			"fractional":  {another(o, loose, "(1, 1.5)"), corrupt},
			"text":        {another(o, loose, "(1, '1')"), corrupt},
			"NULL":        {another(o, loose, "(1, NULL)"), corrupt},
			"not STRICT":  {another(o, "singleton INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL", "(1, 1)"), corrupt},
			"more in it":  {another(o, loose+", comment", "(1, 1, '')"), corrupt},
			"a view":      {[]string{"DROP TABLE " + o.VersionTable, "CREATE VIEW " + o.VersionTable + " AS SELECT 1 AS singleton, 1 AS schema_version"}, corrupt},
		} {
			t.Run(o.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				// AgentOS leaves a file without a log, and has no actor owner.
				from := storedName([]int{1, 1, 1})
				if o.Name != actorstate.Owner.Name && name != "dropped" {
					from = finishedDB
				}
				tr := newTrial(t, ordinary(), stored(from, tc.sql...))
				tr.try(t, append(append(append([][]string{}, looking...), reading...), writing...), tc.want, true)
			})
		}
	}
}

// TestS2_4_WhatIsRefused: everything else that is no VM of ours, or none that can
// be used, for everybody. Only beside what begins as a SQLite database is there a
// lock file afterwards: what is in such a file can be read under the lock only.
func TestS2_4_WhatIsRefused(t *testing.T) {
	t.Parallel()
	foreign := refusal{protocol.CodeNotAVMDatabase, `none that say it belongs to a VM; name a VM's database or a new file$`}
	text := refusal{protocol.CodeNotAVMDatabase, `/vm\.db is not a SQLite database; name a VM's database or a new file$`}
	damaged := refusal{protocol.CodeStorageError, `/vm\.db is damaged.*nothing was changed.*backup`}
	irregular := refusal{protocol.CodeNotAVMDatabase, `/vm\.db is not a regular file$`}
	for name, tc := range map[string]struct {
		build  func(*testing.T, string)
		want   refusal
		locked bool
	}{
		"another program's database": {func(t *testing.T, path string) {
			sqlite(t, path, false, "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")
		}, foreign, true},
		"another program at work": {func(t *testing.T, path string) {
			sqlite(t, path, true, "PRAGMA journal_mode = WAL", "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")
		}, foreign, true},
		"a version that is in the log only": {func(t *testing.T, path string) {
			putStored(t, finishedDB, path)
			sqlite(t, path, true, "PRAGMA journal_mode = WAL", "UPDATE agentos_core_schema_version SET schema_version = 77")
		}, refusal{protocol.CodeFutureSchema, "schema version 77"}, true},
		"text":                {file("Dear database,\n"), text, false},
		"one byte":            {file("S"), text, false},
		"zeros":               {file(strings.Repeat("\x00", 8192)), text, false},
		"a truncated header":  {cut(50), damaged, true},
		"a truncated page":    {cut(4096 + 100), damaged, true},
		"a truncated file":    {cut(4096 * 20), damaged, true},
		"a directory":         {func(t *testing.T, path string) { mustDo(t, os.Mkdir(path, 0o755)) }, refusal{protocol.CodeNotAVMDatabase, "is a directory; name the database file in it$"}, false},
		"a symlink":           {symlink(true), refusal{protocol.CodeNotAVMDatabase, "is a symlink; name the file that it points to$"}, false},
		"a dangling symlink":  {symlink(false), refusal{protocol.CodeNotAVMDatabase, "is a symlink"}, false},
		"a FIFO":              {func(t *testing.T, path string) { mustDo(t, syscall.Mkfifo(path, 0o644)) }, irregular, false},
		"a socket":            {socket, irregular, false},
		"foreign and damaged": {file("SQLite format 3\x00" + strings.Repeat("x", 5000)), refusal{protocol.CodeNotAVMDatabase, "is not a SQLite database"}, true},
	} {
		for _, p := range people() {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				tr := newTrial(t, p, tc.build)
				tr.try(t, append(append(append([][]string{}, looking...), reading...), writing...), tc.want, tc.locked)
			})
		}
	}
}

func file(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		mustDo(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func cut(size int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		putStored(t, crashedDB, path)
		mustDo(t, os.Truncate(path, size))
	}
}

func symlink(there bool) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		real := filepath.Join(filepath.Dir(path), "real.db")
		if there {
			putStored(t, finishedDB, real)
		}
		mustDo(t, os.Symlink(real, path))
	}
}

func socket(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	mustDo(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestS2_4_DevicesAreRefused: root could write them.
func TestS2_4_DevicesAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range people() {
		tr := newTrial(t, p, func(*testing.T, string) {})
		tr.path = "/dev/null"
		tr.try(t, append(append(append([][]string{}, looking...), reading...), writing...), refusal{protocol.CodeNotAVMDatabase, "^/dev/null is not a regular file$"}, false)
		if _, err := os.Lstat("/dev/null.lock"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a lock file in /dev: %v", err)
		}
	}
}

// TestS2_4_NothingIsNoVM: reading makes nothing out of nothing; a prompt does.
func TestS2_4_NothingIsNoVM(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*testing.T, string){
		"missing": func(*testing.T, string) {},
		"empty":   file(""),
	} {
		for _, p := range people() {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				tr := newTrial(t, p, build)
				none := refusal{protocol.CodeVMNotFound, `^there is no VM at .*/vm\.db$`}
				tr.try(t, append(append([][]string{}, looking...), reading...), none, false)
				if out := tr.run(t, "prompt", "--json", "hello"); out.Code != 0 {
					t.Errorf("prompt = %d, %s%s", out.Code, out.Stdout, out.Stderr)
				}
				if out := tr.run(t, "history", "--json"); out.Code != 0 || len(out.Lines()) != 2 {
					t.Errorf("history = %d, %s%s", out.Code, out.Stdout, out.Stderr)
				}
				tr.path = filepath.Join(tr.dir, "no", "such", "vm.db")
				tr.try(t, append(append([][]string{}, looking...), reading...), none, false)
			})
		}
	}
}

// TestS14_WhatCannotBeWritten: an ordinary user's database that may not be
// written, or not even read. The doctor alone changes nothing and needs no place
// for a lock, so it looks at backups; every other command takes the fence, and
// says that it cannot.
func TestS14_WhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if p := ordinary(); !p.ordinary {
		t.Skip("needs an ordinary user")
	}
	readOnly := refusal{protocol.CodeStorageReadOnly, `/vm\.db(\.lock)? cannot be written; check the owner and mode of the file and of /.*/place$`}
	for name, tc := range map[string]struct {
		file, dir        os.FileMode
		lock             os.FileMode // 0: there is none
		use, look        refusal
		locked           bool // a lock file is made
		withoutDirectory bool
	}{
		"file":               {file: 0o444, dir: 0o755, use: readOnly, locked: true},
		"directory":          {file: 0o644, dir: 0o555, use: readOnly},
		"file and directory": {file: 0o444, dir: 0o555, use: readOnly},
		"directory, locked":  {file: 0o644, dir: 0o555, lock: 0o600, use: readOnly},
		"all of it":          {file: 0o444, dir: 0o555, lock: 0o400, use: readOnly},
		"cannot be read": {file: 0, dir: 0o755,
			use:  refusal{protocol.CodeStorageError, `/vm\.db cannot be read; check its owner and mode$`},
			look: refusal{protocol.CodeStorageError, `/vm\.db cannot be read; check its owner and mode$`}},
		"may be written, not read": {file: 0o200, dir: 0o755,
			use:  refusal{protocol.CodeStorageError, `/vm\.db cannot be read; check its owner and mode$`},
			look: refusal{protocol.CodeStorageError, `/vm\.db cannot be read; check its owner and mode$`}},
		"cannot be reached": {file: 0o644, dir: 0, withoutDirectory: true,
			use:  refusal{protocol.CodeStorageError, `/vm\.db cannot be reached; check the owner and mode of /.*/place$`},
			look: refusal{protocol.CodeStorageError, `/vm\.db cannot be reached; check the owner and mode of /.*/place$`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, ordinary(), func(t *testing.T, path string) {
				putStored(t, finishedDB, path)
				mustDo(t, os.Chmod(path, tc.file))
				if tc.lock != 0 {
					mustDo(t, os.WriteFile(path+".lock", nil, 0o600))
					mustDo(t, os.Chmod(path+".lock", tc.lock))
				}
			})
			mustDo(t, os.Chmod(tr.dir, tc.dir))
			tr.try(t, looking, tc.look, tc.locked)
			tr.try(t, append(append([][]string{}, reading...), writing...), tc.use, tc.locked)
		})
	}
}
