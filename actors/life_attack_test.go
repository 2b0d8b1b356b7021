package actors_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// An actor that was stopped while its restart was being delayed stays stopped:
// its parent must not wait for ever.
func TestAttack_DelayedRestartHitsAStoppingSession(t *testing.T) {
	free := make(chan struct{})
	var slow sync.Once
	r := newRig(t, func(r *rig) {
		launch := r.agents.launch
		r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
			a, err := launch(ctx, rec, h)
			if err != nil {
				return nil, err
			}
			return slowStopper{a, make(chan struct{}, 1), free}, nil
		}
	})
	let := func() { slow.Do(func() { close(free) }) }
	defer let()
	r.start()
	// Failures of one session within the window make the delay grow.
	for range 4 {
		_ = r.vm.SessionPanic(r.ctx(), "main")
		_ = r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: spec()})
	}
	r.mustPrompt("a route is up")
	_ = r.vm.SessionPanic(r.ctx(), "main") // a restart is pending, 40 to 80 ms
	_ = r.vm.VMPanic(r.ctx())              // and now everything is stopped
	time.AfterFunc(300*time.Millisecond, let)
	if _, err := r.promptFor(10*time.Second, "main", "after"); err != nil {
		t.Errorf("prompt after the restart of the VM: %v; want an answer", err)
	}
	within(t, 10*time.Second, "close", func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.vm.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// A VM whose restart was pending when its node was closed does not come back and
// take the database again.
func TestAttack_DelayedRestartHitsAClosedNode(t *testing.T) {
	r, h := newHookedRig(t)
	for range 4 {
		_ = r.vm.VMPanic(r.ctx())
		_, _, _ = r.vm.Sessions(r.ctx(), "", 10)
	}
	_ = r.vm.VMPanic(r.ctx()) // a restart is pending
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = r.node.Close(ctx) // the VM does not answer in time; it is stopped with the tree
	h.mu.Lock()
	before := h.opens
	h.mu.Unlock()
	pause(500 * time.Millisecond)
	h.mu.Lock()
	after := h.opens
	h.mu.Unlock()
	if after != before {
		t.Errorf("the database was opened %d times after the node was closed", after-before)
	}
}

// A caller who gives up opening a VM does not close it for another one.
func TestAttack_OpenGivenUpByOneCaller(t *testing.T) {
	r, h := newHookedRig(t)
	if err := r.vm.Close(r.ctx()); err != nil {
		t.Fatal(err)
	}
	blocked, free := make(chan struct{}), make(chan struct{})
	h.set(func(h *hooked) { h.open = func() error { close(blocked); <-free; return nil } })
	first := make(chan error, 1)
	go func() {
		vm, err := r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"})
		if err == nil {
			_, _, err = vm.Sessions(r.ctx(), "", 10)
		}
		first <- err
	}()
	<-blocked
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	go func() {
		_, err := r.node.Open(ctx, "test", protocol.Descriptor{SQLiteFile: "/memory"})
		second <- err
	}()
	<-ctx.Done()
	pause(20 * time.Millisecond)
	h.set(func(h *hooked) { h.open = nil })
	close(free)
	if err := <-second; err == nil {
		t.Log("the impatient caller was answered all the same")
	}
	if err := <-first; err != nil {
		t.Errorf("the patient caller: %v; want the VM", err)
	}
}

// What was closed can be opened at once.
func TestAttack_OpenRightAfterClose(t *testing.T) {
	r := newRig(t).start()
	for n := range 300 {
		vm, err := r.node.Open(r.ctx(), "x", protocol.Descriptor{SQLiteFile: "/x"})
		if err != nil {
			t.Fatalf("opening %d: %v", n, err)
		}
		if err := vm.Close(r.ctx()); err != nil {
			t.Fatalf("closing %d: %v", n, err)
		}
	}
}

// Every Close that returns nil has closed: the lock is free.
func TestAttack_ConcurrentCloses(t *testing.T) {
	for n := range 30 {
		mem, err := memdb.New()
		if err != nil {
			t.Fatal(err)
		}
		l := &locked{Source: mem}
		r := newRig(t, func(r *rig) { r.source = mem })
		r.config.Sources = func(protocol.Descriptor) (persistence.Source, error) { return l.take() }
		r.start()
		r.mustPrompt("hello")
		w := r.watch("main", 0)
		go func() { _, _ = r.prompt("[[slow 1000 5]]") }()
		w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
		var wg sync.WaitGroup
		for c := range 3 {
			wg.Go(func() {
				if err := r.vm.Close(r.ctx()); err == nil && l.held() {
					t.Errorf("round %d: close %d returned nil and the lock is still held", n, c)
				}
			})
		}
		wg.Wait()
		if err := r.node.Close(r.ctx()); err != nil {
			t.Errorf("node: %v", err)
		}
		if l.held() {
			t.Errorf("round %d: the lock is held after the node was closed", n)
		}
		if running, _ := r.agents.counts(); running != 0 {
			t.Errorf("round %d: %d agents left", n, running)
		}
		if t.Failed() {
			return
		}
	}
}

// locked is a source with a lock.
type locked struct {
	persistence.Source
	mu    sync.Mutex
	taken bool
}

func (l *locked) take() (persistence.Source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken {
		return nil, protocol.Errorf(protocol.CodeVMInUse, "taken")
	}
	l.taken = true
	return l, nil
}

func (l *locked) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

func (l *locked) Release() error {
	pause(3 * time.Millisecond) // as a checkpoint takes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = false
	return nil
}

// An agent that closes its input and goes on cannot be prompted: the turn ends.
func TestAttack_AgentClosesItsInput(t *testing.T) {
	var mu sync.Mutex
	var last *deafAdapter
	r := newRig(t, func(r *rig) {
		launch := r.agents.launch
		r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
			a, err := launch(ctx, rec, h)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			last = &deafAdapter{Adapter: a}
			return last, nil
		}
	})
	r.start()
	r.mustPrompt("first")
	mu.Lock()
	last.deafen(r)
	mu.Unlock()
	if _, err := r.promptFor(5*time.Second, "main", "second"); protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Errorf("prompt: %v; want adapter_exited", err)
	}
	if _, err := r.promptFor(5*time.Second, "main", "third"); err != nil {
		t.Errorf("the next prompt: %v", err)
	}
}

// deafAdapter is an adapter whose input can be closed while it goes on.
type deafAdapter struct {
	actors.Adapter
	mu   sync.Mutex
	deaf *jsonrpc.Peer
	stop func()
}

// Peer returns a connection that can be read for ever and not written.
func (d *deafAdapter) Peer() *jsonrpc.Peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf != nil {
		return d.deaf
	}
	return d.Adapter.Peer()
}

func (d *deafAdapter) deafen(*rig) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, w := io.Pipe()
	in, out := io.Pipe()
	_ = in.Close() // writes fail with EPIPE's like
	d.deaf = jsonrpc.New(r, out, func(jsonrpc.Message) {}, jsonrpc.Options{})
	d.stop = func() { _ = w.Close(); _ = d.deaf.Close() }
}

func (d *deafAdapter) Stop(g adaptersGrace) error {
	err := d.Adapter.Stop(g)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
	}
	return err
}

// Reads of sessions that do not exist leave nothing behind.
func TestAttack_UnknownSessionsCostNothing(t *testing.T) {
	r := newRig(t).start()
	before := len(r.node.Descendants())
	for n := range 200 {
		id := protocol.SessionID(fmt.Sprint("unknown", n))
		_ = r.vm.Cancel(r.ctx(), id, "")
		_, _ = r.vm.Permit(r.ctx(), id, "x", "y")
		_ = r.vm.Unload(r.ctx(), id)
	}
	if after := len(r.node.Descendants()); after > before+10 {
		t.Errorf("%d actors are left of sessions that do not exist", after-before)
	}
	if err := r.vm.Cancel(r.ctx(), protocol.SessionID(strings.Repeat("x", 5000)), ""); err == nil {
		t.Error("cancel of an impossible id was answered well")
	}
}

// The caller of a prompt that was sent is told so when its session fails.
func TestAttack_S6_5_CallerOfADispatchedPromptOverAPanic(t *testing.T) {
	r := newRig(t).start()
	broken := startTurn(t, r, "main", "[[slow 1000 20]]")
	_ = r.vm.SessionPanic(r.ctx(), "main")
	err := <-broken
	if c := protocol.CodeOf(err); c != protocol.CodePromptDeliveryUncertain && c != protocol.CodeStorageOutcomeUnknown {
		t.Errorf("prompt: %v; want prompt_delivery_uncertain: the agent has it", err)
	}
}
