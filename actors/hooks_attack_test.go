package actors_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"agentos/actors"
	"agentos/adapters"
	"agentos/persistence"
	"agentos/protocol"
)

// hooked is a source whose transactions and reads go through functions that a
// test may replace at any time.
type hooked struct {
	persistence.Source
	mu    sync.Mutex
	tx    func(run func() error) error
	query func(sql string) error
	open  func() error
	opens int
}

func (h *hooked) set(f func(h *hooked)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *hooked) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	h.mu.Lock()
	open := h.open
	h.opens++
	h.mu.Unlock()
	if open != nil {
		if err := open(); err != nil {
			return nil, err
		}
	}
	db, err := h.Source.Open(inspect)
	if err != nil {
		return nil, err
	}
	return hookedDB{db, h}, nil
}

type hookedDB struct {
	persistence.DB
	h *hooked
}

func (d hookedDB) Tx(tx persistence.Tx) error {
	d.h.mu.Lock()
	f := d.h.tx
	d.h.mu.Unlock()
	if f == nil {
		return d.DB.Tx(tx)
	}
	return f(func() error { return d.DB.Tx(tx) })
}

func (d hookedDB) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	d.h.mu.Lock()
	f := d.h.query
	d.h.mu.Unlock()
	if f != nil {
		if err := f(q.SQL); err != nil {
			return nil, err
		}
	}
	return d.DB.Query(ctx, q)
}

func refusal(class persistence.Class) error {
	return &persistence.Error{Class: class, Wave: -1, Stmt: -1, Err: context.DeadlineExceeded}
}

func newHookedRig(t *testing.T, opts ...func(*rig)) (*rig, *hooked) {
	t.Helper()
	h := &hooked{}
	r := newRig(t, append([]func(*rig){func(r *rig) { h.Source, r.source = r.source, h }}, opts...)...)
	return r.start(), h
}

// within fails the test if f takes longer than d.
func within(t *testing.T, d time.Duration, what string, f func()) bool {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return true
	case <-time.After(d):
		t.Errorf("%s: still waiting after %v", what, d)
		return false
	}
}

func (r *rig) promptFor(d time.Duration, id protocol.SessionID, s string) (*protocol.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.vm.Prompt(ctx, actors.Prompt{
		Session: id, Content: text(s), Open: &actors.OpenSession{Session: id, Spec: spec()},
	})
}

type adaptersGrace = adapters.Grace

// pause lets time go by where there is nothing to wait for: a random history is
// made of pauses, and that something does not happen has no signal.
// pause gives a race time to happen. No test here is right or wrong for it.
func pause(d time.Duration) { <-time.After(d) }
