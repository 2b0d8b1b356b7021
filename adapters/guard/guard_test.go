//go:build linux

package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentos/adapters/process"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// guarded is a guard with its adapter, seen from the runtime.
type guarded struct {
	t       *testing.T
	cmd     *exec.Cmd
	control net.Conn
	reports *json.Decoder
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	stderr  bytes.Buffer
}

// launch starts a guard with flags in front of "--" and argv.
func launch(t *testing.T, flags []string, argv ...string) *guarded {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "runtime"), os.NewFile(uintptr(pair[1]), "guard")
	control, err := net.FileConn(mine)
	if err := errors.Join(err, mine.Close()); err != nil {
		t.Fatal(err)
	}
	g := &guarded{t: t, control: control, reports: json.NewDecoder(control)}
	g.cmd = exec.Command(os.Args[0], append(append([]string{"guard"}, flags...), append([]string{"--"}, argv...)...)...)
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	g.cmd.ExtraFiles = []*os.File{theirs}
	g.cmd.Stderr = &g.stderr
	g.cmd.WaitDelay = 10 * time.Second
	if g.stdin, err = g.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.stdout = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = control.Close()
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	})
	if err := errors.Join(theirs.Close(), control.SetDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	return g
}

// next returns the next report.
func (g *guarded) next() Report {
	g.t.Helper()
	var r Report
	if err := g.reports.Decode(&r); err != nil {
		g.t.Fatalf("read a report: %v", err)
	}
	return r
}

func (g *guarded) started() Report {
	g.t.Helper()
	r := g.next()
	if r.PID <= 0 || r.PGID != r.PID || r.StartTime == 0 || r.Error != "" {
		g.t.Fatalf("first report = %+v; want a start", r)
	}
	return r
}

func (g *guarded) send(command Command) {
	g.t.Helper()
	if _, err := io.WriteString(g.control, string(command)+"\n"); err != nil {
		g.t.Fatal(err)
	}
}

// processes reads n lines of the adapter's, each a process id.
func (g *guarded) processes(n int) []process.Process {
	g.t.Helper()
	var list []process.Process
	for range n {
		line, err := g.stdout.ReadString('\n')
		if err != nil {
			g.t.Fatalf("read a process id: %v; stderr: %s", err, g.stderr.String())
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			g.t.Fatal(err)
		}
		p, err := process.Read(pid)
		if err != nil {
			g.t.Fatalf("process %d: %v", pid, err)
		}
		list = append(list, p)
	}
	return list
}

// ended waits for the guard and checks its exit code.
func (g *guarded) ended(code int) {
	g.t.Helper()
	_ = g.cmd.Wait()
	if got := g.cmd.ProcessState.ExitCode(); got != code {
		g.t.Errorf("guard's exit code = %d (%v); want %d", got, g.cmd.ProcessState, code)
	}
}

func exits(code int, name string) []Report {
	return []Report{{Exit: &code, Signal: name}, {Done: true}}
}

func (g *guarded) wantRest(want []Report) {
	g.t.Helper()
	var got []Report
	for {
		var r Report
		if err := g.reports.Decode(&r); err != nil {
			break
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Errorf("reports after the start (-want +got):\n%s", diff)
	}
}

// eventually waits until what holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// wantGone waits until each has ended and was reaped.
func wantGone(t *testing.T, list []process.Process) {
	t.Helper()
	for _, p := range list {
		eventually(t, "process "+strconv.Itoa(p.PID)+" is gone", func() bool { return !p.Exists() })
	}
}

// stubborn prints five process ids: a shell in a shell, a sleeper, one in the
// background that ignores SIGTERM, and one that left group, session and parents.
const stubborn = `
trap '' TERM; echo $$
sh -c 'trap "" TERM; echo $$
  sh -c "trap \"\" TERM; echo \$\$; while :; do sleep 1000; done" &
  (setsid sh -c "trap \"\" TERM; echo \$\$; while :; do sleep 1000; done" &)
  wait' &
sleep 1000 & echo $!
wait; while :; do sleep 1000; done`

func TestExitIsReportedAndPassedOn(t *testing.T) {
	tests := map[string]struct {
		script string
		code   int
		signal string
	}{
		"zero":   {"exit 0", 0, ""},
		"code":   {"exit 7", 7, ""},
		"signal": {"kill -KILL $$", 137, "killed"},
		"term":   {"kill -TERM $$", 143, "terminated"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := launch(t, nil, "sh", "-c", tt.script)
			g.started()
			g.wantRest(exits(tt.code, tt.signal))
			g.ended(tt.code)
		})
	}
}

func TestStartRefused(t *testing.T) {
	dir := t.TempDir()
	plain, script := filepath.Join(dir, "plain"), filepath.Join(dir, "script")
	if err := errors.Join(
		os.WriteFile(plain, []byte("text"), 0o600),
		os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		flags   []string
		program string
		stage   Stage
		errno   syscall.Errno
		code    int
	}{
		"missing dir":         {[]string{"--dir", dir + "/none"}, "sh", StageDir, syscall.ENOENT, 127},
		"dir is a file":       {[]string{"--dir", plain}, "sh", StageDir, syscall.ENOTDIR, 126},
		"missing on PATH":     {nil, "no-such-program", StageProgram, syscall.ENOENT, 127},
		"missing path":        {nil, dir + "/none", StageProgram, syscall.ENOENT, 127},
		"not executable":      {nil, plain, StageProgram, syscall.EACCES, 126},
		"a directory":         {nil, dir, StageProgram, syscall.EISDIR, 126},
		"missing interpreter": {nil, script, StageStart, syscall.ENOENT, 127},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := launch(t, tt.flags, tt.program)
			r := g.next()
			if r.Stage != tt.stage || syscall.Errno(r.Errno) != tt.errno || r.Error == "" || r.PID != 0 {
				t.Errorf("report = %+v; want stage %q, errno %d (%v)", r, tt.stage, int(tt.errno), tt.errno)
			}
			g.wantRest(nil)
			g.ended(tt.code)
		})
	}
}

func TestRuntimeGoneLeavesNothing(t *testing.T) {
	g := launch(t, []string{"--grace", "50ms"}, "sh", "-c", stubborn)
	g.started()
	list := g.processes(5)
	if err := g.control.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, list)
	g.ended(137)
}

func TestRuntimeGoneGivesGrace(t *testing.T) {
	g := launch(t, []string{"--grace", "1m"}, "sh", "-c", `trap 'echo saved; exit 3' TERM; echo $$; while :; do sleep 0.01; done`)
	g.started()
	g.processes(1)
	if err := g.control.Close(); err != nil {
		t.Fatal(err)
	}
	if line, err := g.stdout.ReadString('\n'); line != "saved\n" {
		t.Errorf("adapter said %q, %v; want its own end", line, err)
	}
	g.ended(3)
}

func TestLeftoversEndWithTheAdapter(t *testing.T) {
	// PG-02: the adapter has ended well, a grandchild holds its stdout.
	g := launch(t, []string{"--sweep", "20ms"}, "sh", "-c", `sh -c "trap '' TERM; echo \$\$; while :; do sleep 1000; done" & read line; exit 4`)
	g.started()
	list := g.processes(1)
	if err := g.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.stdout.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("stdout ended with %v; want EOF", err)
	}
	wantGone(t, list)
	g.wantRest(exits(4, ""))
	g.ended(4)
}

func TestCommands(t *testing.T) {
	t.Run("term reaches the group", func(t *testing.T) {
		g := launch(t, nil, "sh", "-c", "sleep 1000 & echo $!; echo $$; wait")
		g.started()
		list := g.processes(2)
		g.send(CommandTerm)
		wantGone(t, list)
		g.wantRest(exits(143, "terminated"))
	})
	t.Run("kill reaches everything", func(t *testing.T) {
		g := launch(t, []string{"--sweep", "1h"}, "sh", "-c", stubborn)
		g.started()
		list := g.processes(5)
		g.send(CommandTerm) // ignored by all but the sleeper
		g.send("nonsense")
		g.send(CommandKill)
		wantGone(t, list)
		g.wantRest(exits(137, "killed"))
	})
	t.Run("kill cuts the sweep short", func(t *testing.T) {
		g := launch(t, []string{"--sweep", "1h"}, "sh", "-c", `sh -c "trap '' TERM; echo \$\$; while :; do sleep 1000; done" & read line`)
		g.started()
		list := g.processes(1)
		if err := g.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if r := g.next(); r.Exit == nil {
			t.Fatalf("report = %+v; want the adapter's exit", r)
		}
		g.send(CommandKill)
		wantGone(t, list)
		g.ended(1)
	})
}

func TestSignalsAreNotTheGuards(t *testing.T) {
	g := launch(t, nil, "sh", "-c", "echo $$; read line; exit 5")
	g.started()
	adapter := g.processes(1)[0]
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := g.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(adapter.PID) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "SigIgn:")
	ignored, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if ignored&(1<<(sig-1)) != 0 {
			t.Errorf("the adapter was started with %v ignored", sig)
		}
	}
	if err := g.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	g.ended(5)
}

func TestPlaceOfTheAdapter(t *testing.T) {
	g := launch(t, []string{"--dir", t.TempDir()}, "sh", "-c", "echo $$; read line")
	r := g.started()
	adapter := g.processes(1)[0]
	guard, err := process.Read(g.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	want := process.Process{PID: r.PID, Parent: guard.PID, Group: r.PID, Session: guard.PID, StartTime: r.StartTime, State: adapter.State}
	if adapter != want || guard.Session != guard.PID {
		t.Errorf("adapter = %+v; want %+v in a session of the guard's", adapter, want)
	}
	if at, err := os.Readlink("/proc/" + strconv.Itoa(guard.PID) + "/cwd"); at != "/" {
		t.Errorf("guard stays in %q (%v); want /, for the directory to be unmounted", at, err)
	}
	open, err := os.ReadDir("/proc/" + strconv.Itoa(adapter.PID) + "/fd")
	if err != nil || len(open) != 3 {
		t.Errorf("adapter has %v (%v); want the three streams", open, err)
	}
}

func TestGuardHoldsNoStream(t *testing.T) {
	g := launch(t, nil, "sh", "-c", "exec >&-; read line; exit 6")
	g.started()
	if _, err := g.stdout.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("read of a stdout that the adapter closed = %v; want EOF", err)
	}
	if err := g.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	g.ended(6)
}

func TestGuardKilledTakesTheAdapterAlong(t *testing.T) {
	g := launch(t, nil, "sh", "-c", `trap '' TERM; echo $$; while :; do sleep 0.01; done`)
	g.started()
	list := g.processes(1)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the kernel has killed the adapter", func() bool { return !list[0].Alive() })
}

func TestOrphansAreReaped(t *testing.T) {
	g := launch(t, nil, "sh", "-c", `for i in 1 2 3; do (sh -c 'echo $$; exec sleep 1000' &); done; read line; exit 0`)
	g.started()
	list := g.processes(3)
	guard := g.cmd.Process.Pid
	eventually(t, "the guard has adopted the orphans", func() bool {
		for _, p := range list {
			if now, err := process.Read(p.PID); err != nil || now.Parent != guard {
				return false
			}
		}
		return true
	})
	for _, p := range list {
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	wantGone(t, list)
}

func TestWrongUse(t *testing.T) {
	for name, args := range map[string][]string{
		"no program": {"guard"},
		"no control": {"guard", "--", "sh"},
		"wrong flag": {"guard", "--none", "--", "sh"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(os.Args[0], args...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 || !bytes.Contains(out, []byte("started by the runtime")) {
				t.Errorf("guard ended with %v and said %q; want exit 2 and who starts it", err, out)
			}
		})
	}
}
