package sqlitefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

func TestS15_SpecialFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.db")
	filled(t, real)
	path := filepath.Join(dir, "vm.db")
	for name, make := range map[string]func() error{
		"symlink":          func() error { return os.Symlink(real, path) },
		"dangling symlink": func() error { return os.Symlink(filepath.Join(dir, "nothing"), path) },
		"directory":        func() error { return os.Mkdir(path, 0o700) },
		"fifo":             func() error { return unix.Mkfifo(path, 0o600) },
	} {
		must(t, make())
		for _, o := range []sqlitefile.Options{{}, {Create: true}, {ReadOnly: true}} {
			_, err := sqlitefile.Acquire(path, o)
			wantCode(t, err, protocol.CodeNotAVMDatabase)
		}
		if _, err := os.Lstat(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made through it", name)
		}
		must(t, os.Remove(path))
	}
}

func TestSymlinkedCompanionsAreNotFollowed(t *testing.T) {
	path := db(t)
	filled(t, path)
	must(t, os.Remove(path+"-wal"))
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.Symlink(target, path+"-wal"))
	src := acquire(t, path, sqlitefile.Options{})
	if _, err := src.Open(accept); err == nil {
		t.Error("Open = nil")
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target was made: %v", err)
	}
	must(t, src.Release())
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	must(t, os.WriteFile(empty, nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "vm.db"), filepath.Join(dir, "no", "vm.db"), empty} {
		for _, o := range []sqlitefile.Options{{}, {ReadOnly: true}, {ReadOnly: true, Create: true}} {
			_, err := sqlitefile.Acquire(path, o)
			wantCode(t, err, protocol.CodeVMNotFound)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("looking for VMs left %v, %v; want nothing but the empty file", entries, err)
	}
	for _, path := range []string{"", "/", ".", "..", dir + "/", "a\x00b", filepath.Join(empty, "vm.db")} {
		_, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
		wantCode(t, err, protocol.CodeInvalidArgument)
	}
}

func TestEmptyFileIsNew(t *testing.T) {
	path := db(t)
	must(t, os.WriteFile(path, nil, 0o644))
	filled(t, path)
	wantMode(t, path, 0o600)
}

// The modes hold whatever the umask is, and for files that were there before.
func TestS15_Modes(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		old := unix.Umask(umask)
		defer unix.Umask(old)
		root := filepath.Join(t.TempDir(), "root")
		must(t, os.Mkdir(root, 0))
		must(t, os.Chmod(root, 0o755))
		path := filepath.Join(root, "data", "vms", "vm.db")
		src, h := openNew(t, path)
		must(t, run(h, createRows))
		wantModes(t, path)
		wantMode(t, filepath.Dir(path), 0o700)
		wantMode(t, filepath.Dir(filepath.Dir(path)), 0o700)
		wantMode(t, root, 0o755)
		closeAll(t, src, h)

		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			must(t, os.Chmod(path+suffix, 0o666))
		}
		src, h = openNew(t, path)
		must(t, run(h, addRow, int64(1), "x"))
		wantModes(t, path)
		closeAll(t, src, h)
		wantModes(t, path)
		unix.Umask(old)
	}
}

func wantModes(t testing.TB, path string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		wantMode(t, path+suffix, 0o600)
	}
}

func TestPathsAreTakenLiterally(t *testing.T) {
	for _, name := range []string{"a b.db", "50%25.db", "what?mode=memory.db", "x#y.db", "naïve \u2028.db", "\xff\xfe.db", "'quo\"te'.db", "-wal", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		filled(t, path)
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		src := acquire(t, path, sqlitefile.Options{})
		h, err := src.Open(accept)
		must(t, err)
		if got := read(t, h, countRows)[0]; got != int64(3) {
			t.Errorf("%q: %v rows; want 3", name, got)
		}
		closeAll(t, src, h)
	}
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	filled(t, "vm.db")
	filled(t, filepath.Join("sub", "vm.db"))
	for _, path := range []string{"vm.db", "sub/vm.db"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
}
