package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopGrace bounds the wait for a child to end after its stdin, before its group
// is killed. AgentOS gives itself five seconds for an agent that will not end.
const stopGrace = 20 * time.Second

// child is a process in a group of its own that is spoken to in lines.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *tail
}

// startChild starts argv. The caller stops it.
func startChild(argv []string, dir string, env []string) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), errs: &tail{}}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = dir, env, c.errs
	// Its own group, so that everything it starts can be ended with it, and so
	// that an interrupt from the terminal reaches this process only.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A grandchild may hold stderr open for longer than its parent lives.
	c.cmd.WaitDelay = time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 64<<10)
	return c, c.cmd.Start()
}

// kill ends the whole group at once.
func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// stop closes the child's stdin and waits for its end, then ends what it left in
// its group.
func (c *child) stop() error {
	late := time.AfterFunc(stopGrace, c.kill)
	defer late.Stop()
	_ = c.in.Close() // it may have ended by itself
	_, _ = io.Copy(io.Discard, c.out)
	err := c.cmd.Wait()
	c.kill() // an empty group is no error
	return c.explain(err)
}

// explain adds to an error what the child said last.
func (c *child) explain(err error) error {
	if err == nil || c.errs.String() == "" {
		return err
	}
	return fmt.Errorf("%w; it said last:\n%s", err, c.errs)
}

// guarded runs f, during which the end of ctx kills the child: no read of its
// output is without an end.
func (c *child) guarded(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, c.kill)
	err := f()
	switch {
	case stop() || ctx.Err() == nil:
		return c.explain(err)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err() // nothing went wrong with the child
	}
	return c.explain(ctx.Err())
}

// tailBytes is how much of a child's stderr is kept.
const tailBytes = 2000

// tail keeps the end of what is written to it. It may be read at any time.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-tailBytes):]...)
	return len(p), nil
}

// String returns what was kept, without an empty end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
