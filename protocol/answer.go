package protocol

// Answer is what a prompt's caller gets when its turn has ended well (S6.6).
type Answer struct {
	Session    SessionID
	Prompt     PromptID
	StopReason string   // as the adapter said it; "cancelled" for a cancelled turn
	Message    *Message // nil if the agent said nothing after the last user event
	RestoredBy RestoredBy
	Forced     bool // cancelled, and the adapter had to be stopped for it (S9.2)
	// Recalled says that no turn was run for this: it is what an earlier prompt
	// with the same idempotency key got (S6.8).
	Recalled bool
	// Stored is the raw result object of an older runtime, which is handed out as
	// it is (S6.6); nil for our own. The fields above say what could be read in it.
	Stored []byte
}

// PermissionAnswer is what the caller of a permission's answer gets (S8.3).
type PermissionAnswer struct {
	Status OutcomeStatus // accepted, or not_pending for one that came too late
	Reason Reason        // how the request had ended by then; "" if accepted
}

// Message is the agent's last message of a turn.
type Message struct {
	ID      MessageID // "" if the adapter names no messages
	Content [][]byte  // raw content blocks, merged as stored
}

// StopCancelled is the stop reason of a cancelled turn.
const StopCancelled = "cancelled"
