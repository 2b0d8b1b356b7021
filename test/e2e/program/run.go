package program

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runLimit bounds every run: nothing that the tests do takes that long. Then the
// process is made to show its goroutines and to end.
const runLimit = 90 * time.Second

// Run is a running command.
type Run struct {
	cmd    *exec.Cmd
	args   []string
	began  time.Time
	stdout lines
	stderr bytes.Buffer
}

// lines is stdout. It calls each for every whole line, with the line's number
// from 1, on the goroutine that copies.
type lines struct {
	mu    sync.Mutex
	text  []byte
	from  int // of the line that is not whole yet
	count int
	each  func(n int, line []byte)
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	for {
		n := bytes.IndexByte(l.text[l.from:], '\n')
		if n < 0 {
			return len(p), nil
		}
		line := l.text[l.from : l.from+n]
		l.from += n + 1
		if l.count++; l.each != nil {
			l.each(l.count, line)
		}
	}
}

// Output is what a run left.
type Output struct {
	Stdout []byte
	Stderr string
	Code   int // -1: ended by a signal
	Took   time.Duration
}

// Lines returns the whole lines of stdout: of a run that was killed the last one
// may be a half.
func (o Output) Lines() []string {
	whole := o.Stdout[:bytes.LastIndexByte(o.Stdout, '\n')+1]
	if len(whole) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(whole), "\n"), "\n")
}

// Start starts a command. each, if not nil, is called for every line of stdout
// while it runs; it must not call the Run's Wait.
func (h *Home) Start(tb testing.TB, each func(r *Run, n int, line []byte), args ...string) *Run {
	tb.Helper()
	r := &Run{cmd: exec.Command(h.Binary, args...), args: args}
	if each != nil {
		r.stdout.each = func(n int, line []byte) { each(r, n, line) }
	}
	r.cmd.Dir, r.cmd.Env = h.Work, h.Env
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	// Only a process that was left behind can hold them open longer.
	r.cmd.WaitDelay = 10 * time.Second
	r.began = time.Now()
	if err := r.cmd.Start(); err != nil {
		tb.Fatalf("start agentos: %v", err)
	}
	return r
}

// Run runs a command to its end.
func (h *Home) Run(tb testing.TB, args ...string) Output {
	tb.Helper()
	return h.Start(tb, nil, args...).Wait(tb)
}

// PID is the process id.
func (r *Run) PID() int { return r.cmd.Process.Pid }

// Kill sends SIGKILL. It may be called at any time, and more than once.
func (r *Run) Kill() { _ = r.cmd.Process.Kill() } // it may have ended

var trouble = regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic: |fatal error: )`)

// Wait waits for the end of the process. It is called once.
func (r *Run) Wait(tb testing.TB) Output {
	tb.Helper()
	late := time.AfterFunc(runLimit, func() {
		_ = r.cmd.Process.Signal(syscall.SIGQUIT)
	})
	later := time.AfterFunc(runLimit+10*time.Second, r.Kill)
	err := r.cmd.Wait()
	o := Output{Stdout: r.stdout.text, Stderr: r.stderr.String(), Took: time.Since(r.began)}
	later.Stop()
	if !late.Stop() {
		tb.Fatalf("agentos %q did not end in %v; it was made to end:\n%s\n%s", r.args, runLimit, o.Stdout, o.Stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatalf("agentos %q: %v\n%s", r.args, err, o.Stderr)
	}
	if o.Code = r.cmd.ProcessState.ExitCode(); trouble.MatchString(o.Stderr) {
		tb.Errorf("agentos %q:\n%s", r.args, o.Stderr)
	}
	return o
}
