package sqlitefile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// nobody is an ordinary user; nil where the tests run as one already.
func nobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// roleOpen opens a database, says the code of what came of it, and how many rows
// it read.
func roleOpen(args []string) error {
	o := sqlitefile.Options{Create: args[1] == "create", ReadOnly: args[1] == "readonly"}
	src, err := sqlitefile.Acquire(args[0], o)
	if err != nil {
		fmt.Println("acquire", protocol.CodeOf(err))
		return nil
	}
	h, err := src.Open(accept)
	if err != nil {
		fmt.Println("open", protocol.CodeOf(err))
		return src.Release()
	}
	rows, err := h.Query(context.Background(), persistence.Query{SQL: countRows})
	if err != nil {
		return err
	}
	fmt.Println("rows", rows[0][0])
	if err := h.Close(); err != nil {
		return err
	}
	return src.Release()
}

// owned gives everything in a directory to the ordinary user.
func owned(t testing.TB, dir string) {
	t.Helper()
	cred := nobody()
	if cred == nil {
		return
	}
	must(t, os.Chown(dir, int(cred.Uid), int(cred.Gid)))
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		must(t, os.Chown(filepath.Join(dir, e.Name()), int(cred.Uid), int(cred.Gid)))
	}
}

func TestReadOnlyFilesAndDirectories(t *testing.T) {
	for _, c := range []struct {
		name            string
		make            func(t testing.TB, path string)
		file, dir, lock os.FileMode // 0: the lock file is removed
		how, want       string
	}{
		{"file", filled, 0o444, 0o755, 0o600, "create", "open storage_read_only"},
		{"file and directory", filled, 0o444, 0o555, 0, "create", "acquire storage_read_only"},
		{"directory", filled, 0o600, 0o555, 0o600, "create", "open storage_read_only"},
		{"directory, no lock", filled, 0o600, 0o555, 0, "", "acquire storage_read_only"},
		{"lock file", filled, 0o600, 0o755, 0o400, "", "acquire storage_read_only"},
		{"to read", filled, 0o444, 0o555, 0, "readonly", "rows 3"},
		{"to read, with a lock", filled, 0o444, 0o555, 0o400, "readonly", "rows 3"},
		{"to read what was killed", killed, 0o444, 0o555, 0, "readonly", "rows 3"},
		{"unreadable", filled, 0, 0o755, 0o600, "", "open session_storage_error"},
		{"writable", filled, 0o600, 0o755, 0o600, "", "rows 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Not t.TempDir: an ordinary user cannot search that one's parent.
			dir, err := os.MkdirTemp("", "sqlitefile-")
			must(t, err)
			t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)); must(t, os.RemoveAll(dir)) })
			path := filepath.Join(dir, "vm.db")
			c.make(t, path)
			must(t, os.Chmod(path, c.file))
			if c.lock == 0 {
				must(t, os.Remove(path+".lock"))
			} else {
				must(t, os.Chmod(path+".lock", c.lock))
			}
			owned(t, dir)
			must(t, os.Chmod(dir, c.dir))
			before := look(t, dir)
			other := start(t, nobody(), "open", path, c.how)
			if got := other.line(t); got != c.want {
				t.Errorf("got %q; want %q", got, c.want)
			}
			other.finish(t)
			if c.name != "writable" {
				wantUnchanged(t, dir, before)
			}
		})
	}
}

func TestDirectoryThatCannotBeMade(t *testing.T) {
	dir, err := os.MkdirTemp("", "sqlitefile-")
	must(t, err)
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)); must(t, os.RemoveAll(dir)) })
	owned(t, dir)
	must(t, os.Chmod(dir, 0o555))
	other := start(t, nobody(), "open", filepath.Join(dir, "a", "b", "vm.db"), "create")
	if got := other.line(t); got != "acquire storage_read_only" {
		t.Errorf("got %q", got)
	}
	other.finish(t)
}

// A holder that another user cannot signal is alive all the same.
func TestHolderOfAnotherUser(t *testing.T) {
	if nobody() == nil {
		t.Skip("needs a second user")
	}
	dir, err := os.MkdirTemp("", "sqlitefile-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	owned(t, dir)
	path := filepath.Join(dir, "vm.db")
	src, h := openNew(t, path)
	owned(t, dir)
	other := start(t, nobody(), "open", path, "")
	if got := other.line(t); got != "acquire vm_in_use" {
		t.Errorf("got %q", got)
	}
	other.finish(t)
	closeAll(t, src, h)
}
