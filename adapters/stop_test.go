//go:build linux

package adapters

import (
	"bytes"
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentos/adapters/process"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

func TestS9_3_StopGoesStepByStep(t *testing.T) {
	t.Parallel()
	const long, short = 20 * time.Second, 20 * time.Millisecond
	tests := map[string]struct {
		fake   string
		heard  int // processes that say their number
		grace  Grace
		code   int
		signal string
	}{
		"stdin is enough":      {"good", 0, Grace{Stdin: long}, 0, ""},
		"term is needed":       {"faithful", 1, Grace{Stdin: short, Term: long}, 7, ""},
		"no wait for stdin":    {"faithful", 1, Grace{Term: long}, 7, ""},
		"kill is needed":       {"stubborn", 3, Grace{Stdin: short, Term: short}, 137, "killed"},
		"at once":              {"good", 0, Grace{}, 0, ""},
		"PG-02 left a child":   {"leaver", 2, Grace{Stdin: long}, 0, ""},
		"does not read at all": {"deaf", 1, Grace{Stdin: short, Term: long}, 143, "terminated"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := start(t, tt.fake)
			if tt.heard == 0 {
				if _, err := a.ask("initialize"); err != nil {
					t.Fatal(err)
				}
			}
			list := a.processes(tt.heard)
			if err := a.Stop(tt.grace); err != nil {
				t.Fatalf("Stop = %v", err)
			}
			wantDead(t, list)
			select {
			case <-a.Exited():
			default:
				t.Error("Stop returned before Exited was closed")
			}
			e := a.Exit()
			if name == "at once" { // the three steps come together: any may be the one
				tt.code, tt.signal = e.Code, e.Signal
			}
			if e.Code != tt.code || e.Signal != tt.signal || e.Lost {
				t.Errorf("Exit = %+v; want code %d, signal %q", e, tt.code, tt.signal)
			}
			if tt.fake == "faithful" && len(a.messages("saved")) != 1 {
				t.Error("what the adapter said at its end was not delivered")
			}
		})
	}
}

func TestStopRunsBeforeFirst(t *testing.T) {
	a := start(t, "good")
	asked := false
	err := a.Stop(Grace{BeforeLimit: 20 * time.Second, Stdin: 20 * time.Second, Before: func(ctx context.Context) {
		_, err := a.Request(ctx, "session/close", nil, Patience{})
		asked = err == nil
	}})
	if err != nil || !asked {
		t.Errorf("Stop = %v, session/close was answered: %v", err, asked)
	}
	a.wantExit(0, "")
}

func TestStopGivesTimeToOneThatClosesStdout(t *testing.T) {
	t.Parallel()
	a := start(t, "tidy")
	if _, err := a.ask("initialize"); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(Grace{Stdin: 20 * time.Second}); err != nil {
		t.Errorf("Stop = %v", err)
	}
	a.wantExit(7, "")
}

func TestStopBoundsBefore(t *testing.T) {
	t.Parallel()
	t.Run("by its limit", func(t *testing.T) {
		a := start(t, "mute")
		err := a.Stop(Grace{BeforeLimit: time.Millisecond, Stdin: 20 * time.Second, Before: func(ctx context.Context) { <-ctx.Done() }})
		if err != nil {
			t.Errorf("Stop = %v", err)
		}
	})
	t.Run("by the adapter's end", func(t *testing.T) {
		a := start(t, "exit", "0", "bye")
		if err := a.Stop(Grace{BeforeLimit: time.Hour, Before: func(ctx context.Context) { <-ctx.Done() }}); err != nil {
			t.Errorf("Stop = %v", err)
		}
	})
}

func TestStopInEveryState(t *testing.T) {
	quick := Grace{Stdin: 10 * time.Millisecond, Term: 10 * time.Millisecond}
	t.Run("by many at once", func(t *testing.T) {
		a := start(t, "stubborn")
		list := a.processes(3)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := a.Stop(quick); err != nil {
					t.Errorf("Stop = %v", err)
				}
			})
		}
		all.Wait()
		wantDead(t, list)
	})
	t.Run("a shorter grace wins", func(t *testing.T) {
		a := start(t, "stubborn")
		a.processes(3)
		slow := make(chan error, 1)
		go func() { slow <- a.Stop(Grace{Stdin: time.Hour}) }() // ended by the other Stop, and awaited below
		if err := a.Stop(quick); err != nil {
			t.Errorf("Stop = %v", err)
		}
		if err := <-slow; err != nil {
			t.Errorf("the slow Stop = %v", err)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		a := start(t, "exit", "5", "x")
		within(t, "the end", a.Exited())
		for range 2 {
			if err := a.Stop(quick); err != nil {
				t.Errorf("Stop = %v", err)
			}
		}
		a.wantExit(5, "")
	})
	t.Run("in a request", func(t *testing.T) {
		a := start(t, "mute")
		failed := make(chan error, 1)
		go func() { // ends with the request, and is awaited below
			_, err := a.Request(context.Background(), "session/prompt", nil, Patience{})
			failed <- err
		}()
		eventually(t, "the request was written", func() bool { return a.Peer().Stats().LinesWritten > 0 })
		if err := a.Stop(Grace{Stdin: 20 * time.Second}); err != nil {
			t.Errorf("Stop = %v", err)
		}
		wantError(t, <-failed, protocol.CodeAdapterExited, "session/prompt", "exit code 0")
	})
	t.Run("while stdin is full", func(t *testing.T) {
		a := start(t, "deaf")
		list := a.processes(1)
		if err := a.Peer().Notify("big", append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 1<<20)...), '"')); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(quick); err != nil {
			t.Errorf("Stop = %v", err)
		}
		wantDead(t, list)
	})
	t.Run("while the guard is stopped", func(t *testing.T) {
		a := start(t, "stubborn")
		list := a.processes(3)
		if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(Grace{Kill: 10 * time.Millisecond}); err != nil {
			t.Errorf("Stop = %v", err)
		}
		wantDead(t, list)
		if e := a.Exit(); !e.Lost || e.Code != -1 {
			t.Errorf("Exit = %+v; want one that says that the guard was killed", e)
		}
	})
}

func TestGuardKilled(t *testing.T) {
	a := start(t, "stubborn")
	list := a.processes(3)
	if list[1].Session == list[2].Session && list[0].Session == list[2].Session {
		t.Fatal("no process of the fake has left the session")
	}
	failed := make(chan error, 1)
	go func() { // ends with the request, and is awaited below
		_, err := a.Request(context.Background(), "session/prompt", nil, Patience{})
		failed <- err
	}()
	eventually(t, "the request was written", func() bool { return a.Peer().Stats().LinesWritten > 0 })
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, "the end", a.Exited())
	wantDead(t, list)
	// The answer may have been faster than the signal.
	if err := <-failed; err != nil {
		wantError(t, err, protocol.CodeAdapterExited, "guard was killed")
	}
	if e := a.Exit(); !e.Lost {
		t.Errorf("Exit = %+v; want Lost", e)
	}
}

// A handler that never returns, and one that calls Stop, cost drainPause and no
// more.
func TestStopAndTheHandler(t *testing.T) {
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		a := startSpec(t, fakeSpec(t, "deaf"), Options{OnMessage: func(jsonrpc.Message) { <-release }})
		a.processes(1)
		if err := a.Stop(Grace{}); err != nil {
			t.Errorf("Stop = %v", err)
		}
		wantGoneOf(t, a)
		close(release)
		within(t, "the reader has ended", a.Peer().Done())
	})
	t.Run("calls Stop", func(t *testing.T) {
		t.Parallel()
		client, stopped := make(chan *Client, 1), make(chan error, 1)
		a := startSpec(t, fakeSpec(t, "deaf"), Options{OnMessage: func(jsonrpc.Message) { stopped <- (<-client).Stop(Grace{}) }})
		client <- a.Client
		if err := <-stopped; err != nil {
			t.Errorf("Stop = %v", err)
		}
		wantGoneOf(t, a)
		within(t, "the reader has ended", a.Peer().Done())
	})
}

func wantGoneOf(t *testing.T, a *adapter) {
	t.Helper()
	within(t, "the end", a.Exited())
	if p, err := process.Read(a.PID()); err == nil && p.StartTime == a.started.StartTime {
		t.Errorf("process %+v is still there", p)
	}
}

func TestGraceFollowsTheCatalog(t *testing.T) {
	for agent, want := range map[string]time.Duration{
		"no such agent": defaultStdin,
		"claude":        defaultStdin,
		"zed-codex":     0,
		"codex":         9 * time.Second,
	} {
		if g := GraceFor(agent); g.Stdin != want || g.Term <= 0 || g.Kill <= 0 {
			t.Errorf("GraceFor(%s) = %+v; want %v for stdin", agent, g, want)
		}
	}
}
