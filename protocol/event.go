package protocol

// EventKind is how an event is stored. It is not shown to the public, where an
// update is known by its ACP name.
type EventKind string

// The stored kinds (S3). The text is in databases: never rename one.
const (
	KindUpdate             EventKind = "session_update"
	KindPermissionRequest  EventKind = "permission_request"
	KindPermissionResponse EventKind = "permission_response"
)

// OutcomeStatus says whether a permission response answered a pending request.
type OutcomeStatus string

// The outcome statuses of a permission_response event.
const (
	OutcomeAccepted   OutcomeStatus = "accepted"
	OutcomeNotPending OutcomeStatus = "not_pending"
)

// Reason says why a permission request is no longer pending.
type Reason string

// The terminal reasons (S3). ReasonAccepted is for records and outcomes only;
// an event that accepted carries no reason.
const (
	ReasonAccepted        Reason = "accepted"
	ReasonAlreadyResolved Reason = "already_resolved"
	ReasonPromptCancelled Reason = "prompt_cancelled"
	ReasonAdapterExited   Reason = "adapter_exited"
	ReasonSessionDeleted  Reason = "session_deleted"
	ReasonVMShutdown      Reason = "vm_shutdown"
)

// Event is one durable, numbered fact of a session's history.
type Event struct {
	Sequence Sequence // >= 1, the successor of the one before
	At       TimeMS   // never before the event before it (S3)
	ACP      int      // protocol version the payload was spoken in, >= 1
	Kind     EventKind
	Request  RequestID // permission events only
	// Payload is the ACP payload as received, byte for byte (S4.1): the value of
	// params.update, the params of a permission request with the public session
	// id, or a permission result.
	Payload    []byte
	Status     OutcomeStatus // permission_response only
	Reason     Reason        // permission_response with OutcomeNotPending only
	Incomplete bool          // stored by recovery; more may have been shown
	// Run names the run of chunks this event closes. It is set when the event is
	// published live and empty in history (S5.2).
	Run RunID
}

// Delta is a live piece of an open run. It has no number and is never stored;
// it may be lost, and what was lost is in the run's durable event (S5.2).
type Delta struct {
	After   Sequence // the last event published before it
	Run     RunID
	Offset  int64 // bytes of the run's text before this piece
	ACP     int
	Payload []byte // the update as received
}
