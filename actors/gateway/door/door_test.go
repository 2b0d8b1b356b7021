package door_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentos/actors/gateway/door"
)

const (
	childEnv = "DOOR_CHILD" // what the test binary does as another process
	pathEnv  = "DOOR_PATH"
	nobody   = 65534
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "visit": // says what it was told at the door
		c, err := net.Dial("unix", os.Getenv(pathEnv))
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		text, err := io.ReadAll(c)
		os.Stdout.Write(text)
		if err != nil {
			os.Stdout.WriteString(err.Error())
		}
		os.Exit(0)
	case "keep": // opens a door and is killed
		l, err := door.Listen(os.Getenv(pathEnv), "key")
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(l.Path() + "\n")
		select {}
	}
	goleak.VerifyTestMain(m)
}

// privateDir is short enough for sockets, which t.TempDir is not.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "door-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, dir string) *door.Listener {
	t.Helper()
	l, err := door.Listen(dir, "key")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// greet says hello to everybody who is let in, until the door is closed.
func greet(t *testing.T, l *door.Listener) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
}

func child(t *testing.T, what, path string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+what, pathEnv+"="+path)
	return cmd
}

func TestListen_S15_PrivateSocketThatGoesWithItsOwner(t *testing.T) {
	dir := privateDir(t)
	l := listen(t, dir)
	greet(t, l)
	info, err := os.Lstat(l.Path())
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("socket is %v, %v", info.Mode(), err)
	}
	c, err := door.Dial(t.Context(), l.Path(), os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); string(text) != "hello" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	_ = c.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := door.Dial(t.Context(), l.Path(), os.Geteuid()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dial behind Close = %v", err)
	}
}

// Two doors to the same thing live beside each other; what a killed process leaves
// behind is removed by the next one that opens.
func TestListen_DeadDoorsAreRemoved(t *testing.T) {
	dir := privateDir(t)
	cmd := child(t, "keep", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	dead := strings.TrimSpace(string(line[:n]))
	if err != nil || !strings.HasPrefix(dead, dir) {
		t.Fatalf("child says %q, %v", dead, err)
	}
	alive := listen(t, dir)
	if _, err := os.Lstat(dead); err != nil {
		t.Errorf("the door of a living process was removed: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := door.Dial(t.Context(), dead, os.Geteuid()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial to the dead = %v", err)
	}
	listen(t, dir)
	if _, err := os.Lstat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the door of a dead process is there: %v", err)
	}
	if _, err := os.Lstat(alive.Path()); err != nil {
		t.Errorf("the door of a living process was removed: %v", err)
	}
}

func TestListen_S15_BadPlaces(t *testing.T) {
	dir := privateDir(t)
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Symlink(dir, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 80))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{open, filepath.Join(dir, "link"), filepath.Join(dir, "none"), long} {
		if l, err := door.Listen(bad, "key"); err == nil {
			t.Errorf("a door was opened at %s", l.Path())
			_ = l.Close()
		}
	}
	if door.Fits(long) || !door.Fits("/run/user/1000/agentos") {
		t.Error("Fits is wrong")
	}
}

func TestDial_S15_Strangers(t *testing.T) {
	dir := privateDir(t)
	l := listen(t, dir)
	greet(t, l)
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link.sock")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(l.Path(), link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, dir} {
		if _, err := door.Dial(t.Context(), path, os.Geteuid()); !errors.Is(err, door.ErrStranger) {
			t.Errorf("Dial(%s) = %v", path, err)
		}
	}
	if _, err := door.Dial(t.Context(), l.Path(), os.Geteuid()+1); !errors.Is(err, door.ErrStranger) {
		t.Errorf("Dial for another user = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := door.Dial(ctx, l.Path(), os.Geteuid()); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial behind its end = %v", err)
	}
}

// An ordinary user who gets through the modes is sent away by the kernel's word.
func TestAccept_S15_OtherUsersAreSentAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user can be had by root only")
	}
	dir := privateDir(t)
	l := listen(t, dir)
	greet(t, l)
	visit := func(uid uint32) string {
		cmd := child(t, "visit", l.Path())
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.CombinedOutput() // what it printed says it all
		return string(out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for d := filepath.Dir(self); d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the test binary has to be there for nobody
			t.Fatal(err)
		}
	}
	if out := visit(nobody); !strings.Contains(out, "permission denied") {
		t.Errorf("at a closed directory nobody was told %q", out)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(l.Path(), 0o666)); err != nil {
		t.Fatal(err)
	}
	if out := visit(nobody); strings.Contains(out, "hello") || strings.Contains(out, "denied") {
		t.Errorf("nobody was told %q", out)
	}
	if out := visit(0); out != "hello" {
		t.Errorf("root was told %q", out)
	}
}
