package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Launch is how to start an agent for one test.
type Launch struct {
	Argv []string // the command, absolute
	Home string   // private to the test, removed with it
	// Env is the whole environment: Base and Own, nothing of the test's.
	Env []string
	// Base is what any runtime hands on: PATH, HOME, the XDG folders, LANG. The
	// agent's own commands are on that PATH, for a runtime that looks there.
	Base []string
	// Own is what the agent needs beyond that, NAME=VALUE. A runtime that
	// filters the environment of its adapters must be told to pass these.
	Own []string
}

// Launch makes a private home with the agent's configuration, set up to use
// llm.
func (a Agent) Launch(tb testing.TB, llm *LLM) Launch {
	tb.Helper()
	home := tb.TempDir()
	own := setups[a.Name](home, llm.URL)
	for name, text := range own.files {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatalf("make the agent's home: %v", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatalf("write the agent's configuration: %v", err)
		}
	}
	base := baseEnv(home, a.Bin, filepath.Dir(a.Node))
	return Launch{Argv: []string{a.Node, a.Entry}, Home: home, Env: slices.Concat(base, own.env), Base: base, Own: own.env}
}

// baseEnv is the environment of a user who has nothing but a home. The folders
// of bin come first on PATH.
func baseEnv(home string, bin ...string) []string {
	return []string{
		"PATH=" + strings.Join(append(bin, "/usr/local/bin", "/usr/bin", "/bin"), ":"),
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"LANG=C.UTF-8",
		"NO_COLOR=1",
		// Agents look upwards for a repository; none above the home is theirs.
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(home),
	}
}
