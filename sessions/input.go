package sessions

import (
	"agentos/protocol"
	"agentos/protocol/acp"
)

// Token names a caller that waits for a Reply. The machine hands it back and
// does not look inside. The zero Token means that nobody waits.
type Token uint64

// Route numbers the adapter connections of one session. Inputs of any but the
// current one are ignored: they are late (rule "epochs on everything").
type Route uint64

// Call is the route's own name for a JSON-RPC request of the adapter.
type Call string

// Field names a part of a Spec that an Open gave explicitly.
type Field uint

// The fields that Open compares with an existing session (S6.1).
const (
	FieldAgent Field = 1 << iota
	FieldCwd
	FieldDirectories
	FieldEnv
	FieldMCPServers
	FieldPolicy
	FieldInstructions
	FieldSkipOS
)

// IfAsked says what a prompt does when the adapter asks for a permission that
// the policy leaves to a person (S8.4).
type IfAsked int

// The answers to "is anybody there?".
const (
	WaitForAnswer IfAsked = iota // keep the request pending
	EndTurn                      // nobody can be asked: end the turn with permission_required
)

// Input is one thing that happened to a session.
type Input interface{ at() protocol.TimeMS }

// The inputs. At is the owner's clock; the machine never lets stored times go
// back.
type (
	// Open creates the session or compares the Given fields with what it has.
	Open struct {
		Token Token
		Spec  protocol.Spec
		Given Field
		At    protocol.TimeMS
	}
	// Prompt asks for one turn. ID, Message and Blocks are the caller's to make.
	Prompt struct {
		Token   Token
		Open    *Open // opens the session first if it does not exist; its Token is 0
		ID      protocol.PromptID
		Message protocol.MessageID // of the user's message
		Blocks  [][]byte           // raw content blocks, at least one
		Hash    [32]byte
		Key     string // idempotency key; "" if none (S6.8)
		IfAsked IfAsked
		// Queue puts the prompt behind the others if the session is busy, instead of
		// refusing it (S6.9). With NoWait, which goes with Queue only, it is queued in
		// any case, and the Reply comes when that is stored.
		Queue, NoWait bool
		// Now lets the prompt pass the queue, if the session runs nothing.
		Now bool
		At  protocol.TimeMS
	}
	// KeyFound answers FindKey: what is stored under the key, nil if nothing is, or
	// Err if that could not be read.
	KeyFound struct {
		Key    string
		Stored *StoredKey
		Err    *protocol.Error
		At     protocol.TimeMS
	}
	// RouteUp reports that the adapter is ready for prompts.
	RouteUp struct {
		Route   Route
		Binding Binding
		At      protocol.TimeMS
	}
	// RouteDown reports that a route has ended, whether it was ever up or not, and
	// why: Cause is never nil. Nothing else comes from it.
	RouteDown struct {
		Route Route
		Cause *protocol.Error
		At    protocol.TimeMS
	}
	// Update is one session/update of the adapter.
	Update struct {
		Route  Route
		Update acp.Update
		At     protocol.TimeMS
	}
	// Ask is a session/request_permission of the adapter. Request is the public
	// id that the owner made for it.
	Ask struct {
		Route   Route
		Call    Call
		Request protocol.RequestID
		Params  []byte // raw
		At      protocol.TimeMS
	}
	// Answered is the adapter's answer to a dispatched prompt: StopReason, or Err.
	Answered struct {
		Route      Route
		Prompt     protocol.PromptID
		StopReason string
		Err        *protocol.Error
		At         protocol.TimeMS
	}
	// Permit answers a pending permission.
	Permit struct {
		Token   Token
		Request protocol.RequestID
		Option  string
		At      protocol.TimeMS
	}
	// QueueEdit replaces the content of a queued prompt.
	QueueEdit struct {
		Token  Token
		ID     protocol.PromptID
		Blocks [][]byte
		Hash   [32]byte
		At     protocol.TimeMS
	}
	// QueueRemove takes a prompt out of the queue; who waits for it is told that it
	// was cancelled.
	QueueRemove struct {
		Token Token
		ID    protocol.PromptID
		At    protocol.TimeMS
	}
	// QueueResume goes on with a queue that is paused, or that nobody drains.
	QueueResume struct {
		Token Token
		At    protocol.TimeMS
	}
	// Configure sets something about how the agent works. If no adapter is up, one
	// is brought up for it, with nothing prompted. The Reply comes when what the
	// agent says to it is stored. ID is the caller's to make.
	Configure struct {
		Token   Token
		ID      string // names it: the VM is held under it
		Setting protocol.Setting
		At      protocol.TimeMS
	}
	// Configured answers SetConfig, whose Token and Setting it has: Options are the
	// raw config options that the agent answered with, nil if it said none, or Err
	// is why it did not take the setting.
	Configured struct {
		Route   Route
		Token   Token
		Setting protocol.Setting
		Options []byte
		Err     *protocol.Error
		At      protocol.TimeMS
	}
	// Cancel asks the turn of Prompt to end; "" means the current one.
	Cancel struct {
		Token  Token
		Prompt protocol.PromptID
		At     protocol.TimeMS
	}
	// Unload ends the turn as interrupted and stops the route; history stays.
	// The Reply comes when both are done.
	Unload struct {
		Token Token
		At    protocol.TimeMS
	}
	// Delete ends the turn, stops the route and takes the session away, history and
	// all. The Reply comes when the mark is stored and the route is down; Deleted
	// follows it, and the machine takes nothing any more but the end of routes.
	Delete struct {
		Token Token
		At    protocol.TimeMS
	}
	// Settle ends what a lost runtime or a failed write has left running (S6.10).
	// Cause is why; it becomes the prompt's error.
	Settle struct {
		Cause  *protocol.Error
		Reason protocol.Reason // for pending permissions
		At     protocol.TimeMS
	}
	// Tick says that Ready.Timer may have been reached.
	Tick struct{ At protocol.TimeMS }
)

func (i Open) at() protocol.TimeMS        { return i.At }
func (i Prompt) at() protocol.TimeMS      { return i.At }
func (i KeyFound) at() protocol.TimeMS    { return i.At }
func (i RouteUp) at() protocol.TimeMS     { return i.At }
func (i RouteDown) at() protocol.TimeMS   { return i.At }
func (i Update) at() protocol.TimeMS      { return i.At }
func (i Ask) at() protocol.TimeMS         { return i.At }
func (i Answered) at() protocol.TimeMS    { return i.At }
func (i Permit) at() protocol.TimeMS      { return i.At }
func (i QueueEdit) at() protocol.TimeMS   { return i.At }
func (i QueueRemove) at() protocol.TimeMS { return i.At }
func (i QueueResume) at() protocol.TimeMS { return i.At }
func (i Configure) at() protocol.TimeMS   { return i.At }
func (i Configured) at() protocol.TimeMS  { return i.At }
func (i Cancel) at() protocol.TimeMS      { return i.At }
func (i Unload) at() protocol.TimeMS      { return i.At }
func (i Delete) at() protocol.TimeMS      { return i.At }
func (i Settle) at() protocol.TimeMS      { return i.At }
func (i Tick) at() protocol.TimeMS        { return i.At }

// StoredKey is what became of the prompt that an idempotency key was used for:
// Answer or Err.
type StoredKey struct {
	Hash   [32]byte
	Answer *protocol.Answer
	Err    *protocol.Error
}

// Binding is what bringing a route up has established. Config options and modes
// are those after what was stored of them has been set again (S10.4).
type Binding struct {
	ACP           int // negotiated protocol version
	ACPSession    protocol.ACPSessionID
	RestoredBy    protocol.RestoredBy
	Capabilities  []byte // raw; nil if the adapter said none
	AgentInfo     []byte // raw; nil if the adapter said none
	ConfigOptions []byte // raw array; nil if the adapter said none
	Modes         []byte // raw object; nil if the adapter said none
}
