package peers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agentos/test/e2e/program"
)

// killedWhenAsked, in place of an answer, is a runtime that is killed when the
// question is on the screen.
const killedWhenAsked = "kill -9"

// turnLimit bounds a turn with a person.
const turnLimit = 90 * time.Second

// onTerminal runs a turn on a terminal where a person sits who answers every
// question with the option of that kind. It returns the id of the option too.
func (s *stage) onTerminal(tag, text, kind string) (end turn, option string) {
	s.Helper()
	screen, tty, err := openTerminal()
	if err != nil {
		s.Fatal(err)
	}
	var out, errs shared
	cmd := exec.Command(s.home.Binary, s.line(tag, text)...)
	cmd.Dir, cmd.Env = s.home.Work, s.home.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.WaitDelay = 10 * time.Second // only a process that was left behind can take longer
	if err := errors.Join(cmd.Start(), tty.Close()); err != nil {
		s.Fatal(err)
	}
	late := time.AfterFunc(turnLimit, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	answered := make(chan string, 1)
	go func() { // ends with the last process that has the terminal open
		answered <- answer(screen, &out, kind, cmd.Process)
	}()
	err = cmd.Wait()
	option = <-answered
	if cerr := screen.Close(); cerr != nil {
		s.Error(cerr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatalf("agentos: %v\n%s", err, errs.text())
	}
	return s.ended(program.Output{Stdout: out.text(), Stderr: string(errs.text()), Code: cmd.ProcessState.ExitCode()}), option
}

// answer is the person: it reads the screen until that is dark.
func answer(screen io.ReadWriter, out *shared, kind string, runtime *os.Process) (option string) {
	const question = "choose 1 to "
	var seen []byte
	for buf := make([]byte, 4096); ; {
		n, err := screen.Read(buf)
		seen = append(seen, buf[:n]...)
		if err != nil { // EIO is how a terminal ends on Linux
			return option
		}
		at := bytes.Index(seen, []byte(question))
		if at < 0 {
			continue
		}
		seen = seen[at+len(question):]
		if kind == killedWhenAsked {
			_ = runtime.Kill() // it may have ended
			continue
		}
		option = offered(out.text(), kind)
		_, _ = io.WriteString(screen, option+"\n") // who is gone needs no answer
	}
}

// offered is the option of that kind of the newest question, which is on stdout
// before it is put on the screen.
func offered(stdout []byte, kind string) string {
	id := "there is no " + kind
	for line := range bytes.Lines(stdout) {
		var e event
		if json.Unmarshal(line, &e) != nil || e.Type != "permission_request" {
			continue
		}
		for _, o := range e.Options {
			if o.Kind == kind {
				id = o.OptionID
			}
		}
	}
	return id
}

// shared is a buffer that is read while it is written.
type shared struct {
	mu  sync.Mutex
	all []byte
}

// Write implements io.Writer.
func (b *shared) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, p...)
	return len(p), nil
}

func (b *shared) text() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.all)
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
