package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"agentos/protocol"
)

// place is where a VM is.
type place struct {
	name string // as it was asked for
	path string // of its database, absolute
	// space is what --workspace said, absolute; "" if nothing.
	space string
}

const defaultVM = "default"

// vmName is what a VM in the data directory may be called.
var vmName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// locate finds the VM that --vm or AGENTOS_VM asks for. It touches no file.
func locate(vm string) (place, error) {
	path, isSocket := strings.CutPrefix(vm, "uds:")
	switch {
	case isSocket && path == "":
		return place{}, usage("--vm uds: needs the path of a socket")
	case isSocket:
		return place{}, usage("--vm %s is an actor's socket, and this build serves local files only; give a name or the path of a .db file", vm)
	case strings.Contains(vm, "/") || strings.HasSuffix(vm, ".db"):
		path, err := filepath.Abs(vm)
		if err == nil && strings.HasSuffix(vm, "/") {
			path += "/" // so that it is refused as no file
		}
		return place{name: vm, path: path}, err
	case !vmName.MatchString(vm):
		return place{}, usage("--vm %q is neither a name (letters, digits, . _ -, at most 64, not starting with a dot) nor a path", vm)
	}
	data, err := dataDir()
	if err != nil {
		return place{}, err
	}
	return place{name: vm, path: filepath.Join(data, "vms", vm, "vm.db")}, nil
}

// dataDir is where named VMs are.
func dataDir() (string, error) {
	if dir := os.Getenv("AGENTOS_DATA"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) { // a relative one is to be ignored, says its specification
		return filepath.Join(dir, "agentos"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage("there is no home directory to keep VMs in: set AGENTOS_DATA, or give --vm the path of a file")
	}
	return filepath.Join(home, ".local", "share", "agentos"), nil
}

// new reports whether there is no database yet; an empty file is none.
func (p place) new() bool {
	info, err := os.Stat(p.path)
	return err != nil || info.Mode().IsRegular() && info.Size() == 0
}

// descriptor is the place as the runtime takes it.
func (p place) descriptor() protocol.Descriptor { return protocol.Descriptor{SQLiteFile: p.path} }

// workspace is what stands in for the home directory of a VM that AgentOS made.
func (p place) workspace() string {
	if p.space != "" {
		return p.space
	}
	return p.path + ".workspace"
}

// scriptedDir is where the built-in agent keeps its private sessions.
func (p place) scriptedDir() string { return p.path + ".scripted" }
