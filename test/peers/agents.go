package peers

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed agents.txt
var agentsTable string

// Agent is an installed agent.
type Agent struct {
	Name    string // as in agents.txt
	Package string // on npm
	Version string
	Entry   string // absolute path of the script that node runs
	Bin     string // absolute path of the folder with the commands the package installs
	Node    string // absolute path of node
}

// setup is what one agent needs beyond the base environment.
type setup struct {
	env   []string          // NAME=VALUE
	files map[string]string // path under the home: text
}

// setups holds, for each agent of agents.txt, what makes it use the mock at url
// and ask nobody to sign in.
var setups = map[string]func(home, url string) setup{
	"codex": func(home, url string) setup {
		return setup{
			env: []string{"CODEX_HOME=" + filepath.Join(home, ".codex"), "OPENAI_API_KEY=dummy"},
			// Its own sandbox needs privileges that test machines lack: a command
			// run in it fails, hence full access. Retries would hide an LLM error.
			files: map[string]string{".codex/config.toml": fmt.Sprintf(`model = "mock"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`, url)},
		}
	},
}

// Find returns the installed agent of that name, or ends the test: skipped, or
// failed with AGENTOS_PEERS=1.
func Find(tb testing.TB, name string) Agent {
	tb.Helper()
	agent, err := find(installDir(), name)
	if err != nil {
		missing(tb, err)
	}
	return agent
}

// installDir returns where the install script puts agents.
func installDir() string {
	if dir := os.Getenv("AGENTOS_PEERS_DIR"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil { // neither HOME nor XDG_CACHE_HOME: nothing is installed for this user
		return ""
	}
	return filepath.Join(cache, "agentos-peers")
}

func find(dir, name string) (Agent, error) {
	agent, err := lookUp(agentsTable, name)
	if err != nil {
		return Agent{}, err
	}
	if agent.Node, err = findNode(); err != nil {
		return Agent{}, err
	}
	modules := filepath.Join(dir, agent.Name+"-"+agent.Version, "node_modules")
	agent.Bin, agent.Entry = filepath.Join(modules, ".bin"), filepath.Join(modules, agent.Package, agent.Entry)
	if _, err := os.Stat(agent.Entry); err != nil {
		return Agent{}, fmt.Errorf("%s %s is not installed (test/peers/install %s installs it): %w", agent.Name, agent.Version, agent.Name, err)
	}
	return agent, nil
}

// lookUp reads the line of an agent in the table. Entry is still relative to
// the package; Bin and Node are empty.
func lookUp(table, name string) (Agent, error) {
	var names []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 3 {
			return Agent{}, fmt.Errorf("read agents.txt: %q has %d fields, want name, package@version, entry", strings.TrimSpace(line), len(fields))
		}
		names = append(names, fields[0])
		if fields[0] != name {
			continue
		}
		at := strings.LastIndex(fields[1], "@") // a scope begins with one too
		if at <= 0 {
			return Agent{}, fmt.Errorf("read agents.txt: %q names no version", fields[1])
		}
		return Agent{Name: name, Package: fields[1][:at], Version: fields[1][at+1:], Entry: fields[2]}, nil
	}
	return Agent{}, fmt.Errorf("find agent %q: agents.txt has %s", name, strings.Join(names, ", "))
}

func findNode() (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is not installed (Node.js 20 or later runs the agents and the mock LLM): %w", err)
	}
	return filepath.Abs(node)
}

// missing ends a test for want of something that is not of this project.
func missing(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("AGENTOS_PEERS") == "1" {
		tb.Fatalf("AGENTOS_PEERS=1, so this must be there: %v", err)
	}
	tb.Skipf("SKIPPED: %v", err)
}
