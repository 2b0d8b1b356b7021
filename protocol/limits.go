package protocol

// Limits are the bounds of one VM (S12). The zero value of a field is not "no
// limit": start from DefaultLimits.
type Limits struct {
	SessionHistoryEvents      int64
	SessionHistoryBytes       int64
	SessionsPerVM             int64
	PromptsPerSession         int64
	PromptsPerVM              int64
	QueuedPrompts             int64 // a session's; limits.acp.maxQueuedPromptsPerSession
	PendingPermissionsSession int64
	PendingPermissionsVM      int64
	OutcomesPerSession        int64
	OutcomesPerVM             int64
	PromptBytes               int64
	PromptBlocks              int64
	ContinuationBytes         int64
	HistoryPageEntries        int64
	SessionListEntries        int64
	ReadLineBytes             int64
	CompletedMessageBytes     int64
	TurnOutputBytes           int64
	ResultBytes               int64 // limits.sqlite.maxResultBytes
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// DefaultLimits returns the defaults of S12.
func DefaultLimits() Limits {
	return Limits{
		SessionHistoryEvents:      1_000_000,
		SessionHistoryBytes:       gib,
		SessionsPerVM:             10_000,
		PromptsPerSession:         100_000,
		PromptsPerVM:              1_000_000,
		QueuedPrompts:             1_000,
		PendingPermissionsSession: 1_000,
		PendingPermissionsVM:      10_000,
		OutcomesPerSession:        10_000,
		OutcomesPerVM:             100_000,
		PromptBytes:               64 * mib,
		PromptBlocks:              16_384,
		ContinuationBytes:         4 * mib,
		HistoryPageEntries:        10_000,
		SessionListEntries:        10_000,
		ReadLineBytes:             64 * mib,
		CompletedMessageBytes:     64 * mib,
		TurnOutputBytes:           256 * mib,
		ResultBytes:               128 * mib,
	}
}

// HistoryPageBytes ends a history page early (S11.2); a page has at least one
// event whatever its size.
const HistoryPageBytes = 8 * mib

// DefaultHistoryPage and DefaultSessionPage are the page sizes when none is given (S11).
const (
	DefaultHistoryPage = 100
	DefaultSessionPage = 50
)

// MaxJSONDepth is how deeply JSON may nest: SQLite's own bound (S4.3).
const MaxJSONDepth = 1000
