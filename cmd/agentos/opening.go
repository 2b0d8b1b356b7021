package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentos/actors"
	"agentos/adapters"
	"agentos/adapters/catalog"
	"agentos/protocol"
	"agentos/sessions"
)

// opening is what the session is opened with, if it is new; what was said
// explicitly is compared if it is not (S6.1).
func (f promptFlags) opening(cmd *cobra.Command, p place, command []string) (*actors.OpenSession, error) {
	o := &actors.OpenSession{Session: protocol.SessionID(f.session)}
	if err := protocol.ValidSessionID(o.Session); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		flag  string
		field sessions.Field
	}{
		{"agent", sessions.FieldAgent}, {"cwd", sessions.FieldCwd}, {"add-dir", sessions.FieldDirectories},
		{"env", sessions.FieldEnv}, {"policy", sessions.FieldPolicy},
	} {
		if cmd.Flags().Changed(part.flag) {
			o.Given |= part.field
		}
	}
	var err error
	if o.Spec.Policy, err = policy(f.policy); err != nil {
		return nil, err
	}
	if o.Spec.Cwd, err = workingDir(f.cwd, o.Given&sessions.FieldCwd != 0); err != nil {
		return nil, err
	}
	if o.Spec.AdditionalDirectories, err = directories(f.addDirs); err != nil {
		return nil, err
	}
	if o.Spec.Env, err = environment(f.env); err != nil {
		return nil, err
	}
	return o, f.setAgent(o, p, command)
}

// setAgent chooses the agent. One that was named has to be there: a session that
// was opened for an agent that cannot run would be in the way.
func (f promptFlags) setAgent(o *actors.OpenSession, p place, command []string) error {
	switch {
	case command != nil && o.Given&sessions.FieldAgent != 0:
		return usage("--agent %s and a command behind -- exclude each other", f.agent)
	case command != nil:
		o.Given |= sessions.FieldAgent
		if err := setLaunch(&o.Spec, command); err != nil {
			return err
		}
	case o.Given&sessions.FieldAgent == 0:
		o.Spec.Agent = catalog.Scripted
		return nil
	default:
		o.Spec.Agent = f.agent
	}
	spec, err := adapters.SpecOf(o.Spec, adapterEnv(p))
	if err != nil || command == nil {
		return err
	}
	return findProgram(spec)
}

// setLaunch makes the command of an agent that is not in the catalog part of the
// session. A path is made absolute: the session must start the same program
// wherever it is prompted from.
func setLaunch(s *protocol.Spec, command []string) error {
	argv := append([]string(nil), command...)
	s.Agent = filepath.Base(argv[0])
	if argv[0] == "" {
		return usage("the command of the agent behind -- is empty")
	}
	if strings.Contains(argv[0], "/") {
		path, err := filepath.Abs(argv[0])
		if err != nil {
			return err
		}
		argv[0] = path
	}
	s.Launch = &protocol.Launch{Argv: argv}
	if len(argv) > 2 && argv[1] == "adapter" && argv[2] == catalog.Scripted {
		s.Launch.Env = []string{scriptedDirName} // ours after all
	}
	return nil
}

// findProgram refuses a command that is not there.
func findProgram(s adapters.Spec) error {
	program := s.Argv[0]
	var err error
	if strings.Contains(program, "/") {
		_, err = os.Stat(program)
	} else {
		_, err = adapters.LookPath(s.Env)(program)
	}
	if err != nil {
		return protocol.Errorf(protocol.CodeAdapterNotInstalled, "the program %s was not found; give its path, or install it", program)
	}
	return nil
}

func policy(name string) (protocol.Policy, error) {
	switch p := protocol.Policy(name); p {
	case protocol.PolicyAsk, protocol.PolicyAllowAll, protocol.PolicyRejectAll:
		return p, nil
	}
	return "", protocol.Errorf(protocol.CodeInvalidPermissionPolicy, "%q is no permission policy: use ask, allow_all or reject_all", name)
}

func workingDir(dir string, given bool) (string, error) {
	if given && dir == "" {
		return "", usage("--cwd needs a directory")
	}
	abs, err := filepath.Abs(dir) // "" is the current one
	if err != nil {
		return "", protocol.Errorf(protocol.CodeCwdMissing, "the current directory is gone; change to another one or give --cwd")
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return "", protocol.Errorf(protocol.CodeCwdMissing, "working directory %s does not exist; create it or give another with --cwd", abs)
	case err != nil:
		return "", protocol.Errorf(protocol.CodeCwdMissing, "working directory %s cannot be used: %w", abs, errors.Unwrap(err))
	}
	return abs, nil
}

// workspaceDir is --workspace: "" or a directory that is there.
func workspaceDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", usage("--workspace %q is not a directory", dir)
	}
	return abs, nil
}

func directories(dirs []string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); dir == "" || err != nil || !info.IsDir() {
			return nil, usage("--add-dir %q is not a directory", dir)
		}
		all = append(all, abs)
	}
	return all, nil
}

// environment reads --env. Its errors name variables, never values.
func environment(vars []string) (map[string]string, error) {
	if len(vars) == 0 {
		return nil, nil
	}
	env := make(map[string]string, len(vars))
	for _, v := range vars {
		name, value, given := strings.Cut(v, "=")
		if !given {
			var set bool
			if value, set = os.LookupEnv(name); !set {
				return nil, usage("--env %s: there is no such variable here to pass on; give --env %s=VALUE", name, name)
			}
		}
		env[name] = value
	}
	_, err := adapters.Environment(nil, nil, env) // what may be a variable of an agent's
	return env, err
}
