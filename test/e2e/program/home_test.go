//go:build linux

package program

import (
	"os/exec"
	"strings"
	"testing"
)

// Whatever was started in a home is seen until it has ended: else nothing would
// follow from a home that is empty.
func TestHome_SeesItsProcesses(t *testing.T) {
	h := NewHome(t, "/bin/sh")
	child := exec.Command("sleep", "1000")
	child.Env = h.Env
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if left := h.awaitNone(0); len(left) != 1 || left[0].pid != child.Process.Pid || !strings.HasSuffix(h.Processes()[0], "sleep 1000") {
		t.Errorf("processes = %v; want %d, sleep", left, child.Process.Pid)
	}
	kill(h.processes())
	if err := child.Wait(); err == nil {
		t.Error("it was not killed")
	}
	h.AwaitNone(t)
}

func TestRun_SeesLinesAsTheyCome(t *testing.T) {
	h := NewHome(t, "/bin/sh")
	var lines []string
	out := h.Start(t, func(_ *Run, n int, line []byte) {
		if lines = append(lines, string(line)); n != len(lines) {
			t.Errorf("line %q is number %d", line, n)
		}
	}, "-c", "echo a; printf 'b\n\nc'; echo d >&2; kill -9 $$").Wait(t)
	if got := strings.Join(lines, "|"); got != "a|b|" || strings.Join(out.Lines(), "|") != got {
		t.Errorf("lines %q, then %q; want a, b and an empty one", lines, out.Lines())
	}
	if out.Code != -1 || out.Stderr != "d\n" || string(out.Stdout) != "a\nb\n\nc" {
		t.Errorf("output = %+v", out)
	}
}
