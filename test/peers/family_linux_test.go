package peers_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// relative is a living process of a stage.
type relative struct {
	pid, parent int
	command     string
}

// family are the processes that a turn runs in. A pid of 0 means none.
type family struct {
	guard    relative
	agent    relative // the guard's child
	native   relative // the agent's first child, which does the work where there is one
	relative []relative
}

// family looks for the processes below the guard of the stage's runtime. Like all
// that is called while a turn runs it never ends the test (Fatal): that would end
// the goroutine that reads the runtime's output, and nobody would be told.
func (s *stage) family() family {
	var f family
	for _, line := range s.home.Processes() {
		// The command is empty while a process becomes another program.
		number, command, _ := strings.Cut(strings.TrimSpace(line), ":")
		pid, err := strconv.Atoi(number)
		if err != nil {
			s.Errorf("process %q: %v", line, err)
			continue
		}
		if parent, ok := parentOf(pid); ok {
			f.relative = append(f.relative, relative{pid, parent, strings.TrimSpace(command)})
		}
	}
	f.guard = f.first(func(r relative) bool { return strings.Contains(r.command, " adapter guard") })
	f.agent = f.first(func(r relative) bool { return r.parent == f.guard.pid && f.guard.pid != 0 })
	f.native = f.first(func(r relative) bool { return r.parent == f.agent.pid && f.agent.pid != 0 })
	return f
}

// parentOf reads it from /proc. A process may end before it is looked at.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name is in parentheses and may hold anything, parentheses too.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

func (f family) first(like func(relative) bool) relative {
	if i := slices.IndexFunc(f.relative, like); i >= 0 {
		return f.relative[i]
	}
	return relative{}
}

// running finds a process by the end of its command line.
func (f family) running(command string) relative {
	return f.first(func(r relative) bool { return strings.HasSuffix(r.command, command) })
}

// want wants all of them to be there before something is killed: else it shows
// nothing that none is left behind it.
func (s *stage) want(f family) {
	s.Helper()
	if f.guard.pid == 0 || f.agent.pid == 0 || s.native && f.native.pid == 0 {
		s.Errorf("before the kill there are %+v; want a guard, an agent and, if that only launches it (%v), the program", f.relative, s.native)
	}
}

// awaitRunning waits until a command runs, and returns the family then.
func (s *stage) awaitRunning(command string) family {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		f := s.family()
		if f.running(command).pid != 0 {
			return f
		}
		select {
		case <-tick.C:
		case <-end:
			s.Errorf("%q does not run; there are %+v", command, f.relative)
			return f
		}
	}
}

// kill is kill -9.
func (s *stage) kill(r relative) {
	s.Helper()
	if r.pid == 0 {
		s.Error("there is no process to kill")
		return
	}
	if err := syscall.Kill(r.pid, syscall.SIGKILL); err != nil {
		s.Errorf("kill %+v: %v", r, err)
	}
}
