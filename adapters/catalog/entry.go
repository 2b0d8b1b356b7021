package catalog

import (
	"os"
	"strings"
	"time"

	"agentos/protocol"
)

// Entry is one agent.
type Entry struct {
	Name  string // what --agent takes
	Title string // for people
	// Launch lists the commands that start it in ACP mode on stdio, best first.
	// The first whose program is found is used.
	Launch []Command
	// Env names the variables it may inherit beside those of every adapter: API
	// keys, base URLs, homes of its configuration.
	Env  []string
	Home string // where it is documented; "" if that is this program
	// BuiltIn marks an agent that is this very program.
	BuiltIn bool
	Quirks  Quirks
}

// Command is one way to start an agent.
type Command struct {
	Argv []string // program, looked up on PATH, and arguments
	// Package is the npm package that brings the program, Version the one this
	// catalog was tried with. Both are "" for a built-in agent.
	Package, Version string
	// Only makes the command count only where the program is known to come from
	// Package: another package has a program of the same name.
	Only bool
	// With are further packages that the program needs beside it.
	With []string
}

// Quirks is where an agent behaves unlike the others. The zero value is an
// agent that behaves.
type Quirks struct {
	// NeverEndsAtEOF: closing its stdin does not end it, so waiting for that is
	// lost time.
	NeverEndsAtEOF bool
	// EndsAtEOFAfter is how long it has been seen to need for that; 0 means
	// less than a second.
	EndsAtEOFAfter time.Duration
	// IgnoresTerm: SIGTERM to its first process alone does nothing; SIGTERM to
	// the group does.
	IgnoresTerm bool
	// Outlives: a child of it goes on when its first process ends.
	Outlives bool
	// NoLoad and NoResume: it lacks session/load or session/resume. What it
	// advertises decides; this is for people.
	NoLoad, NoResume bool
	// ReplaysOnResume: session/resume sends the history again, like a load.
	ReplaysOnResume bool
	// LoadsUnknown: session/load of an id it does not have succeeds with an
	// empty session.
	LoadsUnknown bool
	// LoadHazard: a session/load this soon after session/new destroys the
	// session.
	LoadHazard time.Duration
	// NoClose: it advertises session/close and refuses it.
	NoClose bool
}

// Lookup finds an agent by name.
func Lookup(name string) (Entry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Find is Lookup with CodeAgentNotFound, naming the agents there are.
func Find(name string) (Entry, error) {
	if e, ok := Lookup(name); ok {
		return e, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return Entry{}, protocol.Errorf(protocol.CodeAgentNotFound,
		"no agent is called %q; known are %s, and any other command can be given after --", name, strings.Join(names, ", "))
}

// All returns every agent, in the order to show them. The slice is the caller's.
func All() []Entry { return append([]Entry(nil), entries...) }

// Resolve returns the command line that starts the agent, with the path of the
// program as lookPath (exec.LookPath, for instance) finds it. It returns false
// if the agent is not installed.
func (e Entry) Resolve(lookPath func(string) (string, error)) (argv []string, ok bool) {
	argv, _, ok = e.resolve(lookPath)
	return argv, ok
}

func (e Entry) resolve(lookPath func(string) (string, error)) ([]string, Command, bool) {
	for _, c := range e.Launch {
		program, err := c.Argv[0], error(nil)
		if e.BuiltIn {
			program, err = os.Executable()
		} else {
			program, err = lookPath(program)
		}
		if err != nil {
			continue
		}
		if found, known := manifestOf(program); c.Only && known && found.Name != c.Package {
			continue
		}
		return append([]string{program}, c.Argv[1:]...), c, true
	}
	return nil, Command{}, false
}

// Install returns the command that installs the agent, "" for a built-in one.
// The version is named on purpose: npm falls back to an old release when the
// newest does not fit the installed Node.
func (e Entry) Install() string {
	if e.BuiltIn {
		return ""
	}
	c := e.Launch[0]
	parts := append([]string{"npm install -g", c.Package + "@" + c.Version}, c.With...)
	return strings.Join(parts, " ")
}
