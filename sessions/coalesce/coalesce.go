// Package coalesce joins the chunks of one message into one event (S7). It is
// pure, never decodes text, and costs time linear in the bytes it is given.
//
// A run is a series of adjacent text chunks that differ in nothing but their
// text; it becomes one stored event whose payload is the first chunk with the
// text of all of them. A chunk that is not text is a run of its own. What ends a
// run, other than a chunk that does not continue it, is the caller's to know.
//
// A Buffer is not safe for concurrent use.
package coalesce

import (
	"strings"

	"agentos/protocol"
	"agentos/protocol/acp"
)

// Run is a finished run: one event to store.
type Run struct {
	ID        protocol.RunID
	Kind      acp.ChunkKind
	MessageID string // "" if it has none
	ACP       int
	Payload   []byte // the update, merged
}

// Delta is one piece of the open run.
type Delta struct {
	Run    protocol.RunID
	Offset int64 // bytes of decoded text before it
}

// Buffer holds the one open run of an ACP v1 connection.
//
// Invariant: the texts of the runs returned by Add and Close, with the text
// still held, concatenate to the texts given to Add.
type Buffer struct {
	max   int // bytes at which a run is split; > 0
	first acp.Update
	id    protocol.RunID
	acp   int
	buf   []byte // first.Raw up to the end of its text, then the text of later chunks
	text  int64  // bytes of decoded text held
	open  bool
}

// New returns an empty Buffer that splits a run before its payload would pass
// maxBytes.
func New(maxBytes int64) *Buffer {
	if maxBytes <= 0 {
		panic("coalesce: maxBytes must be > 0")
	}
	return &Buffer{max: int(maxBytes)}
}

// Open reports whether a run is open.
func (b *Buffer) Open() bool { return b.open }

// Bytes returns the size of what is held.
func (b *Buffer) Bytes() int { return len(b.buf) }

// Continues reports whether u would extend the open run.
func (b *Buffer) Continues(u acp.Update) bool {
	return b.open && u.IsText && acp.Mergeable(b.first, u) &&
		len(b.buf)+len(u.Raw) <= b.max && !halves(b.buf, u.Raw[u.TextAt:u.TextEnd])
}

// halves reports whether head would complete an escaped character (a surrogate
// pair) of which tail has the first half. Joined they would be another text than
// the two that were shown, and no offset behind them would be right.
func halves(tail, head []byte) bool {
	return len(tail) >= 6 && surrogate(tail[len(tail)-6:], "89abAB") &&
		len(head) >= 6 && surrogate(head, "cdefCDEF")
}

// surrogate reports whether b begins with the escape of a surrogate whose second
// digit is one of those. It may take an escaped backslash for one: a run too
// many is no harm.
func surrogate(b []byte, digits string) bool {
	return b[0] == '\\' && b[1] == 'u' && b[2]|0x20 == 'd' && strings.IndexByte(digits, b[3]) >= 0
}

// Add takes a text chunk: it extends the open run if Continues, otherwise it
// opens the run named id. The caller has Closed a run that u does not continue.
func (b *Buffer) Add(u acp.Update, version int, id protocol.RunID) Delta {
	inner := u.Raw[u.TextAt:u.TextEnd]
	if b.open {
		b.buf = append(b.buf, inner...)
	} else {
		b.first, b.id, b.acp, b.open = u, id, version, true
		b.buf, b.text = append(b.buf[:0], u.Raw[:u.TextEnd]...), 0
	}
	d := Delta{Run: b.id, Offset: b.text}
	b.text += int64(len(u.Text()))
	return d
}

// Close ends the open run and returns it; ok is false if there is none.
func (b *Buffer) Close() (r Run, ok bool) {
	if !b.open {
		return Run{}, false
	}
	payload := append(b.buf, b.first.Raw[b.first.TextEnd:]...)
	r = Run{ID: b.id, Kind: b.first.Chunk, MessageID: b.first.MessageID, ACP: b.acp, Payload: payload}
	*b = Buffer{max: b.max}
	return r, true
}
