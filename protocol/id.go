package protocol

import "time"

// Identifiers have types of their own so that the compiler finds swapped
// arguments. All are opaque, non-empty when set, and at most MaxIDBytes long.
type (
	// SessionID is the public name of a session. It never changes, whatever
	// happens to the adapter behind it.
	SessionID string
	// PromptID names one prompt and the turn it starts.
	PromptID string
	// RequestID is the public name of a permission request; the adapter's own
	// JSON-RPC id never leaves its route.
	RequestID string
	// MessageID groups the blocks of one message.
	MessageID string
	// ACPSessionID is the adapter's private name for a session. It may change
	// over the life of a SessionID.
	ACPSessionID string
	// RunID names one run of chunks while it is open; it is not stored.
	RunID string
	// ErrorID ties an internal error that somebody was shown to the log line
	// that holds its cause.
	ErrorID string
)

// MaxIDBytes bounds every identifier (sessions.md S3).
const MaxIDBytes = 256

// DefaultSession is the session that is meant when none is named (S6.1).
const DefaultSession SessionID = "main"

// Sequence numbers the durable events of one session from 1, without a gap.
// Zero means "before the first event".
type Sequence int64

// MaxSequence is the largest sequence or revision: 2^53-1, the largest integer
// that every JSON reader keeps exact.
const MaxSequence Sequence = 1<<53 - 1

// TimeMS is a moment in milliseconds since the Unix epoch.
type TimeMS int64

// TimeOf converts t, dropping what is finer than a millisecond.
func TimeOf(t time.Time) TimeMS { return TimeMS(t.UnixMilli()) }

// Time returns t in UTC.
func (t TimeMS) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String formats t as RFC 3339 in UTC with milliseconds, as every output does.
func (t TimeMS) String() string { return t.Time().Format("2006-01-02T15:04:05.000Z") }

// ValidSessionID reports a *Error with CodeInvalidSessionID unless id can name
// a session: 1 to MaxIDBytes bytes of UTF-8 without control characters.
func ValidSessionID(id SessionID) error {
	if n := len(id); n == 0 || n > MaxIDBytes {
		return Errorf(CodeInvalidSessionID, "a session id has 1 to %d bytes, this one has %d", MaxIDBytes, n)
	}
	for _, r := range string(id) {
		if r < 0x20 || r == 0x7f || r == '\uFFFD' {
			return Errorf(CodeInvalidSessionID, "a session id is UTF-8 text without control characters: %q", string(id))
		}
	}
	return nil
}
