package main

import (
	"context"
	"sync"

	"agentos/protocol"
)

// holds is what keeps a VM of this process awake: turns, from reservation to their
// stored end. It is the runtime's host.
type holds struct {
	mu    sync.Mutex
	by    map[string]int // what holds, a prompt's id for a turn
	empty chan struct{}  // closed while nothing does
}

func newHolds() *holds {
	h := &holds{by: map[string]int{}, empty: make(chan struct{})}
	close(h.empty)
	return h
}

// Hold implements actors.Host.
func (h *holds) Hold(_, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.by) == 0 {
		h.empty = make(chan struct{})
	}
	h.by[reason]++
}

// Release implements actors.Host.
func (h *holds) Release(_, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[reason] > 1 {
		h.by[reason]--
		return
	}
	if h.by[reason] == 0 {
		return // never held here
	}
	if delete(h.by, reason); len(h.by) == 0 {
		close(h.empty)
	}
}

// others returns how many turns there are but that of own: that one may be held for
// a moment longer than its answer needs.
func (h *holds) others(own protocol.PromptID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.by)
	if h.by[string(own)] > 0 {
		n--
	}
	return n
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
