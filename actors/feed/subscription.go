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
	last    protocol.Sequence // newest event returned
	page    []protocol.Event  // read from the database, not yet returned
	behind  bool              // events between last and the ring may be missing
	dropped int64
}

// Subscribe returns a subscription to everything after the event numbered
// after: first what is stored, then what is live, without a gap or a double.
func (f *Feed) Subscribe(after protocol.Sequence, history History) *Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Subscription{
		feed: f, history: history, last: after, behind: true,
		cursor: f.first + int64(len(f.ring)),
	}
}

// Dropped returns how many deltas and states were lost to slowness so far.
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
			return s.feed.stored(e), nil, nil
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

// catchUp reads the next page, or finds that there is nothing to catch up with
// and takes a place in the ring.
func (s *Subscription) catchUp(ctx context.Context) error {
	page, err := s.history(ctx, s.last, catchUpPage)
	if err != nil {
		return err
	}
	if len(page) > 0 {
		s.page = page
		return nil
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.cursor = max(s.cursor, s.feed.first)
	// Something published since the read, and gone from the ring already, is
	// stored: one more read finds it.
	s.behind = s.feed.missing(s.cursor, s.last)
	return nil
}

// missing reports whether an event after last was published before the item at
// cursor. The caller holds mu.
func (f *Feed) missing(cursor int64, last protocol.Sequence) bool {
	for _, item := range f.ring[cursor-f.first:] {
		if item.Event != nil {
			return item.Event.Sequence > last+1
		}
	}
	return f.latest > last
}

// live takes the item at the cursor. All results are nil if the subscription
// has fallen behind, or the item was one it has already returned.
func (s *Subscription) live() (*Item, <-chan struct{}, error) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.cursor < f.first {
		s.dropped += f.first - s.cursor // events among them come from the database
		s.cursor, s.behind = f.first, true
		return nil, nil, nil
	}
	at := s.cursor - f.first
	if at == int64(len(f.ring)) {
		if f.closed {
			return nil, nil, ErrClosed
		}
		return nil, f.wake, nil
	}
	item := f.ring[at]
	if e := item.Event; e != nil {
		switch {
		case e.Sequence <= s.last: // came from the database before
			s.cursor++
			return nil, nil, nil
		case e.Sequence > s.last+1: // published before we took our place
			s.behind = true
			return nil, nil, nil
		}
		s.last = e.Sequence
	}
	s.cursor++
	return &item, nil, nil
}

// stored wraps an event that was read from the database.
func (f *Feed) stored(e protocol.Event) Item {
	return newItem(f.session, Item{Event: &e})
}
