package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"agentos/adapters/guard"
	"agentos/adapters/mask"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// startLimit bounds a start up to the adapter's first instruction. A directory
// on a file system that does not answer can hold it for ever.
const startLimit = time.Minute

// forkLimit is how long a killed guard may take to be gone.
const forkLimit = 200 * time.Millisecond

// Start starts an adapter and returns when its process runs; ctx bounds that
// and nothing later. It speaks no ACP.
//
// Errors: CodeInvalidArgument for a Spec that cannot be, CodeCwdMissing,
// CodeAdapterNotInstalled with how to install it, CodeAdapterExited for what the
// machine refused, CodeACPTimeout, or the cause of ctx. None leaves anything
// behind.
func Start(ctx context.Context, s Spec, o Options) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(o.Guard) == 0 {
		return nil, errNoGuard
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if o.StderrBytes <= 0 {
		o.StderrBytes = defaultStderrBytes
	}
	c := &Client{
		name: s.Name, tail: newTail(o.StderrBytes), mask: mask.New(s.Env), born: time.Now(),
		dead: make(chan struct{}), exited: make(chan struct{}),
	}
	if err := c.launch(s, o.Guard); err != nil {
		if errors.Is(err, syscall.E2BIG) {
			return nil, protocol.Errorf(protocol.CodeInvalidArgument, "the command line or a variable of agent %s is too long for this system: %w", s.Name, err)
		}
		return nil, protocol.Errorf(protocol.CodeAdapterExited, "agent %s could not be started: %w", s.Name, err)
	}
	if err := c.awaitStart(ctx, s); err != nil {
		c.abandon()
		return nil, err
	}
	c.connect(o)
	return c, nil
}

// connect starts the goroutines. From here on the watcher owns what is open.
func (c *Client) connect(o Options) {
	ready := make(chan struct{}) // a handler may use c.peer before New has returned it
	c.peer = jsonrpc.New(c.stdout, c.stdin, c.handler(o.OnMessage, ready), jsonrpc.Options{
		MaxLineBytes: o.MaxLineBytes, OnDiagnostic: o.OnDiagnostic, OnCancel: o.OnCancel, OnActivity: c.hear,
	})
	close(ready)
	c.goroutines.Add(2)
	go c.copyStderr() // ended by stderr.end; watch waits for it
	go c.heed()       // ended by dead; watch waits for it
	go c.watch()      // ends with the guard; exited tells that it has
}

// launch starts the guard. On an error nothing is open.
func (c *Client) launch(s Spec, command []string) error {
	var open, theirs []*os.File
	pair := func(make func() (*os.File, *os.File, error)) (mine, their *os.File, err error) {
		mine, their, err = make()
		if err == nil {
			open, theirs = append(open, mine), append(theirs, their)
		}
		return mine, their, err
	}
	stdin, in, err := pair(func() (*os.File, *os.File, error) { r, w, err := os.Pipe(); return w, r, err })
	stdout, out, err1 := pair(os.Pipe)
	stderr, errOut, err2 := pair(os.Pipe)
	control, guards, err3 := pair(controlPair)
	if err = errors.Join(err, err1, err2, err3); err == nil {
		args := slices.Concat(command[1:], []string{"--dir", s.Dir, "--"}, s.Argv)
		c.cmd = exec.Command(command[0], args...)
		c.cmd.Env = append([]string{}, s.Env...) // not nil, which would mean the runtime's own
		c.cmd.Dir = "/"                          // never the session's: the runtime may be serving that one
		c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in, out, errOut
		c.cmd.ExtraFiles = []*os.File{guards} // becomes guard.Control
		// A session of its own keeps the terminal's signals away, and marks what
		// a killed guard leaves.
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = c.cmd.Start()
	}
	closeAll(theirs)
	if err != nil {
		closeAll(open)
		return err
	}
	c.stdin, c.control = stdin, control
	c.stdout, c.stderr = newStream(stdout), newStream(stderr)
	c.reports = json.NewDecoder(control)
	return nil
}

// closeAll closes what is only being let go; there is nothing to lose in it.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// controlPair returns the two ends of the control stream, closed on exec.
func controlPair() (mine, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil { // for deadlines
		return nil, nil, errors.Join(os.NewSyscallError("fcntl", err), syscall.Close(fds[0]), syscall.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// awaitStart waits for the guard's first report.
func (c *Client) awaitStart(ctx context.Context, s Spec) error {
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, protocol.Errorf(protocol.CodeACPTimeout,
		"agent %s was not running after %v; its working directory or its program may be on a file system that does not answer", s.Name, startLimit))
	defer cancel()
	woken := make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		defer close(woken)
		// If it fails the control stream is closed, and nothing waits.
		_ = c.control.SetReadDeadline(time.Unix(1, 0))
	})
	err := c.reports.Decode(&c.started)
	if !stop() {
		<-woken
		return context.Cause(limited)
	}
	if err != nil {
		return protocol.Errorf(protocol.CodeAdapterExited, "the guard of agent %s ended before it could start it: %w", s.Name, err)
	}
	if c.started.Error != "" {
		return s.refused(c.started)
	}
	return nil
}

// abandon ends a guard that has not started an adapter, or whose start nobody
// waits for any more.
func (c *Client) abandon() {
	_ = c.cmd.Process.Kill() // an error says that it has ended
	ended := make(chan struct{})
	go func() { // ends with the guard; abandon waits for it, but not for a guard that hangs in the kernel
		defer close(ended)
		// To the end of its reports: from then on the guard forks no more. What
		// it may have forked without an exec holds them open until the next step.
		_ = c.control.SetReadDeadline(time.Now().Add(forkLimit))
		_, _ = io.Copy(io.Discard, c.control)
		c.endSession()
		_ = c.cmd.Wait() // its exit code says nothing new
		closeAll([]*os.File{c.stdin, c.control, c.stdout.file, c.stderr.file})
	}()
	select {
	case <-ended:
	case <-time.After(guardKill):
	}
}

// refused turns the guard's report into what a person can act on.
func (s Spec) refused(r guard.Report) error {
	errno := syscall.Errno(r.Errno)
	switch {
	case r.Stage == guard.StageDir && (errno == syscall.ENOENT || errno == syscall.ENOTDIR):
		return protocol.Errorf(protocol.CodeCwdMissing, "working directory %s does not exist; create it or give another with --cwd", s.Dir)
	case r.Stage == guard.StageDir:
		return protocol.Errorf(protocol.CodeCwdMissing, "working directory %s cannot be used: %w", s.Dir, errno)
	case r.Stage == guard.StageProgram && errno == syscall.ENOENT:
		return notInstalled(s.Name, "program "+s.Argv[0]+" was not found")
	case r.Stage == guard.StageProgram:
		return notInstalled(s.Name, fmt.Sprintf("program %s cannot be run (%v)", s.Argv[0], errno))
	case errno == syscall.ENOENT:
		return notInstalled(s.Name, "the interpreter that "+s.Argv[0]+" names in its first line was not found")
	case errno == syscall.ENOEXEC || errno == syscall.EACCES:
		return notInstalled(s.Name, fmt.Sprintf("%s is not a program of this machine (%v)", s.Argv[0], errno))
	}
	return protocol.Errorf(protocol.CodeAdapterExited, "agent %s could not be started: %w", s.Name, errno)
}
