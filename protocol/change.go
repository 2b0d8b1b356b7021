package protocol

// A Change is one durable step of a session. The session machine produces
// changes, its apply is the only place where state follows from them, and
// persistence/core writes them; what both make of a change is pinned by a test
// that compares the machine with the rows.
//
// The session row itself is not described by changes: a Batch carries its final
// values, so a group of batches costs one row update a session.
type Change interface{ change() }

// The changes.
type (
	// SessionOpened creates the session's row with the values of Record.
	SessionOpened struct{ Record Record }
	// EventAppended adds one event; Event.Sequence follows the one before.
	EventAppended struct{ Event Event }
	// PromptAccepted adds a prompt in PromptAcceptedState and makes the session
	// running. Its input events follow in the same batch.
	PromptAccepted struct{ Prompt Prompt }
	// PromptEnded gives the accepted prompt its one end. Prompt is the whole
	// record; State is completed or failed. Permission records of the prompt
	// become outcomes in the same batch, each by a PermissionClosed before it.
	PromptEnded struct{ Prompt Prompt }
	// PermissionOpened adds a pending permission record.
	PermissionOpened struct{ Permission Permission }
	// PermissionClosed gives a pending permission its one end. Permission is the
	// whole record; State is responded or terminal.
	PermissionClosed struct{ Permission Permission }
	// AdapterBound replaces the adapter binding of the record. Storage writes the
	// values of Batch.Row, which are these or later ones.
	AdapterBound struct {
		ACPSession   ACPSessionID
		Prompted     bool
		Armed        bool
		RestoredBy   RestoredBy
		PreviousACP  []byte
		Capabilities []byte
		AgentInfo    []byte
	}
	// ProfileChanged replaces config options, title and metadata; storage writes
	// the values of Batch.Row.
	ProfileChanged struct {
		ConfigRevision int64
		ConfigOptions  []byte
		Title          *string
		Metadata       []byte
	}
	// SessionDeleted marks the session as deleted: nothing shows it any more, and
	// its rows are swept in slices (S9.3). It is the last change of its batch and of
	// its session.
	SessionDeleted struct{}
	// PromptQueued puts a prompt behind the others that wait (S6.9).
	PromptQueued struct{ Queued Queued }
	// QueueEdited replaces the content of a queued prompt.
	QueueEdited struct {
		ID      PromptID
		Content []byte
		Hash    [32]byte
	}
	// QueueRemoved takes a prompt out of the queue: its turn begins in the same
	// batch, or it was not wanted any more.
	QueueRemoved struct{ ID PromptID }
	// LaunchChanged replaces agent and launch (S6.1); storage writes the values
	// of Batch.Row.
	LaunchChanged struct {
		Agent  string
		Launch *Launch
	}
)

func (SessionOpened) change()    {}
func (EventAppended) change()    {}
func (PromptAccepted) change()   {}
func (PromptEnded) change()      {}
func (PermissionOpened) change() {}
func (PermissionClosed) change() {}
func (AdapterBound) change()     {}
func (ProfileChanged) change()   {}
func (SessionDeleted) change()   {}
func (PromptQueued) change()     {}
func (QueueEdited) change()      {}
func (QueueRemoved) change()     {}
func (LaunchChanged) change()    {}

// Base is what a session's row must be for a Batch to continue it: the
// compare-and-set that keeps history free of gaps and a session free of two
// running prompts.
type Base struct {
	Exists bool // false: the batch creates the row, the other fields are zero
	Latest Sequence
	State  State
	Prompt PromptID
}

// Batch is one atomic write of one session: durable entirely or not at all.
type Batch struct {
	Session SessionID
	Base    Base
	Changes []Change
	Row     Record // the session's row after the last change
}

// Bytes returns the payload bytes that b carries, for bounds on groups.
func (b Batch) Bytes() int {
	n := 0
	for _, c := range b.Changes {
		switch c := c.(type) {
		case EventAppended:
			n += len(c.Event.Payload)
		case PromptEnded:
			n += len(c.Prompt.Result) + len(c.Prompt.Error)
		case PromptQueued:
			n += len(c.Queued.Content)
		case QueueEdited:
			n += len(c.Content)
		case ProfileChanged:
			n += len(c.ConfigOptions) + len(c.Metadata)
		case PermissionOpened:
			n += len(c.Permission.Request)
		case PermissionClosed:
			n += len(c.Permission.Request) + len(c.Permission.Response)
		}
	}
	return n
}
