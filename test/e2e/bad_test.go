package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"agentos/actors"
	"agentos/adapters"
	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
	"agentos/test/e2e/program"
)

// What a person is told of agents that cannot be used stands in the scripts of
// cmd/agentos. Here is what those cannot show.

// lastError is the error of a run with --json.
func lastError(t *testing.T, out program.Output) (e struct {
	Code, Message string
	Details       struct{ PID int }
}) {
	t.Helper()
	lines := out.Lines()
	if len(lines) == 0 {
		t.Fatalf("it printed nothing: %d, %s", out.Code, out.Stderr)
	}
	last := struct{ Error any }{&e}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestS13_AgentsThatNeverAnswer runs real processes under the runtime's own
// patience cut short: a minute of silence is too long for a test.
func TestS13_AgentsThatNeverAnswer(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"silent":               {"sh", "-c", "cat >&2 >/dev/null"},
		"talks, but no JSON":   {"sh", "-c", "echo Welcome; echo '> '; cat >/dev/null"},
		"has lost its output":  {"sh", "-c", "exec >&-; cat >/dev/null"},
		"has closed its input": {"sh", "-c", "exec <&-; exec sleep 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := program.NewHome(t, program.Binary())
			err := promptImpatiently(t, home, command)
			var pe *protocol.Error
			if !errors.As(err, &pe) {
				t.Fatalf("prompt = %v", err)
			}
			if known := []protocol.Code{protocol.CodeACPTimeout, protocol.CodeAdapterExited}; pe.Code != known[0] && pe.Code != known[1] {
				t.Errorf("prompt = %v; want one of %v", pe, known)
			}
			if !strings.Contains(pe.Message, "initialize") {
				t.Errorf("%q does not say what was not answered", pe.Message)
			}
			home.AwaitNone(t)
			// It was never accepted, so nothing of it is stored; another agent can be had.
			if out := home.Run(t, "history", "--json"); out.Code != 0 || len(out.Stdout) > 0 {
				t.Errorf("history = %d, %s; want an empty one", out.Code, out.Stdout)
			}
			if out := home.Run(t, "prompt", "--quiet", "--agent", "scripted", "#mended"); out.Code != 0 {
				t.Errorf("prompt with another agent = %d: %s", out.Code, out.Stderr)
			}
		})
	}
}

func promptImpatiently(t *testing.T, home *program.Home, command []string) (err error) {
	t.Helper()
	node, err := actors.Start(actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true, Command: "a test"})
		},
		Adapters: actors.Processes([]string{program.Binary(), "adapter", "guard"}, home.Env, protocol.DefaultLimits().ReadLineBytes),
		Patience: adapters.Patience{Silence: 300 * time.Millisecond, Max: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer func() {
		if err := node.Close(ctx); err != nil {
			t.Errorf("close the node: %v", err)
		}
	}()
	vm, err := node.Open(ctx, "default", protocol.Descriptor{SQLiteFile: home.DB})
	if err != nil {
		t.Fatal(err)
	}
	spec := protocol.Spec{Agent: "broken", Cwd: home.Work, Policy: protocol.PolicyAsk, Launch: &protocol.Launch{Argv: command}}
	_, err = vm.Prompt(ctx, actors.Prompt{
		Session: protocol.DefaultSession, Content: []byte(`[{"type":"text","text":"hello"}]`),
		Open: &actors.OpenSession{Session: protocol.DefaultSession, Spec: spec},
	})
	return err
}

// The lock of a VM is the process's, not the file's. Meanwhile others use the VM
// through its holder.
func TestVMHeld(t *testing.T) {
	t.Parallel()
	home := program.NewHome(t, program.Binary())
	begun := make(chan bool, 1)
	holder := home.Start(t, func(_ *program.Run, n int, _ []byte) {
		if n == 1 {
			begun <- true
		}
	}, "prompt", "--json", "[[wait]]")
	select {
	case <-begun:
	case <-time.After(30 * time.Second):
		holder.Kill()
		t.Fatalf("the turn has not begun: %+v", holder.Wait(t))
	}
	if out := home.Run(t, "prompt", "--json", "hello"); out.Code != protocol.ExitBusy || lastError(t, out).Code != "session_busy" {
		t.Errorf("a second prompt = %d, %s; want 3, session_busy", out.Code, out.Stderr)
	}
	for _, args := range [][]string{{"prompt", "--session", "other", "--json", "hello"}, {"history", "--json"}, {"sessions", "--json"}, {"doctor", "--json"}} {
		if out := home.Run(t, args...); out.Code != protocol.ExitOK {
			t.Errorf("%v = %d, %s", args, out.Code, out.Stderr)
		}
	}
	holder.Kill()
	if out := holder.Wait(t); out.Code != -1 {
		t.Errorf("the holder ended with %d before it was killed", out.Code)
	}
	var left struct{ PID int }
	if line, err := os.ReadFile(home.DB + ".lock"); err != nil || json.Unmarshal(line, &left) != nil || left.PID != holder.PID() {
		t.Errorf("the lock file says %q, %v; want process %d: else this shows nothing", line, err, holder.PID())
	}
	if out := home.Run(t, "prompt", "--json", "hello"); out.Code != 0 {
		t.Errorf("behind a dead holder: %d, %s", out.Code, out.Stderr)
	}
	// Numbers of processes are used again: this one lives, and holds nothing.
	line := fmt.Sprintf(`{"pid":%d,"startTime":0,"command":"agentos prompt","socket":""}`+"\n", os.Getpid())
	if err := os.WriteFile(home.DB+".lock", []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := home.Run(t, "prompt", "--json", "hello"); out.Code != 0 {
		t.Errorf("behind a lock file of a process that holds nothing: %d, %s", out.Code, out.Stderr)
	}
}

// An agent that ends at once is shown with the end of what it wrote on stderr,
// not with all of it, and another one can take its place in the session.
func TestAgentThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	home := program.NewHome(t, program.Binary())
	script := `i=0; while [ $i -lt 20000 ]; do echo "line $i of a long complaint" >&2; i=$((i+1)); done; exit 7`
	out := home.Run(t, "prompt", "hello", "--", "sh", "-c", script)
	if out.Code != protocol.ExitFailed || !strings.Contains(out.Stderr, "adapter_exited") || !strings.Contains(out.Stderr, "exit code 7") {
		t.Errorf("prompt = %d: %.2000s", out.Code, out.Stderr)
	}
	if !strings.Contains(out.Stderr, "line 19999 of a long complaint") || strings.Contains(out.Stderr, "line 0 of") || len(out.Stderr) > 64<<10 {
		t.Errorf("stderr has %d bytes; want the end of the complaint", len(out.Stderr))
	}
	out = home.Run(t, "prompt", "--json", "--agent", "scripted", "hello")
	if out.Code != 0 || !strings.Contains(string(out.Stdout), `"restoredBy":"new"`) {
		t.Errorf("prompt with another agent = %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
}
