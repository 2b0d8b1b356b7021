package peers_test

import (
	"slices"
	"testing"

	"agentos/test/e2e/program"
	"agentos/test/peers"
)

// expected is what is expected of an agent behind the runtime.
type expected struct {
	agent    string   // of agents.txt
	args     []string // how the runtime is told of it; nil: by its command, behind --
	restored string   // how the turn that follows a lost process gets its context back
	native   bool     // its first process only launches another, which does the work
	refused  string   // the stop reason of a turn whose command was not allowed
}

// agents is the one side of the matrix. The order is that of agents.txt.
var agents = []expected{
	{agent: "codex", args: []string{"--agent", "zed-codex"}, restored: "resume", native: true, refused: "cancelled"},
	{agent: "claude", args: []string{"--agent", "claude"}, restored: "resume", native: true, refused: "end_turn"},
	{agent: "sdk", restored: "resume", refused: "end_turn"},
}

// scenario is a story with an agent and the real agentos. It begins with nothing,
// and at its end nothing may be running any more.
type scenario struct {
	name   string
	manner peers.Manner
	policy string
	tell   func(*stage)
	// native: it is about the process behind a launcher.
	native bool
}

// scenarios is the other side. Their names say what is killed by SIGKILL.
var scenarios = []scenario{
	{name: "prompts", manner: peers.Free, policy: "allow_all", tell: prompts},
	{name: "allow_all", manner: peers.Asking, policy: "allow_all", tell: allowAll},
	{name: "reject_all", manner: peers.Asking, policy: "reject_all", tell: rejectAll},
	{name: "ask-allowed", manner: peers.Asking, policy: "ask", tell: askAllowed},
	{name: "ask-rejected", manner: peers.Asking, policy: "ask", tell: askRejected},
	{name: "ask-nobody", manner: peers.Asking, policy: "ask", tell: askNobody},
	{name: "runtime-killed-between-turns", manner: peers.Free, policy: "allow_all", tell: runtimeKilledBetweenTurns},
	{name: "runtime-killed-in-stream", manner: peers.Free, policy: "allow_all", tell: runtimeKilledInStream},
	{name: "runtime-killed-in-tool", manner: peers.Free, policy: "allow_all", tell: runtimeKilledInTool},
	{name: "runtime-killed-in-question", manner: peers.Asking, policy: "ask", tell: runtimeKilledInQuestion},
	{name: "runtime-killed-in-first-turn", manner: peers.Free, policy: "allow_all", tell: runtimeKilledInFirstTurn},
	{name: "agent-killed-between-turns", manner: peers.Free, policy: "allow_all", tell: agentKilledBetweenTurns},
	{name: "agent-killed-in-stream", manner: peers.Free, policy: "allow_all", tell: agentKilledInStream},
	{name: "agent-killed-in-tool", manner: peers.Free, policy: "allow_all", tell: agentKilledInTool},
	{name: "native-killed-in-stream", manner: peers.Free, policy: "allow_all", tell: nativeKilledInStream, native: true},
	{name: "native-killed-between-turns", manner: peers.Free, policy: "allow_all", tell: nativeKilledBetweenTurns, native: true},
}

// scenarios are those that concern the agent.
func (e expected) scenarios() []scenario {
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.native && !e.native })
}

// TestScenarios is agents x scenarios. The script scenarios runs it by hand.
func TestScenarios(t *testing.T) {
	binary, err := program.Build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range agents {
		t.Run(e.agent, func(t *testing.T) {
			for _, s := range e.scenarios() {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.tell(set(t, e, s, peers.Find(t, e.agent), binary))
				})
			}
		})
	}
}

// set makes the stage for a scenario.
func set(t *testing.T, e expected, s scenario, agent peers.Agent, binary string) *stage {
	t.Helper()
	launch := agent.Launch(t, peers.StartLLM(t), s.manner)
	args := append([]string{"prompt", "--json", "--policy", s.policy}, e.args...)
	var command []string
	if e.args == nil {
		command = append([]string{"--"}, launch.Argv...)
	}
	return &stage{
		T: t, expected: e, policy: s.policy, launch: launch, args: args, command: command,
		home: program.NewHomeIn(t, binary, launch.Home, launch.Env),
	}
}

// TestScenarios_List: an agent that can be installed has a place in the matrix,
// and the other way round. The script scenarios reads what this logs.
func TestScenarios_List(t *testing.T) {
	var have []string
	for _, e := range agents {
		have = append(have, e.agent)
		for _, s := range e.scenarios() {
			t.Logf("LIST %s/%s", e.agent, s.name)
		}
	}
	if want := peers.Names(); !slices.Equal(have, want) {
		t.Errorf("the matrix has %q; want those of agents.txt, %q", have, want)
	}
}
