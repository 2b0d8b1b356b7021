package catalog

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

const (
	// manifestBytes bounds what is read of a package.json; real ones have a few
	// thousand bytes.
	manifestBytes = 1 << 20
	// manifestLevels is how far above its program a package may begin.
	manifestLevels = 5
)

type manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InstalledVersion returns the version of the program that Resolve finds, as
// the manifest of its package says it; false if it is not installed or says
// nothing. No process is started.
func (e Entry) InstalledVersion(lookPath func(string) (string, error)) (string, bool) {
	argv, _, ok := e.resolve(lookPath)
	if !ok || e.BuiltIn {
		return "", false
	}
	m, ok := manifestOf(argv[0])
	return m.Version, ok && m.Version != ""
}

// manifestOf reads the manifest of the package that a program belongs to. What
// npm puts on PATH is a link into the package; a program that is none, a shell
// script of another package manager for instance, has no manifest to be found.
func manifestOf(program string) (manifest, bool) {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return manifest{}, false
	}
	for range manifestLevels {
		dir := filepath.Dir(path)
		if dir == path || filepath.Base(dir) == "node_modules" {
			break
		}
		if m, ok := readManifest(filepath.Join(dir, "package.json")); ok {
			return m, true
		}
		path = dir
	}
	return manifest{}, false
}

// readManifest reads one package.json. One without a name is not a package's: some packages
// mark a folder of theirs as ES modules with a package.json of one line.
func readManifest(path string) (manifest, bool) {
	file, err := os.Open(path)
	if err != nil {
		return manifest{}, false
	}
	var m manifest
	err = json.NewDecoder(io.LimitReader(file, manifestBytes)).Decode(&m)
	if file.Close() != nil || err != nil {
		return manifest{}, false
	}
	return m, m.Name != ""
}
