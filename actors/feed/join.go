package feed

import (
	"math"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/coalesce"
)

// join returns one delta for all of the open run that came before the next event
// to return, or nil if no run is open or its beginning is not in the ring. The
// caller holds the feed's mu.
func (s *Subscription) join() *Item {
	f := s.feed
	if f.run == "" || f.runAt < f.first {
		return nil
	}
	run := coalesce.New(math.MaxInt)
	var whole protocol.Delta
	at := f.runAt
	for ; at < f.end(); at++ {
		item := f.ring[at-f.first]
		if item.behind() > s.last || item.Event != nil && item.Event.Sequence > s.last {
			break
		}
		if item.Delta == nil { // since runAt there is no other run
			continue
		}
		u, err := acp.ParseUpdate(item.Delta.Payload)
		if err != nil || run.Add(u, item.Delta.ACP, f.run).Offset != item.Delta.Offset {
			return nil // a piece of it was never published
		}
		whole = *item.Delta
	}
	merged, ok := run.Close()
	if !ok {
		return nil
	}
	s.passTo(at)
	whole.After, whole.Offset, whole.Payload = s.last, 0, merged.Payload
	item := newItem(f.session, Item{Delta: &whole})
	return &item
}

// passTo moves the cursor to at, over events and deltas that were returned in
// another form. Of the states among them the newest is kept.
func (s *Subscription) passTo(at int64) {
	f := s.feed
	for ; s.cursor < at; s.cursor++ {
		item := f.ring[s.cursor-f.first]
		if item.Event != nil {
			continue
		}
		s.soft++
		switch {
		case item.State != nil:
			s.keep(item)
		case item.Delta.Run != f.run:
			s.dropped++
		}
	}
}
