package program

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// leftGrace bounds the wait for processes to be gone: a guard gives an agent two
// seconds after SIGTERM, and the machine may be busy.
const leftGrace = 20 * time.Second

// Home is a person with a home directory and the agentos binary.
type Home struct {
	Dir    string   // HOME; everything below it belongs to the test
	Work   string   // the current directory of every command
	DB     string   // the database of the default VM
	Agent  string   // where the scripted agent keeps its private sessions
	Env    []string // of every command, whole
	Binary string   // the path of agentos
}

// NewHome makes a home that is removed at the end of the test. No process that
// was started in it may live then.
func NewHome(tb testing.TB, binary string) *Home {
	tb.Helper()
	// Not tb.TempDir: its names are too long for sockets.
	dir, err := os.MkdirTemp("", "home-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return NewHomeIn(tb, binary, dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"})
}

// NewHomeIn makes the directory dir, which env has as HOME, such a home.
func NewHomeIn(tb testing.TB, binary, dir string, env []string) *Home {
	tb.Helper()
	data := filepath.Join(dir, "data")
	h := &Home{
		Dir: dir, Work: filepath.Join(dir, "work"), Agent: filepath.Join(dir, "agent"),
		DB:     filepath.Join(data, "vms", "default", "vm.db"),
		Binary: binary,
	}
	h.Env = append(slices.Clone(env), "AGENTOS_DATA="+data, "AGENTOS_SCRIPTED_DIR="+h.Agent, quick)
	if err := os.Mkdir(h.Work, 0o700); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if left := h.awaitNone(leftGrace); len(left) > 0 {
			kill(left)
			tb.Errorf("processes were left behind, and are killed now:\n%s", strings.Join(texts(left), "\n"))
		}
	})
	return h
}

// quick spares every process the second for which the race detector waits at its
// end. It is inherited by agents only if --env says so.
const quick = "GORACE=atexit_sleep_ms=0"

// Quick are arguments of a prompt that hand the same on to the agent.
func (h *Home) Quick() []string {
	if h.Binary == racing && racing != binary {
		return []string{"--env", quick}
	}
	return nil
}

// Processes are the command lines of the processes of this home that live now.
func (h *Home) Processes() []string { return texts(h.processes()) }

// AwaitNone waits until no process of this home is left, and fails the test if
// there still is one after a time that is long enough for every guard.
func (h *Home) AwaitNone(tb testing.TB) {
	tb.Helper()
	if left := h.awaitNone(leftGrace); len(left) > 0 {
		tb.Errorf("processes are left after %v:\n%s", leftGrace, strings.Join(texts(left), "\n"))
	}
}

func (h *Home) awaitNone(limit time.Duration) []process {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	// Twice in a row: a process that is just replacing itself shows nothing.
	for seen := 0; ; {
		left := h.processes()
		if seen++; len(left) > 0 {
			seen = 0
		}
		if seen == 2 {
			return nil
		}
		select {
		case <-tick.C:
		case <-end:
			return left
		}
	}
}

func texts(all []process) []string {
	lines := make([]string, len(all))
	for i, p := range all {
		lines[i] = fmt.Sprintf("  %d: %s", p.pid, p.command)
	}
	return lines
}
