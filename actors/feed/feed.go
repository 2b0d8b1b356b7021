// Package feed shows one session's outbound order to any number of subscribers.
//
// A Feed is a bounded ring of items in the order in which they were published;
// subscribers pull from it with a cursor of their own. Publishing never waits:
// a subscriber that falls behind the ring loses deltas (counted) and goes back
// to the database for events, so it sees every durable event exactly once and
// in order, whatever its speed (sessions.md S5.3, S11.3). Of states, which are
// values and no history, it always gets the newest.
//
// # Order
//
// Every item says which event it comes right behind. That is all a subscriber
// needs: an item whose event it has not seen yet sends it to the database, and a
// delta whose event it has passed is of a run that it has read as an event.
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

// behind returns the event that i comes right behind.
func (i Item) behind() protocol.Sequence {
	switch {
	case i.Event != nil:
		return i.Event.Sequence - 1
	case i.Delta != nil:
		return i.Delta.After
	}
	return i.State.Sequence
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
// Invariant: items are published in the order of what they come behind; first is
// the absolute index of ring[0]; the newest item is in the ring.
type Feed struct {
	session  protocol.SessionID
	maxItems int
	maxBytes int

	mu      sync.Mutex
	ring    []Item
	first   int64
	bytes   int
	wake    chan struct{} // closed and replaced by each publish
	closed  bool
	soft    int64          // deltas and states published
	lost    int64          // those of them that have left the ring
	state   Item           // the newest state, if stateAt is not -1
	stateAt int64          // its index
	run     protocol.RunID // of the newest delta, "" when its event was published
	runAt   int64          // index of its first delta
}

// New returns an empty feed of one session.
func New(id protocol.SessionID) *Feed { return newBounded(id, maxItems, maxBytes) }

func newBounded(id protocol.SessionID, items, bytes int) *Feed {
	return &Feed{session: id, maxItems: items, maxBytes: bytes, stateAt: -1, wake: make(chan struct{})}
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
	f.note(i)
	f.ring = append(f.ring, i)
	f.bytes += i.size()
	f.trim()
	close(f.wake)
	f.wake = make(chan struct{})
}

// note keeps what those will need who join or fall behind.
func (f *Feed) note(i Item) {
	switch {
	case i.Event != nil:
		if i.Event.Run == f.run {
			f.run = ""
		}
		return
	case i.Delta != nil:
		if i.Delta.Run != f.run {
			f.run, f.runAt = i.Delta.Run, f.end()
		}
	default:
		f.state, f.stateAt = i, f.end()
	}
	f.soft++
}

// end returns the index of the next item.
func (f *Feed) end() int64 { return f.first + int64(len(f.ring)) }

// trim drops the oldest items beyond the bounds; the newest always stays.
func (f *Feed) trim() {
	drop := 0
	for n := len(f.ring); n-drop > f.maxItems || (f.bytes > f.maxBytes && n-drop > 1); drop++ {
		f.bytes -= f.ring[drop].size()
		if f.ring[drop].Event == nil {
			f.lost++
		}
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
