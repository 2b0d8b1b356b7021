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

// Manner is how an agent that has a choice treats its tools.
type Manner string

const (
	// Free: it runs them without asking anybody.
	Free Manner = "free"
	// Asking: it asks before a command that changes something.
	Asking Manner = "asking"
)

// Launch makes a private home with the agent's configuration, set up to use
// llm.
func (a Agent) Launch(tb testing.TB, llm *LLM, manner Manner) Launch {
	tb.Helper()
	home := tb.TempDir()
	own := setups[a.Name](home, llm.URL, manner)
	for name, text := range own.files {
		write(tb, filepath.Join(home, name), []byte(text))
	}
	if a.own() {
		a.Entry = a.lay(tb, home)
	}
	base := baseEnv(home, a.Bin, filepath.Dir(a.Node))
	return Launch{
		Argv: append([]string{a.Node, a.Entry}, own.args...), Home: home,
		Env: slices.Concat(base, own.env), Base: base, Own: own.env,
	}
}

// lay puts an entry of this folder into the home, beside a link to the packages
// that it imports: node looks for them from where the file is.
func (a Agent) lay(tb testing.TB, home string) string {
	tb.Helper()
	source, err := ownEntries.ReadFile(filepath.Base(a.Entry))
	if err != nil {
		tb.Fatalf("agents.txt names %s: %v", a.Entry, err)
	}
	entry := filepath.Join(home, "agent", filepath.Base(a.Entry))
	write(tb, entry, source)
	if err := os.Symlink(filepath.Dir(a.Bin), filepath.Join(filepath.Dir(entry), "node_modules")); err != nil {
		tb.Fatalf("lay the agent: %v", err)
	}
	return entry
}

func write(tb testing.TB, file string, text []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		tb.Fatalf("make the agent's home: %v", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatalf("make the agent's home: %v", err)
	}
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
