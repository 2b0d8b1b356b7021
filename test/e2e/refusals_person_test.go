package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentos/test/e2e/program"
)

// person is who runs a command: whoever runs the tests, and if that is root an
// ordinary user too, for whom modes mean something.
type person struct {
	name     string
	cred     *syscall.Credential // nil: whoever runs the tests
	ordinary bool
}

func people() []person {
	if os.Getuid() != 0 {
		return []person{{"user", nil, true}}
	}
	return []person{{"root", nil, false}, {"nobody", &syscall.Credential{Uid: 65534, Gid: 65534}, true}}
}

// ordinary returns the ordinary user.
func ordinary() person {
	all := people()
	return all[len(all)-1]
}

// trial is a directory of a person's with what may be a database in it.
type trial struct {
	person
	dir  string // 0755
	path string // of the database
	bin  string
	env  []string
}

// newTrial makes a directory that the person can search, with what build puts
// there, and gives everything in it to the person.
func newTrial(t *testing.T, p person, build func(t *testing.T, path string)) *trial {
	t.Helper()
	// Not t.TempDir: an ordinary user cannot search that one's parent.
	top, err := os.MkdirTemp("", "refused-")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{person: p, dir: filepath.Join(top, "place"), bin: filepath.Join(top, "agentos")}
	tr.path = filepath.Join(tr.dir, "vm.db")
	tr.env = []string{"HOME=" + filepath.Join(top, "home"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}
	t.Cleanup(func() {
		if err := errors.Join(os.Chmod(tr.dir, 0o700), os.RemoveAll(top)); err != nil {
			t.Error(err)
		}
	})
	err = errors.Join(os.Chmod(top, 0o755), os.Mkdir(tr.dir, 0o755), os.Chmod(tr.dir, 0o755), os.Mkdir(filepath.Join(top, "home"), 0o755), copyBinary(tr.bin))
	if err != nil {
		t.Fatal(err)
	}
	build(t, tr.path)
	if p.cred == nil {
		return tr
	}
	err = filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, int(p.cred.Uid), int(p.cred.Gid))
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// copyBinary gives the binary a name in a directory that everybody can search.
func copyBinary(to string) error {
	if os.Link(program.Binary(), to) == nil {
		return nil
	}
	in, err := os.Open(program.Binary())
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	return errors.Join(err, in.Close())
}

// run runs a command on the trial's database, as the person.
func (tr *trial) run(t *testing.T, args ...string) program.Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tr.bin, append([]string{"--vm", tr.path}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", tr.env, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: tr.cred}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("agentos %q: %v, %v\n%s", args, err, ctx.Err(), stderr.String())
	}
	return program.Output{Stdout: stdout.Bytes(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// prints describes everything in the trial's directory: names, modes, sizes,
// times of change and checksums.
func (tr *trial) prints(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	if info, err := os.Lstat(tr.dir); err != nil || info.Mode().Perm()&0o100 == 0 && tr.cred == nil && os.Getuid() != 0 {
		return all // not for the person's eyes, and so not for ours
	}
	err := filepath.WalkDir(tr.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == tr.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " to " + to
		case d.Type().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			text += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		all[strings.TrimPrefix(name, tr.dir+"/")] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// emptyLock takes a lock file that nobody holds out of what prints returns, and
// reports whether there was one. It is what may be left beside a database that
// was looked at: removing it would let two processes hold two of them.
func emptyLock(all map[string]string) bool {
	text, there := all["vm.db.lock"]
	if there = there && strings.HasPrefix(text, "-rw------- 0 "); there {
		delete(all, "vm.db.lock")
	}
	return there
}

// sqlite runs statements on a database file as any other program would, and
// keeps the connection until the end of the test if it is to stay open.
func sqlite(t *testing.T, path string, open bool, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, errors.Join(err, db.Close()))
		}
	}
	if !open {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
