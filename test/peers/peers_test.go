package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTable_EveryAgentHasItsSetup(t *testing.T) {
	lines := 0
	for line := range strings.Lines(agentsTable) {
		name, _, ok := strings.Cut(line, " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		agent, err := lookUp(agentsTable, name)
		if err != nil || agent.Package == "" || agent.Version == "" || agent.Entry == "" {
			t.Errorf("lookUp(%q) = %+v, %v; want all fields", name, agent, err)
		}
		if setups[name] == nil {
			t.Errorf("agent %q of agents.txt has no entry in setups", name)
		}
	}
	if names := Names(); len(names) != lines {
		t.Errorf("Names = %q; want %d", names, lines)
	}
	if lines != len(setups) {
		t.Errorf("agents.txt has %d agents, setups %d; want the same", lines, len(setups))
	}
}

func TestLookUp_SaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{"a p@1 e\nb q@2 f\n", `find agent "x": agents.txt has a, b`},
		{"x p@1\n", `read agents.txt: "x p@1" has 2 fields, want name, package@version, entry`},
		{"x @scope/p e\n", `read agents.txt: "@scope/p" names no version`},
	} {
		if _, err := lookUp(c.table, "x"); err == nil || err.Error() != c.want {
			t.Errorf("lookUp in %q = %v; want %s", c.table, err, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	if _, err := findNode(); err != nil {
		missing(t, err)
	}
	dir := t.TempDir()
	if _, err := find(dir, "codex"); err == nil || !strings.Contains(err.Error(), "test/peers/install codex") {
		t.Errorf("find in an empty folder = %v; want the way to install it", err)
	}
	want, err := lookUp(agentsTable, "codex")
	if err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(dir, "codex-"+want.Version, "node_modules", want.Package, want.Entry)
	if err := os.MkdirAll(filepath.Dir(entry), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(entry, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := find(dir, "codex"); err != nil || got.Entry != entry || !filepath.IsAbs(got.Node) {
		t.Errorf("find = %+v, %v; want the entry %s and an absolute node", got, err, entry)
	}
}

// An entry that is a file of this folder needs the package to be installed, and
// is laid into the home, from where its imports are found.
func TestFind_OwnEntry(t *testing.T) {
	if _, err := findNode(); err != nil {
		missing(t, err)
	}
	dir := t.TempDir()
	if _, err := find(dir, "sdk"); err == nil || !strings.Contains(err.Error(), "test/peers/install sdk") {
		t.Errorf("find in an empty folder = %v; want the way to install it", err)
	}
	want, err := lookUp(agentsTable, "sdk")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sdk-"+want.Version, "node_modules", want.Package), 0o700); err != nil {
		t.Fatal(err)
	}
	agent, err := find(dir, "sdk")
	if err != nil {
		t.Fatal(err)
	}
	launch := agent.Launch(t, &LLM{URL: "http://127.0.0.1:1"}, Free)
	if len(launch.Argv) < 2 || !strings.HasPrefix(launch.Argv[1], launch.Home) {
		t.Fatalf("argv = %q; want a script below the home", launch.Argv)
	}
	for _, file := range []string{launch.Argv[1], filepath.Join(filepath.Dir(launch.Argv[1]), "node_modules", want.Package)} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// verdict is a test that only remembers how it was ended.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper()                        {}
func (v *verdict) Skipf(format string, _ ...any)  { v.skipped = format }
func (v *verdict) Fatalf(format string, _ ...any) { v.failed = format }

func TestMissing_SkipsUnlessCIHasInstalledIt(t *testing.T) {
	for env, wantFailed := range map[string]bool{"": false, "1": true} {
		t.Setenv("AGENTOS_PEERS", env)
		v := &verdict{TB: t}
		before := skipped.Load()
		missing(v, os.ErrNotExist)
		counted := skipped.Load() - before
		skipped.Add(-counted) // this one is about nothing that is missing here
		if counted == 0 != wantFailed {
			t.Errorf("AGENTOS_PEERS=%q: %d counted as skipped", env, counted)
		}
		if failed := v.failed != ""; failed != wantFailed || (v.skipped != "") == wantFailed && v.failed == "" {
			t.Errorf("AGENTOS_PEERS=%q: failed %q, skipped %q", env, v.failed, v.skipped)
		}
	}
}

func TestLaunch_HomeAndEnvironmentArePrivate(t *testing.T) {
	t.Setenv("SECRET_OF_THE_TESTER", "x")
	launch := Agent{Name: "codex", Node: "/opt/node/bin/node", Entry: "/e.js"}.Launch(t, &LLM{URL: "http://127.0.0.1:1"}, Free)
	config, err := os.ReadFile(filepath.Join(launch.Home, ".codex", "config.toml"))
	if err != nil || !strings.Contains(string(config), `base_url = "http://127.0.0.1:1/v1"`) {
		t.Errorf("config.toml = %q, %v; want the mock's address", config, err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CODEX_HOME"} {
		if value := valueOf(launch.Env, name); !strings.HasPrefix(value, launch.Home) {
			t.Errorf("%s = %q; want it under %s", name, value, launch.Home)
		}
	}
	if value := valueOf(launch.Env, "SECRET_OF_THE_TESTER"); value != "" {
		t.Errorf("the tester's environment reaches the agent: %q", value)
	}
}

func TestLaunch_MannerReachesTheAgent(t *testing.T) {
	for _, c := range []struct {
		agent, file string
		manner      Manner
		want        string
	}{
		{"codex", ".codex/config.toml", Free, `approval_policy = "on-request"`},
		{"codex", ".codex/config.toml", Asking, `approval_policy = "untrusted"`},
		{"claude", ".claude/settings.json", Asking, `"defaultMode": "default"`},
	} {
		launch := Agent{Name: c.agent, Node: "/opt/node/bin/node", Entry: "/e.js"}.Launch(t, &LLM{URL: "http://127.0.0.1:1"}, c.manner)
		config, err := os.ReadFile(filepath.Join(launch.Home, c.file))
		if err != nil || !strings.Contains(string(config), c.want) {
			t.Errorf("%s of a %s %s = %q, %v; want %s", c.file, c.manner, c.agent, config, err, c.want)
		}
	}
}

// A process of this namespace is seen until it has ended: else nothing would
// follow from a namespace that is empty.
func TestAwaitAlone_SeesWhatIsLeft(t *testing.T) {
	if !Isolated() {
		t.Skip("SKIPPED: this machine allows no namespace, and outside one nothing is looked for")
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if left := awaitAlone(0); !slices.ContainsFunc(left, func(line string) bool { return strings.HasSuffix(line, "sleep 1000") }) {
		t.Errorf("left = %q; want sleep", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if left := awaitAlone(leftGrace); left != nil {
		t.Errorf("left = %q; want none", left)
	}
}

func valueOf(env []string, name string) string {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
