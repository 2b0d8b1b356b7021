package feed

import (
	"context"
	"errors"

	"agentos/protocol"
)

// ErrClosed ends a subscription: the feed was closed and everything in it read.
var ErrClosed = errors.New("feed closed")

// catchUpPage is how many events one read of the database brings.
const catchUpPage = 200

// History reads stored events after a sequence, ascending, at most limit.
type History func(ctx context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error)

// Subscription is one reader's place in a Feed. It is used by one goroutine.
type Subscription struct {
	feed    *Feed
	history History
	cursor  int64             // absolute index of the next item
	soft    int64             // deltas and states published before it
	last    protocol.Sequence // newest event returned
	page    []protocol.Event  // read from the database, not yet returned
	behind  bool              // events after last may be in the database
	read    int64             // end of the ring when the database last had nothing new
	state   *Item             // newest state that has left the ring unseen
	dropped int64

	joining bool // nothing was returned from the ring yet
}

// Subscribe returns a subscription to everything after the event numbered
// after: first what is stored, then what is live, without a gap or a double. If
// a run is open then, its first delta is all of it so far (S5.2), unless its
// beginning has left the ring.
func (f *Feed) Subscribe(after protocol.Sequence, history History) *Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Subscription{
		feed: f, history: history, last: after, behind: true, joining: true,
		cursor: f.end(), soft: f.soft,
	}
}

// Dropped returns how many deltas and states were lost to slowness so far, or
// overtaken by events that were read from the database.
func (s *Subscription) Dropped() int64 { return s.dropped }

// Next returns the next item. It waits until there is one, ctx ends or the feed
// is closed (ErrClosed).
func (s *Subscription) Next(ctx context.Context) (Item, error) {
	for {
		item, wake, err := s.take(ctx)
		if err != nil || wake == nil {
			return item, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

// TryNext is Next without the wait: ok is false if nothing is there now.
func (s *Subscription) TryNext(ctx context.Context) (item Item, ok bool, err error) {
	item, wake, err := s.take(ctx)
	if errors.Is(err, ErrClosed) {
		return Item{}, false, nil
	}
	return item, err == nil && wake == nil, err
}

// take returns an item, or a channel that is closed when there may be one.
func (s *Subscription) take(ctx context.Context) (Item, <-chan struct{}, error) {
	for {
		if len(s.page) > 0 {
			e := s.page[0]
			s.page = s.page[1:]
			s.last = e.Sequence
			return newItem(s.feed.session, Item{Event: &e}), nil, nil
		}
		if s.behind {
			if err := s.catchUp(ctx); err != nil {
				return Item{}, nil, err
			}
			continue
		}
		if item, wake, err := s.live(); item != nil || wake != nil || err != nil {
			if item != nil {
				return *item, nil, nil
			}
			return Item{}, wake, err
		}
	}
}

// catchUp reads the next page, or finds that there is none: whatever was in the
// ring before the read has nothing before it then that could still be had.
func (s *Subscription) catchUp(ctx context.Context) error {
	s.feed.mu.Lock()
	end := s.feed.end()
	s.feed.mu.Unlock()
	page, err := s.history(ctx, s.last, catchUpPage)
	if err != nil {
		return err
	}
	if len(page) > 0 {
		s.page = page
		return nil
	}
	s.behind, s.read = false, end
	return nil
}

// live takes the item at the cursor. All results are nil if the item is none to
// return, or is missing something that has to be read first.
func (s *Subscription) live() (*Item, <-chan struct{}, error) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.cursor < f.first {
		s.skip()
	}
	if s.joining {
		s.joining = false
		if item := s.join(); item != nil {
			return item, nil, nil
		}
	}
	if s.cursor < f.end() {
		item := f.ring[s.cursor-f.first]
		if item.behind() > s.last && s.cursor >= s.read {
			s.behind = true
			return nil, nil, nil
		}
		if item := s.kept(); item != nil {
			return item, nil, nil
		}
		return s.pass(item), nil, nil
	}
	if item := s.kept(); item != nil {
		return item, nil, nil
	}
	if f.closed {
		return nil, nil, ErrClosed
	}
	return nil, f.wake, nil
}

// skip goes on to the oldest item there is. Events before it come from the
// database, for the item says so. The caller holds the feed's mu.
func (s *Subscription) skip() {
	f := s.feed
	s.dropped += f.lost - s.soft
	if f.stateAt >= s.cursor && f.stateAt < f.first {
		s.dropped--
		s.keep(f.state)
	}
	s.cursor, s.soft = f.first, f.lost
}

// keep puts a state aside until everything before it was returned. One that was
// kept before is lost.
func (s *Subscription) keep(state Item) {
	if s.state != nil {
		s.dropped++
	}
	s.state = &state
}

// kept returns the state that was kept when it left the ring.
func (s *Subscription) kept() *Item {
	item := s.state
	s.state = nil
	return item
}

// pass moves the cursor over item and returns it, or nil if it has been seen or
// overtaken.
func (s *Subscription) pass(item Item) *Item {
	s.cursor++
	if e := item.Event; e != nil {
		if e.Sequence <= s.last { // came from the database before
			return nil
		}
		s.last = e.Sequence
		return &item
	}
	s.soft++
	if d := item.Delta; d != nil && d.After < s.last {
		s.dropped++
		return nil
	}
	return &item
}
