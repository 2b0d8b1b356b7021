package protocol

import "encoding/json"

// State is the durable state of a session.
type State string

// The states (S3). A session that is not idle names the prompt it is about.
const (
	StateIdle    State = "idle"
	StateRunning State = "running" // a prompt was accepted and has not ended
	StateWaiting State = "waiting" // running, and a permission is pending
	StateFailed  State = "failed"  // the last prompt failed; a new one is welcome
)

// Policy decides permission requests. It never changes over a session's life.
type Policy string

// The policies (S8.1).
const (
	PolicyAsk       Policy = "ask"
	PolicyAllowAll  Policy = "allow_all"
	PolicyRejectAll Policy = "reject_all"
)

// RestoredBy says how the adapter session behind a turn came to be (S6.6).
type RestoredBy string

// The ways an adapter session is had.
const (
	RestoredLive         RestoredBy = "live"         // it was still there
	RestoredResume       RestoredBy = "resume"       // session/resume
	RestoredLoad         RestoredBy = "load"         // session/load
	RestoredContinuation RestoredBy = "continuation" // session/new with history in front
	RestoredNew          RestoredBy = "new"          // session/new, nothing to restore
)

// Launch is the command of an agent that is not in the catalog.
type Launch struct {
	Argv []string `json:"argv"`          // program and arguments; at least one
	Env  []string `json:"env,omitempty"` // names to inherit from the runtime's environment
}

// Spec is what a session was opened with. It is stored, secrets included (S15),
// so that the session can be restored after sleep; it must not be logged.
type Spec struct {
	Agent                  string  // catalog name, or the program's base name with Launch
	Launch                 *Launch // nil for an agent of the catalog
	Cwd                    string  // absolute
	AdditionalDirectories  []string
	Env                    map[string]string
	MCPServers             json.RawMessage // JSON array; nil means []
	Policy                 Policy
	AdditionalInstructions string
	SkipOSInstructions     bool
}

// Record is the durable state of one session: its row.
//
// Invariant: State is StateIdle iff Prompt is "" and StartedAt is 0.
type Record struct {
	ID        SessionID
	Spec      Spec
	State     State
	Prompt    PromptID // the running, waiting or failed prompt
	StartedAt TimeMS   // when Prompt was accepted

	// The adapter binding: what the last live adapter session was and said.
	ACPSession   ACPSessionID // "" before the first
	Prompted     bool         // ACPSession was ever prompted
	Armed        bool         // ACPSession still needs its continuation (S10.5)
	RestoredBy   RestoredBy   // "" before the first
	PreviousACP  []byte       // JSON array of adapter ids kept aside; nil means []
	Capabilities []byte       // raw initialize result's capabilities; nil if unknown
	AgentInfo    []byte       // raw; nil if unknown

	ConfigRevision int64
	ConfigOptions  []byte  // JSON array; nil means []
	Title          *string // nil if none
	Metadata       []byte  // raw JSON; nil if none

	Latest         Sequence // of the newest event; 0 before the first
	OldestRetained Sequence // >= 1; Latest+1 when everything was pruned
	RetainedEvents int64
	RetainedBytes  int64 // payload bytes
	CreatedAt      TimeMS
	UpdatedAt      TimeMS // the newest prompt or end of one
	LastAt         TimeMS // the newest time stored for this session; times never go back (S3)
}

// PromptState is the durable state of a prompt.
type PromptState string

// The prompt states (S3); cancelled is read from older databases, never written.
const (
	PromptAcceptedState  PromptState = "accepted"
	PromptCompletedState PromptState = "completed"
	PromptFailedState    PromptState = "failed"
	PromptCancelledState PromptState = "cancelled"
)

// Prompt is the durable record of one prompt. Its content is in the user events
// from FirstInput on.
type Prompt struct {
	ID         PromptID
	Key        string // idempotency key; "" if none
	Hash       [32]byte
	State      PromptState
	FirstInput Sequence
	LastOutput Sequence // 0 while accepted
	Result     []byte   // JSON, completed only
	Error      []byte   // JSON of an Error, failed and cancelled only
	CreatedAt  TimeMS
	UpdatedAt  TimeMS
}

// Queued is a prompt that waits for its turn (S6.9). It has no events yet: its
// content is here.
type Queued struct {
	ID        PromptID // of the prompt it becomes
	Position  int64    // from 1, ascending in the queue; 0 for one whose turn has begun
	Content   []byte   // JSON array of raw content blocks
	Hash      [32]byte
	Key       string // idempotency key; "" if none
	CreatedAt TimeMS
}

// PermissionState is the durable state of a permission request.
type PermissionState string

// The permission states (S3).
const (
	PermissionPending   PermissionState = "pending"
	PermissionResponded PermissionState = "responded"
	PermissionTerminal  PermissionState = "terminal"
)

// Permission is the durable record of one permission request of a running turn.
type Permission struct {
	ID        RequestID
	Prompt    PromptID
	State     PermissionState
	Request   []byte   // the public request payload
	Response  []byte   // the result given, responded only
	Reason    Reason   // set unless pending
	Sequence  Sequence // of the response event; 0 while pending
	CreatedAt TimeMS
	UpdatedAt TimeMS
}

// Snapshot is all that the machine of one session is rebuilt from. Its size
// does not depend on the length of the history.
type Snapshot struct {
	Record  Record
	Active  *Prompt      // the accepted prompt; nil unless running or waiting
	Pending []Permission // in the order they were asked
	Failure []byte       // JSON of the Error that failed Record.Prompt; nil unless failed
	Queue   []Queued     // by position
}

// Info returns the public description of the session.
func (s Snapshot) Info() SessionInfo {
	r := s.Record
	return SessionInfo{
		ID: r.ID, Agent: r.Spec.Agent, Cwd: r.Spec.Cwd, AdditionalDirectories: r.Spec.AdditionalDirectories,
		State: r.State, Prompt: r.Prompt, Error: s.Failure,
		LatestSequence: r.Latest, OldestRetainedSequence: r.OldestRetained,
		RetainedEvents: r.RetainedEvents, RetainedBytes: r.RetainedBytes,
		Title: r.Title, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// SessionInfo is the public description of a session (S11.1). It carries no
// environment and no MCP server: those hold secrets.
type SessionInfo struct {
	ID                     SessionID
	Agent                  string
	Cwd                    string
	AdditionalDirectories  []string
	State                  State
	Prompt                 PromptID
	Error                  json.RawMessage // why a failed session failed
	LatestSequence         Sequence
	OldestRetainedSequence Sequence
	RetainedEvents         int64
	RetainedBytes          int64
	Title                  *string
	CreatedAt              TimeMS
	UpdatedAt              TimeMS
}
