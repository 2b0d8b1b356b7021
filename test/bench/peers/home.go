package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed driver
var drivers embed.FS

// home is the directory of one run: the scripts and the agent, and below it a home
// for every contender.
type home struct {
	dir  string
	node string // absolute path of node
}

// makeHome makes the directory. The caller removes it.
func makeHome() (h home, err error) {
	if h.node, err = exec.LookPath("node"); err != nil {
		return h, fmt.Errorf("find node (Node.js 20 or later runs the agent and the peers): %w", err)
	}
	if h.node, err = filepath.Abs(h.node); err != nil {
		return h, fmt.Errorf("find node: %w", err)
	}
	if h.dir, err = os.MkdirTemp("", "agentos-bench-peers-"); err != nil {
		return h, fmt.Errorf("make a home: %w", err)
	}
	err = fs.WalkDir(drivers, ".", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(h.dir, filepath.FromSlash(name))
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			return os.Mkdir(to, 0o700)
		}
		text, err := drivers.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o700) // the agent is executable, for AgentOS
	})
	if err != nil {
		return h, fmt.Errorf("write the drivers: %w", fmt.Errorf("%w (%w)", err, h.remove()))
	}
	return h, nil
}

func (h home) remove() error { return os.RemoveAll(h.dir) }

// agent is the command of the trivial agent.
func (h home) agent() []string {
	return []string{h.node, filepath.Join(h.dir, "driver/trivial/bin/trivial")}
}

// own makes a contender's home and returns it with the environment of somebody
// who has nothing else.
func (h home) own(name string) (dir string, env []string, err error) {
	dir = filepath.Join(h.dir, name)
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return "", nil, fmt.Errorf("make a home for %s: %w", name, err)
	}
	path := filepath.Dir(h.node) + ":/usr/local/bin:/usr/bin:/bin"
	return dir, []string{"PATH=" + path, "HOME=" + dir, "TMPDIR=" + tmp, "LANG=C.UTF-8"}, nil
}
