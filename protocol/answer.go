package protocol

// Answer is what a prompt's caller gets when its turn has ended well (S6.6).
type Answer struct {
	Session    SessionID
	Prompt     PromptID
	StopReason string   // as the adapter said it; "cancelled" for a cancelled turn
	Message    *Message // nil if the agent said nothing after the last user event
	RestoredBy RestoredBy
	Forced     bool // cancelled, and the adapter had to be stopped for it (S9.2)
}

// Message is the agent's last message of a turn.
type Message struct {
	ID      MessageID // "" if the adapter names no messages
	Content [][]byte  // raw content blocks, merged as stored
}

// StopCancelled is the stop reason of a cancelled turn.
const StopCancelled = "cancelled"
