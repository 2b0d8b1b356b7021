package peers

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

//go:embed agents.txt
var agentsTable string

// Agent is an installed agent.
type Agent struct {
	Name    string // as in agents.txt
	Package string // on npm
	Version string
	Entry   string // absolute path of the script that node runs; of an own one its name until Launch
	Bin     string // absolute path of the folder with the commands the package installs
	Node    string // absolute path of node
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
	agent.Bin = filepath.Join(modules, ".bin")
	there := filepath.Join(modules, agent.Package)
	if !agent.own() {
		agent.Entry = filepath.Join(there, agent.Entry)
		there = agent.Entry
	}
	if _, err := os.Stat(there); err != nil {
		return Agent{}, fmt.Errorf("%s %s is not installed (test/peers/install %s installs it): %w", agent.Name, agent.Version, agent.Name, err)
	}
	return agent, nil
}

// Names returns the names of agents.txt, in its order.
func Names() []string {
	var names []string
	for line := range strings.Lines(agentsTable) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, "#") {
			names = append(names, fields[0])
		}
	}
	return names
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
		if len(fields) < 3 {
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

// own tells whether the entry is a file of this folder and not of the package.
func (a Agent) own() bool { return strings.HasPrefix(a.Entry, "./") }

func findNode() (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is not installed (Node.js 20 or later runs the agents and the mock LLM): %w", err)
	}
	return filepath.Abs(node)
}

// skipped counts the tests that missing has ended, for Main to say.
var skipped atomic.Int64

// missing ends a test for want of something that is not of this project.
func missing(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("AGENTOS_PEERS") == "1" {
		tb.Fatalf("AGENTOS_PEERS=1, so this must be there: %v", err)
		return // a tb of the tests of this package comes here
	}
	skipped.Add(1)
	tb.Skipf("SKIPPED: %v", err)
}
