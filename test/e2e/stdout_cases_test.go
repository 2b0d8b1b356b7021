package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"agentos/test/e2e/program"
)

// TestSN04_StdoutIsForPrograms: what a program reads has one JSON object a line and
// nothing else, with the log as loud as it can be and whatever goes wrong: noise
// of the agent, its end, a command line or a database that is none.
func TestSN04_StdoutIsForPrograms(t *testing.T) {
	t.Parallel()
	home := program.NewHome(t, program.RacingBinary())
	home.Env = append(home.Env, "AGENTOS_LOG=debug")
	quick := home.Quick()
	for _, args := range [][]string{
		append(append([]string{"prompt", "--json"}, quick...), "hello [[noise]] [[stderr 100000]] [[tool ls]] [[chunks 3]]"),
		append(append([]string{"prompt", "--json"}, quick...), "[[exit 3]]"),
		append(append([]string{"prompt", "--json"}, quick...), "[[error -32603]]"),
		{"history", "--json"}, {"sessions", "--json"}, {"doctor", "--json"},
		{"prompt", "--json"}, {"prompt", "--json", "--no-such-flag"}, {"nonsense", "--json"},
		{"prompt", "--json", "--log-level", "loud", "hello"},
		{"prompt", "--json", "--agent", "nobody", "--session", "other", "hello"},
		{"history", "--json", "--session", "nobody"}, {"sessions", "--json", "--vm", "/dev/null"},
	} {
		out := home.Run(t, args...)
		onlyJSON(t, strings.Join(args, " "), out.Stdout)
		if out.Code != 0 && len(out.Stdout) == 0 {
			t.Errorf("%q = %d and printed nothing: %s", args, out.Code, out.Stderr)
		}
	}
}

// TestSN04_AgentSpeaksJSONRPCOnly: the same of the built-in agent, whatever it is sent.
func TestSN04_AgentSpeaksJSONRPCOnly(t *testing.T) {
	t.Parallel()
	home := program.NewHome(t, program.RacingBinary())
	cmd := exec.Command(home.Binary, "adapter", "scripted")
	cmd.Dir, cmd.Env = home.Work, append(home.Env, "AGENTOS_LOG=debug")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		"no JSON", "null", "[]", "{", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, `{"jsonrpc":"2.0","id":3,"method":"session/new","params":7}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"nobody"}}`, "",
	}, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("it ended with %v", err)
	}
	if n := onlyJSON(t, "adapter scripted", out); n < 4 {
		t.Errorf("%d lines; want an answer to each request:\n%s", n, out)
	}
}

// onlyJSON wants whole lines, each a JSON object, and returns their number.
func onlyJSON(t *testing.T, what string, out []byte) (n int) {
	t.Helper()
	for line := range strings.Lines(string(out)) {
		var object map[string]json.RawMessage
		if n++; !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &object) != nil {
			t.Errorf("%s printed %q", what, line)
		}
	}
	return n
}
