package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain is also the program: as `agentos` in scripts, and when the runtime
// starts itself as a guard or as the scripted agent.
func TestMain(m *testing.M) {
	if code, handled := adapterProcess(os.Args[1:]); handled {
		exitNow(code)
	}
	testscript.Main(m, map[string]func(){"agentos": main})
}

// TestScripts runs the files that say what the command line does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup:               setup,
		Cmds:                commands,
	})
}

// commands are those of the scripts beside testscript's own.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits": exits, "shows": shows, "start": start, "signal": sendSignal, "ends": ends,
}

type processes map[string]*process

type processesKey struct{}

func setup(e *testscript.Env) error {
	e.Values[processesKey{}] = processes{}
	home := filepath.Join(e.WorkDir, "home")
	e.Setenv("HOME", home)
	e.Setenv("TERM", "xterm")
	e.Setenv("GORACE", raceOptions)
	return os.Mkdir(home, 0o755)
}

// raceOptions keep a program that was built with the race detector from sleeping
// for a second at its end.
const raceOptions = "atexit_sleep_ms=0"

// exits runs a command that must end with one exit code: exits CODE PROGRAM ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	checkExit(ts, ts.Exec(args[1], args[2:]...), want)
}

func checkExit(ts *testscript.TestScript, err error, want int) {
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code = %d; want %d", got, want)
	}
}

// shows compares what the last command printed with a file, but for what is
// another each time: shows stdout|stderr FILE.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows stdout|stderr|FILE FILE")
	}
	got := normalize(ts.Getenv("WORK"), ts.ReadFile(args[0]))
	if diff := cmp.Diff(ts.ReadFile(args[1]), got); diff != "" {
		ts.Fatalf("%s (-want +got):\n%s\nit was:\n%s", args[0], diff, got)
	}
}

var volatile = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`"run":"[^"]*"`), `"run":"RUN"`},
	{regexp.MustCompile(`process \d+`), "process PID"},
	{regexp.MustCompile(`\r`), ""},
	{regexp.MustCompile(`\x1b`), "ESC"},
}

func normalize(work, text string) string {
	text = strings.ReplaceAll(text, work, "$WORK")
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return text
}

// process is a command in the background.
type process struct {
	cmd *exec.Cmd
	out watched // of stdout and stderr together
	end func()  // of what is no command, or of what reads the command; nil if nothing does
}

// watched is output that can be waited for.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced by each write
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more != nil {
		close(w.more)
	}
	w.more = make(chan struct{})
	return w.text.Write(p)
}

func (w *watched) await(pattern *regexp.Regexp) error {
	limit := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		if w.more == nil {
			w.more = make(chan struct{})
		}
		text, more := w.text.String(), w.more
		w.mu.Unlock()
		if pattern.MatchString(text) {
			return nil
		}
		select {
		case <-more:
		case <-limit:
			return fmt.Errorf("it has not said %q, only:\n%s", pattern, text)
		}
	}
}

// start runs a command in the background and waits until it has printed
// something: start NAME REGEXP PROGRAM ARGS...
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start NAME REGEXP PROGRAM ARGS...")
	}
	p := &process{cmd: command(ts, args[2], args[3:]...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	ts.Check(p.cmd.Start())
	ts.Defer(func() { _ = p.cmd.Process.Kill() }) // it has ended, if the script did its work
	ts.Value(processesKey{}).(processes)[args[0]] = p
	ts.Check(p.out.await(regexp.MustCompile(args[1])))
}

// command is a program as the script itself would run it.
func command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(name)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Args[0] = name
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	return cmd
}

// environ is the environment of the script's own commands.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "WORK", "TERM", "TMPDIR", "AGENTOS_DATA", "AGENTOS_VM", "NO_COLOR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func find(ts *testscript.TestScript, name string) *process {
	p := ts.Value(processesKey{}).(processes)[name]
	if p == nil {
		ts.Fatalf("nothing was started as %q", name)
	}
	return p
}

// sendSignal sends a signal: signal NAME SIGNAL [REGEXP], and waits for what the
// command then says.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: signal NAME SIGNAL [REGEXP]")
	}
	p := find(ts, args[0])
	ts.Check(p.cmd.Process.Signal(map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
	}[args[1]]))
	if len(args) > 2 {
		ts.Check(p.out.await(regexp.MustCompile(args[2])))
	}
}

// ends waits for a command of start, checks its exit code (-1: by a signal) and
// leaves what it printed in the file NAME.out: ends NAME CODE.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE")
	}
	p := find(ts, args[0])
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	err = p.cmd.Wait()
	if p.end != nil {
		p.end()
	}
	if !late.Stop() {
		ts.Fatalf("%s did not end; it said:\n%s", args[0], p.out.text.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), p.out.text.Bytes(), 0o600))
	ts.Logf("%s printed:\n%s", args[0], p.out.text.String())
	checkExit(ts, err, want)
}
