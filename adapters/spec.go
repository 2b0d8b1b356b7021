package adapters

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"agentos/adapters/catalog"
	"agentos/protocol"
)

// Spec is what to start.
type Spec struct {
	// Name is how the agent is called in messages; a name of the catalog gets
	// its install line in them.
	Name string
	// Argv is the program and its arguments. A program without a slash is
	// looked up on the PATH of Env, a relative one in Dir.
	Argv []string
	// Env is the whole environment, as Environment returns it.
	Env []string
	// Dir is the working directory, absolute. Only the guard touches it.
	Dir string
}

// SpecOf returns the Spec of a session's agent: its Launch if it has one, else
// the entry of the catalog. base is the environment to inherit from
// (os.Environ), with AGENTOS_SCRIPTED_DIR set to where the built-in agent keeps
// its sessions.
//
// It returns CodeAgentNotFound, CodeAdapterNotInstalled (with the line that
// installs it) or CodeInvalidArgument.
func SpecOf(s protocol.Spec, base []string) (Spec, error) {
	if s.Launch != nil {
		env, err := Environment(base, s.Launch.Env, s.Env)
		return Spec{Name: s.Agent, Argv: slices.Clone(s.Launch.Argv), Env: env, Dir: s.Cwd}, err
	}
	entry, err := catalog.Find(s.Agent)
	if err != nil {
		return Spec{}, err
	}
	env, err := Environment(base, entry.Env, s.Env)
	if err != nil {
		return Spec{}, err
	}
	argv, ok := entry.Resolve(LookPath(env))
	if !ok {
		return Spec{}, notInstalled(s.Agent, entry.Launch[0].Argv[0]+" was not found on PATH")
	}
	return Spec{Name: s.Agent, Argv: argv, Env: env, Dir: s.Cwd}, nil
}

// LookPath returns a function that finds programs as exec.LookPath does, but on
// the PATH of env, which --env may have changed. Relative entries of PATH are
// passed over: they mean the adapter's directory, not the runtime's.
func LookPath(env []string) func(string) (string, error) {
	return func(program string) (string, error) {
		for _, dir := range filepath.SplitList(variable(env, "PATH")) {
			path := filepath.Join(dir, program)
			if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
		return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
	}
}

func variable(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// notInstalled is CodeAdapterNotInstalled with the way out.
func notInstalled(agent, why string) *protocol.Error {
	help := "give the path of its program after --"
	if entry, ok := catalog.Lookup(agent); ok && entry.Install() != "" {
		help = "install it with: " + entry.Install()
	}
	return protocol.Errorf(protocol.CodeAdapterNotInstalled, "agent %s is not installed: %s; %s", agent, why, help)
}

// check refuses what cannot be started, so that it is an error of the caller's
// and not of the machine's.
func (s Spec) check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return protocol.Errorf(protocol.CodeInvalidArgument, "agent %s has no command to start it with", s.Name)
	case !filepath.IsAbs(s.Dir):
		return protocol.Errorf(protocol.CodeInvalidArgument, "the working directory of an agent is an absolute path, not %q", s.Dir)
	}
	for _, text := range slices.Concat(s.Argv, []string{s.Dir}) {
		if strings.ContainsRune(text, 0) {
			return protocol.Errorf(protocol.CodeInvalidArgument, "the command or working directory of agent %s holds a NUL byte", s.Name)
		}
	}
	for _, v := range s.Env {
		// A value may be a secret, so only the name is shown.
		if name, value, ok := strings.Cut(v, "="); !ok || name == "" || strings.ContainsRune(value, 0) {
			return protocol.Errorf(protocol.CodeInvalidArgument, "environment variable %q of agent %s cannot be passed on", name, s.Name)
		}
	}
	return nil
}

// errNoGuard says that Options.Guard is empty.
var errNoGuard = errors.New("no guard to start adapters with was given")
