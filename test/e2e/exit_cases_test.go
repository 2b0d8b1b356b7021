package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentos/actors"
	"agentos/persistence"
	"agentos/protocol"
	"agentos/test/e2e/program"
)

// askerVar makes TestPR10 the process that is killed.
const askerVar = "AGENTOS_E2E_ASKER"

func asIs(s persistence.Source) persistence.Source { return s }

// asker is killed while a permission is pending.
func asker(t *testing.T) {
	vm, ctx := openHere(t, os.Getenv("AGENTOS_E2E_DB"), os.Environ(), asIs)
	spec := protocol.Spec{
		Agent: "scripted", Cwd: os.Getenv("HOME"), Policy: protocol.PolicyAsk,
		Launch: &protocol.Launch{Argv: []string{program.Binary(), "adapter", "scripted"}},
		Env:    map[string]string{"AGENTOS_SCRIPTED_DIR": os.Getenv("AGENTOS_SCRIPTED_DIR")},
	}
	if err := vm.Open(ctx, actors.OpenSession{Session: protocol.DefaultSession, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	sub, err := vm.Watch(ctx, protocol.DefaultSession, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		_, err := vm.Prompt(ctx, actors.Prompt{Session: protocol.DefaultSession, Content: []byte(`[{"type":"text","text":"[[ask]]"}]`)})
		fmt.Printf("ended %v\n", err)
	}()
	for {
		item, err := sub.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if item.Event != nil && item.Event.Kind == protocol.KindPermissionRequest {
			fmt.Printf("asked %s\n", item.Event.Request)
			die()
		}
	}
}

// TestPR10_KilledWithAQuestion kills the runtime while a permission is pending. The
// next one shows it as ended by that, refuses an answer to it, and runs prompts.
func TestPR10_KilledWithAQuestion(t *testing.T) {
	if os.Getenv(askerVar) != "" {
		asker(t)
		return
	}
	t.Parallel()
	home := program.NewHome(t, program.Binary())
	cmd := exec.Command(os.Args[0], "-test.run=^TestPR10_KilledWithAQuestion$", "-test.count=1")
	cmd.Env = append(home.Env, askerVar+"=1", "AGENTOS_E2E_DB="+home.DB, "AGENTOS_E2E_BINARY="+program.Binary(), "TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	_, request, asked := strings.Cut(strings.TrimSpace(string(out)), "asked ")
	if err == nil || cmd.ProcessState.ExitCode() != -1 || !asked {
		t.Fatalf("the runtime was not killed over a question: %v\n%s", err, out)
	}
	home.AwaitNone(t)
	vm, ctx := openHere(t, home.DB, home.Env, asIs)
	info, err := vm.Session(ctx, protocol.DefaultSession)
	if err != nil || info.State != protocol.StateFailed || !strings.Contains(string(info.Error), string(protocol.CodePromptDeliveryUncertain)) {
		t.Errorf("session is %s, %s, %v; want failed, prompt_delivery_uncertain", info.State, info.Error, err)
	}
	sub, err := vm.Watch(ctx, protocol.DefaultSession, 0)
	if err != nil {
		t.Fatal(err)
	}
	for closed := false; !closed; {
		item, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("the question was not shown as ended: %v", err)
		}
		if e := item.Event; e != nil && e.Kind == protocol.KindPermissionResponse {
			closed = true
			if string(e.Request) != request || e.Status != protocol.OutcomeNotPending || e.Reason != protocol.ReasonVMShutdown {
				t.Errorf("%s ended %s, %s; want %s, not pending, vm_shutdown", e.Request, e.Status, e.Reason, request)
			}
		}
	}
	want := protocol.PermissionAnswer{Status: protocol.OutcomeNotPending, Reason: protocol.ReasonVMShutdown}
	if a, err := vm.Permit(ctx, protocol.DefaultSession, protocol.RequestID(request), "allow"); err != nil || a != want {
		t.Errorf("a late answer = %+v, %v; want %+v", a, err, want)
	}
	a, err := vm.Prompt(ctx, actors.Prompt{Session: protocol.DefaultSession, Content: []byte(`[{"type":"text","text":"go on"}]`)})
	if err != nil || a.StopReason != "end_turn" {
		t.Errorf("the next prompt = %+v, %v", a, err)
	}
}

// TestAD10_NotRunningForEver kills the runtime in a turn and takes the agent's program
// away. Nothing shows a turn that runs, and everything but a prompt works.
func TestAD10_NotRunningForEver(t *testing.T) {
	t.Parallel()
	home := program.NewHome(t, program.Binary())
	agent := filepath.Join(home.Work, "my-agent")
	if err := os.Symlink(home.Binary, agent); err != nil {
		t.Fatal(err)
	}
	run := home.Start(t, func(r *program.Run, _ int, line []byte) {
		if strings.Contains(string(line), "agent_message_chunk") {
			r.Kill()
		}
	}, "prompt", "--json", "[[slow 1000 20]]", "--", agent, "adapter", "scripted")
	if out := run.Wait(t); out.Code != -1 {
		t.Fatalf("prompt = %d: %s", out.Code, out.Stderr)
	}
	home.AwaitNone(t)
	if err := os.Remove(agent); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out := home.Run(t, "sessions", "--json")
		if s := string(out.Stdout); out.Code != 0 || !strings.Contains(s, `"state":"failed"`) || !strings.Contains(s, "prompt_delivery_uncertain") {
			t.Errorf("sessions = %d: %s%s", out.Code, s, out.Stderr)
		}
	}
	if out := home.Run(t, "history", "--json"); out.Code != 0 || !strings.Contains(string(out.Stdout), "[[slow 1000 20]]") {
		t.Errorf("history = %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
	out := home.Run(t, "prompt", "--json", "go on")
	if e := lastError(t, out); e.Code != string(protocol.CodeAdapterNotInstalled) && e.Code != string(protocol.CodeAdapterExited) {
		t.Errorf("prompt without its agent = %d, %+v", out.Code, e)
	}
	if out := home.Run(t, "sessions", "unload", "main"); out.Code != 0 {
		t.Errorf("unload = %d: %s", out.Code, out.Stderr)
	}
	if out := home.Run(t, "doctor"); out.Code != 0 {
		t.Errorf("doctor = %d: %s%s", out.Code, out.Stdout, out.Stderr)
	}
}

// TestAD03_SlowStart: while an agent comes up, silence counts and not the whole time;
// who falls silent is told of by step, with the end of its stderr, and is gone.
func TestAD03_SlowStart(t *testing.T) {
	t.Parallel()
	t.Run("alive", func(t *testing.T) {
		t.Parallel()
		home := program.NewHome(t, program.Binary())
		// Ten signs of life, a tenth of a second apart: longer than the silence it is allowed.
		slow := `i=0; while [ $i -lt 10 ]; do echo loading $i >&2; sleep 0.1; i=$((i+1)); done; exec "$0" adapter scripted`
		if err := promptImpatiently(t, home, []string{"sh", "-c", slow, home.Binary}); err != nil {
			t.Errorf("prompt = %v", err)
		}
		home.AwaitNone(t)
	})
	t.Run("silent in session/new", func(t *testing.T) {
		t.Parallel()
		home := program.NewHome(t, program.Binary())
		mute := `read -r line; id=$(printf %s "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id"
read -r line; echo 'server of tools does not come up' >&2; cat >/dev/null # and its own output stays open`
		err := promptImpatiently(t, home, []string{"sh", "-c", mute})
		var pe *protocol.Error
		if !errors.As(err, &pe) || pe.Code != protocol.CodeACPTimeout || !strings.Contains(pe.Message, "session/new") {
			t.Fatalf("prompt = %v; want acp_timeout of session/new", err)
		}
		if tail := fmt.Sprint(pe.Message, pe.Details["stderr"]); !strings.Contains(tail, "server of tools does not come up") {
			t.Errorf("%v, %v does not say what the agent wrote on stderr", pe, pe.Details)
		}
		home.AwaitNone(t)
	})
}
