// Package feed shows one session's outbound order to any number of subscribers.
//
// A Feed is a bounded ring of items in the order in which they were published;
// subscribers pull from it with a cursor of their own. Publishing never waits:
// a subscriber that falls behind the ring loses deltas (counted) and goes back
// to the database for events, so it sees every durable event exactly once and
// in order, whatever its speed (sessions.md S5.3, S11.3).
//
// # Concurrency
//
// A Feed may be used by any number of goroutines; it starts none. A
// Subscription belongs to one goroutine.
package feed

import (
	"sync"

	"agentos/protocol"
	"agentos/protocol/public"
)

// Bounds of a ring. What falls out is read again from the database.
const (
	maxItems = 4096
	maxBytes = 4 << 20
)

// State tells that the session's state has changed.
type State struct {
	State    protocol.State
	Prompt   protocol.PromptID
	Sequence protocol.Sequence // the latest event before it
}

// Item is one thing shown: exactly one of its pointers is set.
type Item struct {
	Event *protocol.Event
	Delta *protocol.Delta
	State *State

	session protocol.SessionID
	once    *sync.Once
	json    *[]byte
}

// JSON returns the public form of an event or delta, encoded once for all
// subscribers; nil for a state. The caller must not modify it.
func (i Item) JSON() []byte {
	i.once.Do(func() {
		switch {
		case i.Event != nil:
			*i.json = public.AppendEvent(nil, i.session, *i.Event)
		case i.Delta != nil:
			*i.json = public.AppendDelta(nil, i.session, *i.Delta)
		}
	})
	return *i.json
}

func newItem(id protocol.SessionID, i Item) Item {
	i.session, i.once, i.json = id, new(sync.Once), new([]byte)
	return i
}

func (i Item) size() int {
	switch {
	case i.Event != nil:
		return len(i.Event.Payload) + 256
	case i.Delta != nil:
		return len(i.Delta.Payload) + 256
	}
	return 128
}

// Feed is the outbound order of one session.
//
// Invariant: events are published with ascending sequences; first is the
// absolute index of ring[0].
type Feed struct {
	session protocol.SessionID

	mu     sync.Mutex
	ring   []Item
	first  int64
	bytes  int
	latest protocol.Sequence // highest sequence published
	wake   chan struct{}     // closed and replaced by each publish
	closed bool
}

// New returns an empty feed of one session.
func New(id protocol.SessionID) *Feed {
	return &Feed{session: id, wake: make(chan struct{})}
}

// Event publishes a stored event.
func (f *Feed) Event(e protocol.Event) { f.publish(Item{Event: &e}) }

// Delta publishes a live piece.
func (f *Feed) Delta(d protocol.Delta) { f.publish(Item{Delta: &d}) }

// State publishes a state.
func (f *Feed) State(s State) { f.publish(Item{State: &s}) }

func (f *Feed) publish(i Item) {
	i = newItem(f.session, i)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.ring = append(f.ring, i)
	f.bytes += i.size()
	if i.Event != nil {
		f.latest = max(f.latest, i.Event.Sequence)
	}
	f.trim()
	close(f.wake)
	f.wake = make(chan struct{})
}

// trim drops the oldest items beyond the bounds; the newest always stays.
func (f *Feed) trim() {
	drop := 0
	for n := len(f.ring); n-drop > maxItems || (f.bytes > maxBytes && n-drop > 1); drop++ {
		f.bytes -= f.ring[drop].size()
	}
	if drop == 0 {
		return
	}
	f.first += int64(drop)
	clear(f.ring[:drop]) // let what was dropped be collected
	f.ring = f.ring[drop:]
}

// Close ends every subscription once it has read what is there.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.wake)
	}
}
