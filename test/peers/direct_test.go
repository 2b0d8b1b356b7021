package peers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentos/test/peers"
)

func TestMain(m *testing.M) { peers.Main(m) }

// direct runs a test with each agent, without the runtime: what holds here and
// not behind the runtime is the runtime's fault.
func direct(t *testing.T, manner peers.Manner, test func(t *testing.T, d dialogue)) {
	for _, name := range peers.Names() {
		t.Run(name, func(t *testing.T) {
			agent, llm := peers.Find(t, name), peers.StartLLM(t)
			launch := agent.Launch(t, llm, manner)
			c := start(t, launch)
			test(t, dialogue{client: c, session: c.open(launch.Home), agent: name, home: launch.Home, llm: llm})
		})
	}
}

// dialogue is an agent with a session.
type dialogue struct {
	*client
	session     string
	agent, home string
	llm         *peers.LLM
}

func TestDirect_KeepsItsContextOverTurns(t *testing.T) {
	direct(t, peers.Free, keepsItsContext)
}

func keepsItsContext(t *testing.T, c dialogue) {
	for _, step := range []struct{ text, want string }{
		{"Say hello. #one", "memory: #one"},
		{"And again. #two [[chunks 20]]", "word20 memory: #one #two"},
	} {
		if stop, said := c.turn(c.session, step.text); stop != "end_turn" || !strings.Contains(said, step.want) {
			t.Errorf("turn %q = %s, %q; want end_turn, ...%q", step.text, stop, said, step.want)
		}
	}
	requests := c.llm.Requests(t)
	if len(requests) < 2 && c.agent != "sdk" { // which is its own model
		t.Errorf("the LLM got %d requests; want one a turn", len(requests))
	}
	for _, r := range requests {
		if r.NotFound {
			t.Errorf("the mock LLM has no %s", r.Path)
		}
	}
}

func TestDirect_RunsACommand(t *testing.T) { direct(t, peers.Free, runsACommand) }

func runsACommand(t *testing.T, c dialogue) {
	c.permission = "allow_once" // one asks always
	stop, said := c.turn(c.session, "Run it. #one [[sh echo mini-$((40+2))]]")
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

// TestDirect_AsksForPermission: a question that is answered "cancelled" allows
// nothing. Codex ends the turn then, the others tell the model.
func TestDirect_AsksForPermission(t *testing.T) {
	for _, answer := range []string{"allow_once", ""} {
		t.Run("answer="+answer, func(t *testing.T) {
			direct(t, peers.Asking, func(t *testing.T, c dialogue) {
				c.permission = answer
				wantStop := "end_turn"
				if answer == "" && c.agent == "codex" {
					wantStop = "cancelled"
				}
				stop, _ := c.turn(c.session, "Ask first. #one [[sh touch made]]")
				_, err := os.Stat(filepath.Join(c.home, "made"))
				if stop != wantStop || c.asked != 1 || (err == nil) != (answer != "") {
					t.Errorf("turn = %s, asked %d times, file: %v; want %s, once, a file only if allowed", stop, c.asked, err, wantStop)
				}
			})
		})
	}
}

func TestDirect_CancelKeepsTheSession(t *testing.T) { direct(t, peers.Free, cancelKeepsTheSession) }

func cancelKeepsTheSession(t *testing.T, c dialogue) {
	id := c.request("session/prompt", prompt(c.session, "Count slowly. #one [[slow 200 50]]"))
	for said := ""; !strings.Contains(said, "tick 3 "); {
		m := c.read()
		c.serve(m)
		said += c.updates[len(c.updates)-1].Content.Text
	}
	c.write(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": c.session}})
	if stop, said := c.finish(id); stop != "cancelled" || strings.Contains(said, "tick 200 ") {
		t.Errorf("cancelled turn = %s, %q; want cancelled before the end", stop, said)
	}
	if stop, said := c.turn(c.session, "Still there? #two"); stop != "end_turn" || !strings.Contains(said, "#two") {
		t.Errorf("next turn = %s, %q; want end_turn", stop, said)
	}
}
