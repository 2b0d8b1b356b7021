package sqlitefile_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

func wantCode(t testing.TB, err error, code protocol.Code) *protocol.Error {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error = %v; want %s", err, code)
	}
	return e
}

func TestS2_1_OneProcessAtATime(t *testing.T) {
	path := db(t)
	holder := start(t, nil, "hold", path)
	if got := holder.line(t); got != "held" {
		t.Fatal(got)
	}
	_, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	e := wantCode(t, err, protocol.CodeVMInUse)
	if e.Details["pid"] != holder.Process.Pid || e.Details["command"] != "agentos serve" || e.Details["socket"] != "/run/door.sock" {
		t.Errorf("details = %v; want those of process %d", e.Details, holder.Process.Pid)
	}
	if !strings.Contains(e.Message, "agentos serve") || !strings.Contains(e.Message, path) {
		t.Errorf("message = %q; want the command and the path", e.Message)
	}
	// The database does not exist yet; that it is held is the better answer.
	_, err = sqlitefile.Acquire(path, sqlitefile.Options{})
	wantCode(t, err, protocol.CodeVMInUse)

	holder.kill(t)
	src, db := openNew(t, path)
	closeAll(t, src, db)
}

func TestLockIsGivenBack(t *testing.T) {
	path := db(t)
	holder := start(t, nil, "hold", path)
	holder.line(t)
	holder.finish(t)
	src, db := openNew(t, path)
	// A child that is forked while the lock is held does not keep it.
	other := start(t, nil, "hold", filepath.Join(t.TempDir(), "other.db"))
	other.line(t)
	closeAll(t, src, db)
	must(t, acquire(t, path, sqlitefile.Options{}).Release())
	other.finish(t)
}

func TestSameProcessTwice(t *testing.T) {
	path := db(t)
	src, db := openNew(t, path)
	_, err := sqlitefile.Acquire(path, sqlitefile.Options{})
	if e := wantCode(t, err, protocol.CodeVMInUse); e.Details["pid"] != os.Getpid() {
		t.Errorf("details = %v; want this process", e.Details)
	}
	// By another way to the same directory.
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Dir(path), link))
	_, err = sqlitefile.Acquire(filepath.Join(link, "vm.db"), sqlitefile.Options{})
	wantCode(t, err, protocol.CodeVMInUse)
	closeAll(t, src, db)
}

func TestLockFile(t *testing.T) {
	path := db(t)
	lock := path + ".lock"
	src := acquire(t, path, sqlitefile.Options{Create: true, Command: "agentos prompt", Socket: "/s"})
	text, err := os.ReadFile(lock)
	must(t, err)
	line, rest, _ := strings.Cut(string(text), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil || rest != "" {
		t.Fatalf("lock file = %q (%v); want one line of JSON", text, err)
	}
	start, _ := got["startTime"].(float64)
	if got["pid"] != float64(os.Getpid()) || got["command"] != "agentos prompt" || got["socket"] != "/s" || start <= 0 || len(got) != 4 {
		t.Errorf("lock file = %s", line)
	}
	wantMode(t, lock, 0o600)
	before, err := os.Stat(lock)
	must(t, err)
	must(t, src.Release())
	after, err := os.Stat(lock)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the lock file was removed or replaced: %v", err)
	}
}

func TestLineOfADeadProcessIsNoObstacle(t *testing.T) {
	path := db(t)
	filled(t, path)
	for _, line := range []string{
		`{"pid":1,"startTime":1,"command":"` + strings.Repeat("long ", 100) + `","socket":""}` + "\n", "", "no JSON", "{}\n",
	} {
		must(t, os.WriteFile(path+".lock", []byte(line), 0o644))
		src := acquire(t, path, sqlitefile.Options{})
		text, err := os.ReadFile(path + ".lock")
		if err != nil || strings.Count(string(text), "\n") != 1 || !strings.HasSuffix(string(text), "}\n") {
			t.Errorf("lock file = %q, %v; want our line alone", text, err)
		}
		wantMode(t, path+".lock", 0o600)
		must(t, src.Release())
	}
}

// Somebody who holds the lock and says nothing, or who cannot be seen from here.
func TestHolderThatCannotBeNamed(t *testing.T) {
	path := db(t)
	filled(t, path)
	f, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	_, err = sqlitefile.Acquire(path, sqlitefile.Options{})
	if e := wantCode(t, err, protocol.CodeVMInUse); e.Details["pid"] != nil {
		t.Errorf("details = %v of an unknown holder", e.Details)
	}
	// The process id is in use, but not by the process that began then.
	_, err = f.WriteString(`{"pid":1,"startTime":987654321987,"command":"c","socket":"s"}` + "\n")
	must(t, err)
	_, err = sqlitefile.Acquire(path, sqlitefile.Options{})
	if e := wantCode(t, err, protocol.CodeVMInUse); e.Details["pid"] != 1 || !strings.Contains(e.Message, "cannot be seen") {
		t.Errorf("error = %v %v; want process 1, with doubts", e, e.Details)
	}
}

// A holder whose process has ended may have left the lock to a child that is
// about to let it go.
func TestLockOfAnEndedProcessIsWaitedFor(t *testing.T) {
	path := db(t)
	filled(t, path)
	must(t, os.WriteFile(path+".lock", []byte(`{"pid":1,"startTime":987654321987}`+"\n"), 0o600))
	f, err := os.Open(path + ".lock")
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	let := time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	defer let.Stop()
	must(t, acquire(t, path, sqlitefile.Options{}).Release())
}

func TestSpecialLockFilesAreRefused(t *testing.T) {
	path := db(t)
	filled(t, path)
	lock := path + ".lock"
	target := filepath.Join(t.TempDir(), "target")
	for name, make := range map[string]func() error{
		"symlink":   func() error { return os.Symlink(target, lock) },
		"fifo":      func() error { return unix.Mkfifo(lock, 0o600) },
		"directory": func() error { return os.Mkdir(lock, 0o700) },
	} {
		must(t, os.Remove(lock))
		must(t, make())
		_, err := sqlitefile.Acquire(path, sqlitefile.Options{})
		wantCode(t, err, protocol.CodeStorageError)
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the target was made: %v", name, err)
		}
	}
}

func TestLostLockIsNoticed(t *testing.T) {
	path := db(t)
	src, db := openNew(t, path)
	must(t, db.Close())
	must(t, os.Remove(path+".lock"))
	_, err := src.Open(accept)
	wantCode(t, err, protocol.CodeVMFenced)
	other := acquire(t, path, sqlitefile.Options{Create: true})
	_, err = src.Open(accept)
	wantCode(t, err, protocol.CodeVMFenced)
	must(t, other.Release())
	must(t, src.Release())
}

func TestHandleOutlivesNothing(t *testing.T) {
	src, db := openNew(t, db(t))
	wantCode(t, src.Release(), protocol.CodeInternal)
	_, err := src.Open(accept)
	wantCode(t, err, protocol.CodeInternal)
	closeAll(t, src, db)
}

func wantMode(t testing.TB, path string, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	if got := info.Mode().Perm(); got != mode {
		t.Errorf("mode of %s = %v; want %v", filepath.Base(path), got, mode)
	}
}
