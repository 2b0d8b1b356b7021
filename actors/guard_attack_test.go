package actors_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"agentos/actors"
	"agentos/adapters"
	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// killer kills its agent when the n-th request of bring-up is made, before or
// after it was answered.
type killer struct {
	actors.Adapter
	method string
	after  bool
	left   *atomic.Int32
	kill   func()
}

func (k killer) Request(ctx context.Context, method string, params []byte, p adapters.Patience) (jsonrpc.Response, error) {
	if method != k.method || k.left.Add(-1) < 0 {
		return k.Adapter.Request(ctx, method, params, p)
	}
	if !k.after {
		k.kill()
	}
	r, err := k.Adapter.Request(ctx, method, params, p)
	if k.after {
		k.kill()
	}
	return r, err
}

// A route that loses its process at any step of coming up answers its prompt
// with a clear error, and the next prompt works.
func TestAttack_BringUpKilledAtEachStep(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		flags  []string
	}{
		"launch":     {"", nil},
		"initialize": {"initialize", nil},
		"new":        {"session/new", nil},
		"resume":     {"session/resume", nil},
		"load":       {"session/load", []string{"--no-resume"}},
	} {
		for _, after := range []bool{false, true} {
			if after {
				name += " answered"
			}
			t.Run(name, func(t *testing.T) {
				var left, launches atomic.Int32
				r := newRig(t, func(r *rig) {
					r.agents.flags = c.flags
					r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
						if c.method == "" && launches.Add(-1) == 0 {
							return nil, protocol.Errorf(protocol.CodeAdapterNotInstalled, "planned")
						}
						a, err := r.agents.launch(ctx, rec, h)
						return killer{a, c.method, after, &left, r.agents.kill}, err
					}
				})
				r.start()
				if c.method == "session/resume" || c.method == "session/load" {
					r.mustPrompt("there is something to restore")
					if err := r.vm.Unload(r.ctx(), "main"); err != nil {
						t.Fatal(err)
					}
				}
				left.Store(1)
				launches.Store(1)
				_, err := r.promptFor(10*time.Second, "main", "killed")
				var pe *protocol.Error
				if !errors.As(err, &pe) && (err != nil || !after) {
					t.Errorf("prompt: %v; want a protocol error", err)
				}
				if c := protocol.CodeOf(err); c == protocol.CodeInternal || c == protocol.CodeShuttingDown {
					t.Errorf("prompt: %v; want a code that says what happened", err)
				}
				t.Logf("killed: %v", err)
				if _, err := r.promptFor(10*time.Second, "main", "next"); err != nil {
					t.Errorf("the next prompt: %v", err)
				}
				if running, _ := r.agents.counts(); running != 1 {
					t.Errorf("%d agents run; want 1", running)
				}
				r.check()
			})
		}
	}
}

// A panic on the reading goroutine is the VM's misfortune, not the process's.
// The attack runs in a process of its own.
func TestAttack_PanicInARead(t *testing.T) {
	const name = "AGENTOS_ATTACK_READ"
	if os.Getenv(name) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAttack_PanicInARead$", "-test.count=1")
		cmd.Env = append(os.Environ(), name+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("a panic in a read ended the process: %v\n%.400s", err, out)
		}
		return
	}
	r, h := newHookedRig(t)
	r.mustPrompt("first")
	h.set(func(h *hooked) { h.query = func(string) error { panic("planned") } })
	if _, _, err := r.vm.Sessions(r.ctx(), "", 10); err == nil {
		t.Error("a read that panicked was answered well")
	}
	h.set(func(h *hooked) { h.query = nil })
	r.mustPromptSoon(t)
}

// A database whose opening panics does not end the process either, and its lock
// is given back.
func TestAttack_PanicInOpening(t *testing.T) {
	const name = "AGENTOS_ATTACK_OPEN"
	if os.Getenv(name) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAttack_PanicInOpening$", "-test.count=1")
		cmd.Env = append(os.Environ(), name+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("a panic while opening ended the process: %v\n%.400s", err, out)
		}
		return
	}
	r, h := newHookedRig(t)
	if err := r.vm.Close(r.ctx()); err != nil {
		t.Fatal(err)
	}
	h.set(func(h *hooked) { h.tx = func(func() error) error { panic("planned") } })
	if _, err := r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"}); err == nil {
		t.Error("an opening that panicked was answered well")
	}
	h.set(func(h *hooked) { h.tx = nil })
	vm, err := r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"})
	if err != nil {
		t.Fatal(err)
	}
	r.vm = vm
	r.mustPromptSoon(t)
}

// A VM that is closed while its database is being opened, and cannot be, leaves
// nothing behind.
func TestAttack_OpeningFailsWhileClosing(t *testing.T) {
	closeInOpening(t, func(opened <-chan error, free func()) { free(); <-opened })
}

// The same if the disk hangs for longer than the store waits (30 s): what is left
// ends when the disk comes back, and the lock is given back then.
func TestAttack_OpeningHangsOverAClose(t *testing.T) {
	if os.Getenv("AGENTOS_STRESS_SECONDS") == "" {
		t.Skip("takes 30 s; AGENTOS_STRESS_SECONDS runs it")
	}
	closeInOpening(t, func(opened <-chan error, free func()) { <-opened; free() })
}

func closeInOpening(t *testing.T, between func(opened <-chan error, free func())) {
	mem, err := memdb.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mem.Release() })
	h := &hooked{Source: mem}
	blocked, free := make(chan struct{}), make(chan struct{})
	h.open = func() error { close(blocked); <-free; return refusal(persistence.ClassIO) }
	l := &locked{Source: h}
	r := newRig(t)
	r.config.Sources = func(protocol.Descriptor) (persistence.Source, error) { return l.take() }
	node, err := actors.Start(r.config)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := node.Open(context.Background(), "test", protocol.Descriptor{SQLiteFile: "/memory"})
		opened <- err
	}()
	<-blocked
	closed := make(chan error, 1)
	go func() { closed <- node.Close(context.Background()) }()
	between(opened, func() { close(free) })
	<-closed
	if left := node.Descendants(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for end := time.Now().Add(3 * time.Second); l.held(); pause(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lock is held for ever")
		}
	}
}
