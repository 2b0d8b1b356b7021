package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 20\n"
	want := Process{PID: 7, Parent: 1, Group: 2, Session: 3, State: 'S', StartTime: 4242}
	tests := map[string]struct {
		line string
		ok   bool
	}{
		"plain":              {"7 (node) S" + rest, true},
		"name with a space":  {"7 (a b) S" + rest, true},
		"name with brackets": {"7 (x) Z 9 9 9) S" + rest, true},
		"empty name":         {"7 () S" + rest, true},
		"cut":                {"7 (node) S 1 2 3", false},
		"no name":            {"7 node S" + rest, false},
		"empty":              {"", false},
		"text for a number":  {"7 (node) S one" + rest, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.line))
			if (err == nil) != tt.ok {
				t.Fatalf("parseStat error = %v; want ok %v", err, tt.ok)
			}
			if tt.ok && got != want {
				t.Errorf("parseStat = %+v; want %+v", got, want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (node) S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 20\n"))
	f.Add([]byte("7 (x) Z) S 1"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, err := parseStat(line); err != nil && p != (Process{}) {
			t.Errorf("parseStat returned %+v beside an error", p)
		}
	})
}

func TestDescendantsAgainstChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		all := make([]Process, n)
		parent := map[int]int{}
		for i := range all {
			all[i] = Process{PID: i + 1, Parent: rapid.IntRange(0, n).Draw(t, "parent"), Session: rapid.IntRange(1, 3).Draw(t, "session")}
			parent[i+1] = all[i].Parent
		}
		under := func(pid, root int) bool {
			for range n {
				if pid = parent[pid]; pid == root {
					return true
				}
			}
			return false
		}
		root := rapid.IntRange(1, n).Draw(t, "root")
		var wantTree, wantSession []int
		for _, p := range all {
			if p.PID != root && under(p.PID, root) {
				wantTree = append(wantTree, p.PID)
			}
			in := p.Session == root
			for _, q := range all {
				in = in || q.Session == root && q.PID != root && under(p.PID, q.PID)
			}
			if in && p.PID != root {
				wantSession = append(wantSession, p.PID)
			}
		}
		if diff := cmp.Diff(wantTree, pids(Descendants(all, root))); diff != "" {
			t.Errorf("Descendants (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantSession, pids(InSession(all, root))); diff != "" {
			t.Errorf("InSession (-want +got):\n%s", diff)
		}
	})
}

func pids(list []Process) []int {
	var out []int
	for _, p := range list {
		out = append(out, p.PID)
	}
	slices.Sort(out)
	return out
}

func TestSignalOfARealProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Read(cmd.Process.Pid)
	if err != nil || p.Parent != os.Getpid() || !p.Alive() {
		t.Fatalf("Read = %+v, %v; want a living child of this process", p, err)
	}
	if all, err := List(); err != nil || !slices.Contains(pids(Descendants(all, os.Getpid())), p.PID) {
		t.Errorf("List error %v or the child is not among the descendants", err)
	}

	stranger := p
	stranger.StartTime++
	if err := stranger.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("Signal to a reused number = %v; want ErrGone", err)
	}
	if !p.Alive() {
		t.Fatal("the process that reused the number was signalled")
	}

	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatalf("Signal = %v", err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if err := p.Signal(syscall.SIGKILL); !errors.Is(err, ErrGone) || p.Exists() {
		t.Errorf("Signal after the end = %v, exists %v; want ErrGone, false", err, p.Exists())
	}
}
