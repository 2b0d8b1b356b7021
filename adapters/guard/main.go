package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"agentos/adapters/process"
)

// Defaults of the flags.
const (
	// DefaultGrace is how long everything has after SIGTERM when the runtime is gone.
	DefaultGrace = 2 * time.Second
	// DefaultSweep is how long what an ended adapter left has after SIGTERM.
	DefaultSweep = 500 * time.Millisecond
	// killed bounds the wait for what was sent SIGKILL: a process that hangs in
	// the kernel must not keep the guard for ever.
	killed = 10 * time.Second
)

// Exit codes of the guard's own, as a shell has them. Any other is the adapter's.
const (
	exitUsage    = 2
	exitCannot   = 126
	exitNotFound = 127
)

type options struct {
	dir          string
	grace, sweep time.Duration
	argv         []string
}

// Main runs the guard: args are what follows "agentos adapter guard". It
// returns the exit code of the process, which the caller MUST exit with at once.
// It takes the process over (signals, descriptors 0 to 3, the working directory),
// so it is called once, by a main function or a test's.
func Main(args []string) int {
	o, err := parse(args)
	if err == nil {
		err = checkControl()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "agentos adapter guard: %v\n", err)
		return exitUsage
	}
	// The kernel ties the adapter's life to the thread that started it, not to
	// the process: that thread must last as long as the guard.
	runtime.LockOSThread()
	// A handler that drops the signal, not an ignored signal: the adapter would
	// inherit that one and could not be ended with SIGTERM.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)

	control := os.NewFile(Control, "control")
	g := &guard{options: o, reports: json.NewEncoder(control), children: children}
	if report := g.start(); report.Error != "" {
		g.report(report)
		if errors.Is(syscall.Errno(report.Errno), syscall.ENOENT) {
			return exitNotFound
		}
		return exitCannot
	}
	commands := make(chan Command)
	go read(control, commands) // ends with the process: nothing else can interrupt its read
	return g.run(commands)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("guard", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.dir, "dir", "", "working directory of the adapter")
	flags.DurationVar(&o.grace, "grace", DefaultGrace, "time after SIGTERM once the runtime is gone")
	flags.DurationVar(&o.sweep, "sweep", DefaultSweep, "time after SIGTERM for what an ended adapter left")
	if err := flags.Parse(args); err != nil {
		return options{}, fmt.Errorf("%w; it is started by the runtime, not by hand", err)
	}
	if o.argv = flags.Args(); len(o.argv) == 0 {
		return options{}, errors.New("no program was given; it is started by the runtime, not by hand")
	}
	return o, nil
}

// checkControl refuses to run without the control stream: the guard would take
// its absence for the end of the runtime.
func checkControl() error {
	if _, err := syscall.GetsockoptInt(Control, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return fmt.Errorf("descriptor %d is no socket (%w); it is started by the runtime, not by hand", Control, err)
	}
	keepFromAdapter()
	return nil
}

// read hands over commands and closes the channel at the end of the stream.
func read(control io.Reader, commands chan<- Command) {
	defer close(commands)
	for lines := bufio.NewScanner(control); lines.Scan(); {
		commands <- Command(lines.Text())
	}
}

// start starts the adapter and reports it, or returns a report of why it could not.
func (g *guard) start() Report {
	if g.dir != "" {
		if err := os.Chdir(g.dir); err != nil {
			return refused(StageDir, err)
		}
	}
	// After the change of directory and with the adapter's environment, which is
	// the guard's own: a relative program or PATH is the adapter's to resolve.
	path, err := exec.LookPath(g.argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return refused(StageProgram, err)
	}
	if err := adoptOrphans(); err != nil {
		return refused(StageStart, err)
	}
	pid, err := syscall.ForkExec(path, g.argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   attributes(),
	})
	if err != nil {
		return refused(StageStart, err)
	}
	g.pid = pid
	letGo()
	started := Report{PID: pid, PGID: pid}
	if p, err := process.Read(pid); err == nil {
		started.StartTime = p.StartTime
	}
	g.report(started)
	return Report{}
}

func refused(stage Stage, err error) Report {
	report := Report{Stage: stage, Error: err.Error()}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		report.Errno = int(errno)
	case errors.Is(err, exec.ErrNotFound):
		report.Errno = int(syscall.ENOENT)
	case errors.Is(err, fs.ErrPermission):
		report.Errno = int(syscall.EACCES)
	}
	return report
}

// letGo drops the adapter's streams, which would otherwise stay open for as
// long as the guard lives, and its working directory, which could not be
// unmounted. Nothing can be done about an error, and nothing depends on it but
// how soon the other side sees the end of a stream.
func letGo() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	for fd := range 3 {
		if err != nil || duplicate(int(null.Fd()), fd) != nil {
			_ = syscall.Close(fd)
		}
	}
	_ = os.Chdir("/")
}
