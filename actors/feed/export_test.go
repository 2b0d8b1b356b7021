package feed

import "agentos/protocol"

// NewBounded is New with a smaller ring.
func NewBounded(id protocol.SessionID, items, bytes int) *Feed { return newBounded(id, items, bytes) }

// Size returns the items and bytes in the ring and how many items its memory has
// room for.
func (f *Feed) Size() (items, bytes, room int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ring), f.bytes, cap(f.ring)
}
