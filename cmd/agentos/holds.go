package main

import (
	"context"
	"sync"
)

// holds counts what keeps a VM of this process awake: turns, from reservation to
// their stored end. It is the runtime's host.
type holds struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed while n is 0
}

func newHolds() *holds {
	h := &holds{empty: make(chan struct{})}
	close(h.empty)
	return h
}

// Hold implements actors.Host.
func (h *holds) Hold(string, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n++; h.n == 1 {
		h.empty = make(chan struct{})
	}
}

// Release implements actors.Host.
func (h *holds) Release(string, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n--; h.n == 0 {
		close(h.empty)
	}
}

// running returns how many turns there are.
func (h *holds) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n
}

// wait returns when nothing is held, or with the error of ctx.
func (h *holds) wait(ctx context.Context) error {
	h.mu.Lock()
	empty := h.empty
	h.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
