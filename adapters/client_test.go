//go:build linux

package adapters

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"agentos/adapters/guard"
	"agentos/adapters/process"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "adapter":
			os.Exit(guard.Main(os.Args[3:]))
		case "fake":
			os.Exit(fakes[os.Args[2]](os.Args[3:]))
		case "runtime":
			os.Exit(fakeRuntime())
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		all, err := process.List()
		if left := process.Descendants(all, os.Getpid()); err != nil || len(left) > 0 {
			fmt.Fprintf(os.Stderr, "processes were left behind: %+v %v\n", left, err)
			code = 1
		}
		os.Exit(code)
	}))
}

func guardCommand() []string { return []string{os.Args[0], "adapter", "guard"} }

// adapter is a running fake and what was heard from it.
type adapter struct {
	*Client
	t     *testing.T
	mu    sync.Mutex
	heard []jsonrpc.Message
}

func fakeSpec(t *testing.T, name string, args ...string) Spec {
	t.Helper()
	// Without this a test binary built with -race takes a second to exit.
	env, err := Environment(os.Environ(), nil, map[string]string{"GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Name: "fake", Argv: append([]string{os.Args[0], "fake", name}, args...), Env: env, Dir: t.TempDir()}
}

func start(t *testing.T, name string, args ...string) *adapter {
	t.Helper()
	return startSpec(t, fakeSpec(t, name, args...), Options{})
}

func startSpec(t *testing.T, s Spec, o Options) *adapter {
	t.Helper()
	a := &adapter{t: t}
	o.Guard = guardCommand()
	inner := o.OnMessage
	o.OnMessage = func(m jsonrpc.Message) {
		a.mu.Lock()
		a.heard = append(a.heard, m)
		a.mu.Unlock()
		if inner != nil {
			inner(m)
		}
	}
	c, err := Start(t.Context(), s, o)
	if err != nil {
		t.Fatalf("Start = %v", err)
	}
	a.Client = c
	t.Cleanup(func() {
		if err := c.Stop(Grace{}); err != nil {
			t.Errorf("Stop = %v", err)
		}
	})
	return a
}

func (a *adapter) messages(method string) []jsonrpc.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []jsonrpc.Message
	for _, m := range a.heard {
		if m.Method == method {
			found = append(found, m)
		}
	}
	return found
}

// processes waits until the fake and its children have named n processes.
func (a *adapter) processes(n int) []process.Process {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("%d processes have said their number", n), func() bool { return len(a.messages("pids")) >= n })
	var list []process.Process
	for _, m := range a.messages("pids") {
		list = append(list, lookUp(a.t, string(m.Params)))
	}
	return list
}

// lookUp finds the process whose number stands in text as "[123]".
func lookUp(t *testing.T, text string) process.Process {
	t.Helper()
	pid, err := strconv.Atoi(strings.Trim(text, "[]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Read(pid)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return p
}

func (a *adapter) ask(method string) (jsonrpc.Response, error) {
	a.t.Helper()
	return a.Request(a.t.Context(), method, []byte("{}"), Patience{Max: 20 * time.Second})
}

func (a *adapter) wantExit(code int, signal string) {
	a.t.Helper()
	within(a.t, "the adapter has ended", a.Exited())
	if e := a.Exit(); e.Code != code || e.Signal != signal || e.Lost {
		a.t.Errorf("Exit = %+v; want code %d, signal %q", e, code, signal)
	}
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain: %s", what)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func wantDead(t *testing.T, list []process.Process) {
	t.Helper()
	for _, p := range list {
		if p.Alive() {
			t.Errorf("process %d is still there", p.PID)
		}
	}
}

// wantError checks the code of err and that its text names every word.
func wantError(t *testing.T, err error, code protocol.Code, words ...string) *protocol.Error {
	t.Helper()
	if protocol.CodeOf(err) != code {
		t.Fatalf("error = %v; want %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	var e *protocol.Error
	errors.As(err, &e)
	return e
}

func TestRequestAndOrderlyEnd(t *testing.T) {
	a := start(t, "good")
	r, err := a.ask("initialize")
	if err != nil || string(r.Result) != `"initialize"` {
		t.Fatalf("Request = %s, %v", r.Result, err)
	}
	if p, err := process.Read(a.PID()); err != nil || p.Group != a.PID() {
		t.Errorf("adapter = %+v, %v; want the leader of a group", p, err)
	}
	if err := a.Stop(GraceFor("fake")); err != nil {
		t.Errorf("Stop = %v", err)
	}
	a.wantExit(0, "")
}

func TestAdapterErrorIsPassedOn(t *testing.T) {
	a := start(t, "refuses")
	_, err := a.ask("session/load")
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != -32002 {
		t.Errorf("Request = %v; want the adapter's own error", err)
	}
}

func TestRequestsNobodyHandlesAreRefused(t *testing.T) {
	c, err := Start(t.Context(), fakeSpec(t, "asks"), Options{Guard: guardCommand()})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the adapter was answered and has said so", func() bool { return c.Peer().Stats().Notifications > 0 })
	if err := c.Stop(Grace{}); err != nil {
		t.Error(err)
	}
}

func TestEveryLineBeforeTheEndIsDelivered(t *testing.T) {
	const n = 5000
	a := start(t, "last", strconv.Itoa(n))
	if err := a.Peer().Notify("go", nil); err != nil {
		t.Fatal(err)
	}
	within(t, "the adapter has ended", a.Exited())
	heard := a.messages("n")
	if len(heard) != n {
		t.Fatalf("heard %d of %d lines when Exited was closed", len(heard), n)
	}
	for i, m := range heard {
		if want := fmt.Sprintf("[%d]", i); string(m.Params) != want {
			t.Fatalf("line %d = %s; want %s", i, m.Params, want)
		}
	}
}

func TestStdoutHeldByAStranger(t *testing.T) {
	a := start(t, "good")
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", a.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	begun := time.Now()
	if err := a.Stop(Grace{Stdin: 10 * time.Second}); err != nil {
		t.Errorf("Stop = %v", err)
	}
	if took := time.Since(begun); took >= drainPause {
		t.Errorf("Stop took %v: it waited for the end of the stream", took)
	}
	a.wantExit(0, "")
}

func TestAD04_ExitSaysWhy(t *testing.T) {
	a := start(t, "exit", "3", "starting", "bad config")
	_, err := a.ask("initialize")
	e := wantError(t, err, protocol.CodeAdapterExited, "initialize", "exit code 3", "bad config")
	if e.Details["exitCode"] != 3 || e.Details["stderr"] != "starting\nbad config\n" {
		t.Errorf("details = %v; want exit code and stderr", e.Details)
	}
	if _, err := a.ask("again"); protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Errorf("Request after the end = %v; want %s", err, protocol.CodeAdapterExited)
	}
}

func TestAD01_KilledInACall(t *testing.T) {
	a := start(t, "killed")
	_, err := a.ask("session/prompt")
	e := wantError(t, err, protocol.CodeAdapterExited, "killed")
	if e.Details["exitCode"] != 137 || e.Details["signal"] != "killed" {
		t.Errorf("details = %v; want the signal", e.Details)
	}
}

func TestAD06_ClosedStdoutCountsAsDead(t *testing.T) {
	t.Parallel()
	a := start(t, "closer")
	a.wantExit(143, "terminated")
	if _, err := a.ask("initialize"); protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Errorf("Request = %v; want %s", err, protocol.CodeAdapterExited)
	}
}

func TestAD07_LP06_StderrIsDrainedAndBounded(t *testing.T) {
	t.Parallel()
	a := start(t, "flood", "50000000")
	if _, err := a.ask("initialize"); err != nil {
		t.Fatalf("Request behind 50 MB of stderr = %v", err)
	}
	_, err := a.ask("again")
	e := wantError(t, err, protocol.CodeAdapterExited, "exit code 1", "the last line")
	tail := a.Exit().StderrTail
	if n := len(tail); n > defaultStderrBytes || n < defaultStderrBytes/2 || !utf8.ValidString(tail) || strings.Contains(tail, "\uFFFD") {
		t.Errorf("tail has %d bytes, valid %v; want at most %d, whole characters", n, utf8.ValidString(tail), defaultStderrBytes)
	}
	if text, ok := e.Details["stderr"].(string); !ok || len(text) > detailBytes || !strings.HasSuffix(text, "the last line\n") {
		t.Errorf("details have %d bytes of stderr; want the newest, at most %d", len(text), detailBytes)
	}
}

func TestSN01_JunkIsSkipped(t *testing.T) {
	var mu sync.Mutex
	kinds := map[jsonrpc.DiagnosticKind]int64{}
	a := startSpec(t, fakeSpec(t, "junk"), Options{OnDiagnostic: func(d jsonrpc.Diagnostic) {
		mu.Lock()
		defer mu.Unlock()
		kinds[d.Kind] = d.Count
	}})
	if _, err := a.ask("initialize"); err != nil {
		t.Fatalf("Request = %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if kinds[jsonrpc.Junk] != 3 || kinds[jsonrpc.NotMessage] != 3 {
		t.Errorf("diagnostics = %v; want 3 lines of junk and 3 that are no messages", kinds)
	}
}

func TestS4_3_AnswerTooLong(t *testing.T) {
	a := startSpec(t, fakeSpec(t, "huge"), Options{MaxLineBytes: 1 << 10})
	_, err := a.ask("session/load")
	wantError(t, err, protocol.CodeResourceLimit, "session/load", "maxReadLineBytes")
	if err := a.Peer().Notify("still", nil); err != nil {
		t.Errorf("the connection did not survive: %v", err)
	}
}

func TestEN01_ChildEnvironment(t *testing.T) {
	base := append(os.Environ(), "RT_API_TOKEN=1", "DATABASE_URL=2", "AWS_SECRET_ACCESS_KEY=3", "AGENTOS_DATA=4")
	env, err := Environment(base, []string{"DATABASE_URL"}, map[string]string{"GORACE": "atexit_sleep_ms=0", "MULTI": "a\nb"})
	if err != nil {
		t.Fatal(err)
	}
	s := fakeSpec(t, "environ")
	s.Env = env
	r, err := startSpec(t, s, Options{}).ask("env")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(r.Result, &got); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, "\x00") != strings.Join(env, "\x00") {
		t.Errorf("the adapter's environment is %q; want %q", got, env)
	}
	for _, v := range got {
		for _, secret := range []string{"RT_API_TOKEN", "AWS_SECRET", "AGENTOS_"} {
			if strings.HasPrefix(v, secret) {
				t.Errorf("the adapter got %s", secret)
			}
		}
	}
}

func TestEN02_StderrIsMasked(t *testing.T) {
	s := fakeSpec(t, "exit", "1", "Authorization: Bearer sk-test-0123456789abcdef", "key plain-secret-value refused")
	s.Env = append(s.Env, "SOME_API_KEY=plain-secret-value")
	_, err := startSpec(t, s, Options{}).ask("initialize")
	e := wantError(t, err, protocol.CodeAdapterExited, "key [masked] refused")
	shown := fmt.Sprint(err, e.Details)
	for _, secret := range []string{"sk-test", "plain-secret-value"} {
		if strings.Contains(shown, secret) {
			t.Errorf("error shows %q: %s", secret, shown)
		}
	}
}

func TestPG04_ProbesLeaveNothing(t *testing.T) {
	for i := range 20 {
		name, args := "good", []string(nil)
		if i%2 == 0 {
			name, args = "exit", []string{"1", "no"}
		}
		a := start(t, name, args...)
		if _, err := a.ask("initialize"); (err == nil) != (name == "good") {
			t.Errorf("probe of %s = %v", name, err)
		}
		if err := a.Stop(Grace{Stdin: 10 * time.Second}); err != nil {
			t.Error(err)
		}
	}
	all, err := process.List()
	if left := process.Descendants(all, os.Getpid()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %+v, %v", left, err)
	}
}

func TestRuntimeKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "runtime", "now")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var list []process.Process
	for lines := bufio.NewScanner(out); len(list) < 3 && lines.Scan(); {
		list = append(list, lookUp(t, lines.Text()))
	}
	runtime, err := process.Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	tree := process.Descendants(all, runtime.PID) // the guard too
	if len(list) != 3 || len(tree) != 4 {
		t.Fatalf("heard of %d processes and found %d; want 3, and their guard", len(list), len(tree))
	}
	if err := runtime.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, p := range tree {
		eventually(t, fmt.Sprintf("process %d is gone", p.PID), func() bool { return !p.Alive() })
	}
}

func TestContextEndsARequestOnly(t *testing.T) {
	a := start(t, "mute")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller went away")
	cancel(why)
	if _, err := a.Request(ctx, "session/new", nil, Patience{}); !errors.Is(err, why) {
		t.Errorf("Request = %v; want %v", err, why)
	}
	if err := a.Stop(Grace{Stdin: 10 * time.Second}); err != nil {
		t.Error(err)
	}
	a.wantExit(0, "")
}
