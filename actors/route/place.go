package route

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentos/protocol"
)

// machineHome is the home directory of the virtual machine that AgentOS runs
// agents in. Sessions of its databases have their working directories there, and
// this machine need not have it.
const machineHome = "/home/agentos"

// place moves the session's directories below machineHome that this machine
// lacks into the VM's workspace, and says so (S6.1). Any other that is missing
// stays as it is: starting the adapter names it.
func (l *lifeline) place() *protocol.Error {
	workspace := ""
	if l.setup.Workspace != nil {
		workspace = l.setup.Workspace(l.vm)
	}
	if workspace == "" {
		return nil
	}
	spec := l.record.Spec
	dirs := append([]string{spec.Cwd}, spec.AdditionalDirectories...)
	for i, dir := range dirs {
		moved, err := moveHome(dir, workspace)
		if err != nil {
			return protocol.Errorf(protocol.CodeCwdMissing, "working directory %s is not on this machine, and its place in the workspace cannot be made: %w", dir, err)
		}
		if moved != dir && l.setup.Notice != nil {
			l.setup.Notice(l.record.ID, fmt.Sprintf("%s is not on this machine; the agent works in %s", dir, moved))
		}
		dirs[i] = moved
	}
	l.record.Spec.Cwd, l.record.Spec.AdditionalDirectories = dirs[0], dirs[1:]
	return nil
}

// moveHome returns where dir is on this machine.
func moveHome(dir, workspace string) (string, error) {
	below, ok := strings.CutPrefix(filepath.Clean(dir), machineHome)
	if !ok || below != "" && below[0] != '/' {
		return dir, nil
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	moved := filepath.Join(workspace, below)
	return moved, os.MkdirAll(moved, 0o700)
}
