package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// exitNow ends an adapter or its guard. They get no environment of ours, so that
// raceOptions do not reach them; their own packages look for their races.
func exitNow(code int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0) // does not return
}

func init() { commands["terminal"] = terminal }

// terminal runs a command with a terminal as all its streams, waits until the
// screen shows something, types TYPED and checks the exit code. What was on the
// screen is in the file "screen": terminal CODE REGEXP TYPED PROGRAM ARGS...
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: terminal CODE REGEXP TYPED PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	typed, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	person, tty, err := openTerminal()
	ts.Check(err)
	path, err := exec.LookPath(args[3])
	ts.Check(err)
	cmd := exec.Command(path, args[4:]...)
	cmd.Args[0] = args[3]
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(tty.Close())
	var screen watched
	read := make(chan error, 1)
	go func() { // ends when the last of the command's files is closed
		_, err := io.Copy(&screen, person)
		read <- err
	}()
	if err := screen.await(regexp.MustCompile(args[1])); err != nil {
		_ = cmd.Process.Kill()
		ts.Check(err)
	}
	_, err = io.WriteString(person, typed)
	ts.Check(err)
	err = cmd.Wait()
	if rerr := <-read; !errors.Is(rerr, unix.EIO) { // how a terminal ends on Linux
		ts.Check(rerr)
	}
	ts.Check(person.Close())
	ts.Check(os.WriteFile(ts.MkAbs("screen"), screen.text.Bytes(), 0o600))
	ts.Logf("the screen:\n%q", screen.text.String())
	checkExit(ts, err, want)
}

// openTerminal returns a new pseudo-terminal: the person's end and the program's.
func openTerminal() (person, tty *os.File, err error) {
	person, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err := person.SyscallConn()
	if err != nil {
		return nil, nil, errors.Join(err, person.Close())
	}
	var n uint32
	cerr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(cerr, err); err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, person.Close())
	}
	return person, tty, nil
}
