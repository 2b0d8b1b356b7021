package peers

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopGrace bounds the wait for a process to end after SIGTERM, before SIGKILL.
const stopGrace = 5 * time.Second

// process is a helper process with one line to say.
type process struct {
	cmd     *exec.Cmd
	first   chan string     // its first line of output, or "" if it ended without one
	drained chan struct{}   // closed at the end of its output
	errs    strings.Builder // its stderr; read after stop only
}

// startProcess starts cmd. Its input stays open as long as this process lives:
// when that dies, however it dies, the helper reads the end and ends too.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, first: make(chan string, 1), drained: make(chan struct{})}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr, cmd.WaitDelay = &p.errs, stopGrace
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.drain(out) // ends with the output; stop waits for it
	return p, nil
}

func (p *process) drain(out io.Reader) {
	defer close(p.drained)
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	p.first <- strings.TrimSpace(line)
	_, _ = io.Copy(io.Discard, r)
}

// stop ends the process and waits for it. It is called once.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	kill := time.AfterFunc(stopGrace, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.drained
	return p.cmd.Wait()
}
