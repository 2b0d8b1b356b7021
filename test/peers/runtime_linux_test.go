package peers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agentos/test/e2e/program"
	"agentos/test/peers"
)

// person is somebody who uses the real agentos with a real agent.
type person struct {
	home *program.Home
	tags []string // of all prompts so far
}

// turnEnd is what these tests read of a turn.
type turnEnd struct {
	out    program.Output
	Result struct {
		StopReason, RestoredBy string
		Message                struct{ Content []struct{ Text string } }
	}
	Error struct{ Code string }
}

func (e turnEnd) text() string {
	var text strings.Builder
	for _, block := range e.Result.Message.Content {
		text.WriteString(block.Text)
	}
	return text.String()
}

// prompt runs a turn; each sees the lines as they come and may kill it.
func (p *person) prompt(t *testing.T, tag, text string, each func(*program.Run, string)) turnEnd {
	t.Helper()
	p.tags = append(p.tags, tag)
	run := p.home.Start(t, func(r *program.Run, _ int, line []byte) {
		if each != nil {
			each(r, string(line))
		}
	}, "prompt", "--json", "--agent", "zed-codex", tag+" "+text)
	end := turnEnd{out: run.Wait(t)}
	if lines := end.out.Lines(); len(lines) > 0 {
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
			t.Fatal(err)
		}
	}
	p.home.AwaitNone(t)
	return end
}

// ok runs a turn that must end well: restored in that way, with an agent that
// has every earlier prompt in its context.
func (p *person) ok(t *testing.T, tag, text, restoredBy string) turnEnd {
	t.Helper()
	end := p.prompt(t, tag, text, nil)
	want := "memory: " + strings.Join(p.tags, " ")
	if end.out.Code != 0 || end.Result.StopReason != "end_turn" || end.Result.RestoredBy != restoredBy || !strings.HasSuffix(end.text(), want) {
		t.Errorf("turn %s = %d, %+v, %s; want end_turn, restored by %s, ...%q", tag, end.out.Code, end.Result, end.out.Stderr, restoredBy, want)
	}
	p.clean(t)
	return end
}

// clean wants the doctor to find nothing.
func (p *person) clean(t *testing.T) {
	t.Helper()
	if out := p.home.Run(t, "doctor"); out.Code != 0 {
		t.Errorf("doctor = %d: %s", out.Code, out.Stdout)
	}
}

// TestCodex_ThroughTheRuntime: turns, a tool call, and kill -9 of the runtime
// behind a turn and in one. Codex is a native program behind a launcher that
// leaves it behind when it dies: nothing may be left of either.
func TestCodex_ThroughTheRuntime(t *testing.T) {
	agent := peers.Find(t, "codex")
	binary, err := program.Build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	launch := agent.Launch(t, peers.StartLLM(t))
	p := &person{home: program.NewHomeIn(t, binary, launch.Home, launch.Env)}

	p.ok(t, "#one", "Say hello.", "new")
	tool := p.ok(t, "#two", "Run it. [[sh echo mini-$((40+2))]]", "resume")
	if !strings.Contains(tool.text(), "tool results: 1") || !slices.ContainsFunc(tool.out.Lines(), func(line string) bool {
		return strings.Contains(line, `"durability":"durable"`) && strings.Contains(line, `"status":"completed"`) && strings.Contains(line, "mini-42")
	}) {
		t.Errorf("the tool call is not in the turn: %q\n%s", tool.text(), tool.out.Stdout)
	}

	// The turn has ended, and the agent is still there or about to be stopped.
	var alive []string
	ended := p.prompt(t, "#three", "Say hello.", func(r *program.Run, line string) {
		switch {
		case strings.HasPrefix(line, `{"result":`):
			r.Kill()
		case alive == nil && strings.HasPrefix(line, `{"durability":"ephemeral"`):
			alive = p.home.Processes()
		}
	})
	if ended.out.Code != -1 || ended.Result.StopReason != "end_turn" {
		t.Errorf("turn #three = %d, %+v; want to have killed it behind its end", ended.out.Code, ended)
	}
	wantFamily(t, alive)
	p.ok(t, "#four", "Say hello.", "resume")

	cut := p.prompt(t, "#five", "Count slowly. [[slow 400 50]]", func(r *program.Run, line string) {
		if strings.Contains(line, "tick 3 ") {
			alive = p.home.Processes()
			r.Kill()
		}
	})
	if cut.out.Code != -1 || cut.Result.StopReason != "" {
		t.Errorf("turn #five = %d, %+v; want to have killed it before its end", cut.out.Code, cut)
	}
	wantFamily(t, alive)
	if out := p.home.Run(t, "sessions", "--json"); !strings.Contains(string(out.Stdout), `"error":{"code":"prompt_delivery_uncertain"`) {
		t.Errorf("sessions = %d, %s", out.Code, out.Stdout)
	}
	p.ok(t, "#six", "Say hello.", "resume")

	// A command of the agent's goes too.
	cut = p.prompt(t, "#seven", "Wait. [[sh echo begun; sleep 1000]]", func(r *program.Run, line string) {
		if strings.Contains(line, `"type":"tool_call`) && strings.Contains(line, `"in_progress"`) {
			alive = awaitProcess(t, p.home, "sleep 1000")
			r.Kill()
		}
	})
	if cut.out.Code != -1 {
		t.Errorf("turn #seven = %d, %+v; want to have killed it", cut.out.Code, cut)
	}
	p.ok(t, "#eight", "Count. [[chunks 20]]", "resume")
}

// awaitProcess waits until a process has begun that has text on its command
// line, and returns all of them.
func awaitProcess(t *testing.T, home *program.Home, text string) []string {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		alive := home.Processes()
		if slices.ContainsFunc(alive, func(command string) bool { return strings.HasSuffix(command, text) }) {
			return alive
		}
		select {
		case <-tick.C:
		case <-end:
			t.Errorf("no process %q:\n%s", text, strings.Join(alive, "\n"))
			return alive
		}
	}
}

// wantFamily wants the guard, the launcher and the native program: else it shows
// nothing that none of them is left.
func wantFamily(t *testing.T, alive []string) {
	t.Helper()
	for _, part := range []string{"adapter guard", "/.bin/codex-acp", "codex-acp-linux"} {
		if !slices.ContainsFunc(alive, func(command string) bool { return strings.Contains(command, part) }) {
			t.Errorf("no process %q before the kill:\n%s", part, strings.Join(alive, "\n"))
		}
	}
}
