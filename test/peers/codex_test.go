package peers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentos/test/peers"
)

func TestMain(m *testing.M) { peers.Main(m) }

// codex starts the agent with a session.
func codex(t *testing.T) (c *client, session string, llm *peers.LLM) {
	t.Helper()
	agent := peers.Find(t, "codex")
	llm = peers.StartLLM(t)
	launch := agent.Launch(t, llm)
	c = start(t, launch)
	return c, c.open(launch.Home), llm
}

func TestCodex_KeepsItsContextOverTurns(t *testing.T) {
	c, session, llm := codex(t)
	for _, step := range []struct{ text, want string }{
		{"Say hello. #one", "memory: #one"},
		{"And again. #two [[chunks 20]]", "word20 memory: #one #two"},
	} {
		if stop, said := c.turn(session, step.text); stop != "end_turn" || !strings.HasSuffix(said, step.want) {
			t.Errorf("turn %q = %s, %q; want end_turn, ...%q", step.text, stop, said, step.want)
		}
	}
	requests := llm.Requests(t)
	if len(requests) < 2 {
		t.Errorf("the LLM got %d requests; want one a turn", len(requests))
	}
	for _, r := range requests {
		if r.NotFound {
			t.Errorf("the mock LLM has no %s", r.Path)
		}
	}
}

func TestCodex_RunsACommand(t *testing.T) {
	c, session, _ := codex(t)
	stop, said := c.turn(session, "Run it. #one [[sh echo mini-$((40+2))]]")
	if stop != "end_turn" || !strings.Contains(said, "tool results: 1") {
		t.Errorf("turn = %s, %q; want end_turn after one tool result", stop, said)
	}
	status := map[string]int{}
	for _, u := range c.updates {
		if u.Kind == "tool_call" || u.Kind == "tool_call_update" {
			status[u.Status]++
		}
	}
	if status["completed"] != 1 {
		t.Errorf("tool calls by status = %v; want one completed", status)
	}
}

// With full access it asks for nothing, escalation or not; with the policy
// "untrusted" for every command it does not know to be harmless.
func TestCodex_AsksForPermission(t *testing.T) {
	for _, c := range []struct {
		answer   string
		wantStop string
		wantFile bool
	}{
		{"allow_once", "end_turn", true},
		{"", "cancelled", false},
	} {
		t.Run("answer="+c.answer, func(t *testing.T) {
			agent := peers.Find(t, "codex")
			launch := agent.Launch(t, peers.StartLLM(t))
			launch.Argv = append(launch.Argv, "-c", `approval_policy="untrusted"`)
			agentClient := start(t, launch)
			agentClient.permission = c.answer
			stop, _ := agentClient.turn(agentClient.open(launch.Home), "Ask first. #one [[sh touch made]]")
			_, err := os.Stat(filepath.Join(launch.Home, "made"))
			if stop != c.wantStop || agentClient.asked != 1 || (err == nil) != c.wantFile {
				t.Errorf("turn = %s, asked %d times, file: %v; want %s, once, file %v", stop, agentClient.asked, err, c.wantStop, c.wantFile)
			}
		})
	}
}

func TestCodex_CancelKeepsTheSession(t *testing.T) {
	c, session, _ := codex(t)
	id := c.request("session/prompt", prompt(session, "Count slowly. #one [[slow 200 50]]"))
	for said := ""; !strings.Contains(said, "tick 3 "); {
		m := c.read()
		c.serve(m)
		said += c.updates[len(c.updates)-1].Content.Text
	}
	c.write(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": session}})
	if stop, said := c.finish(id); stop != "cancelled" || strings.Contains(said, "tick 200 ") {
		t.Errorf("cancelled turn = %s, %q; want cancelled before the end", stop, said)
	}
	if stop, said := c.turn(session, "Still there? #two"); stop != "end_turn" || !strings.Contains(said, "#two") {
		t.Errorf("next turn = %s, %q; want end_turn", stop, said)
	}
}
