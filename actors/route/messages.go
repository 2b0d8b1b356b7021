package route

import (
	"time"

	"agentos/adapters"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
)

// Setup is what the routes of a node have in common.
type Setup struct {
	Launch Launcher
	// Patience with an adapter that is coming up: with initialize, and with
	// having its session (S13).
	Patience adapters.Patience
	// CallLimit is how long an adapter may take for a setting, or for all stored
	// ones together; 0 means that of adapters.CallPatience.
	CallLimit time.Duration
	// ClientName and ClientVersion introduce the runtime to adapters.
	ClientName, ClientVersion string
	// Diagnostic hears of adapter output that had to be skipped or mended; it
	// runs on a reader and must not block. May be nil.
	Diagnostic func(protocol.SessionID, jsonrpc.Diagnostic)
	// Workspace returns the directory of a VM on this machine that stands in for
	// the home of a virtual machine; nil, or "", if there is none (S6.1).
	Workspace func(vm string) string
	// Notice hears what a person should know of a session's adapter. It must not
	// block. May be nil.
	Notice func(id protocol.SessionID, text string)
}

// The messages from a route to its session. The route's number, in the inputs
// too, says which life of the connection they belong to. Down is the last.
type (
	// Up says that the adapter is ready for prompts.
	Up struct {
		Route   sessions.Route
		Binding sessions.Binding
	}
	// Down says that the route has ended, whether it was ever up or not.
	Down struct {
		Route sessions.Route
		Cause *protocol.Error
	}
	// Update carries a session/update. Grant MUST be released when it is durable.
	Update struct {
		Input sessions.Update
		Grant Grant
	}
	// Ask carries a session/request_permission. Grant as above.
	Ask struct {
		Input sessions.Ask
		Grant Grant
	}
	// Answered carries the answer to a dispatched prompt.
	Answered struct{ Input sessions.Answered }
	// Configured carries the answer to a setting.
	Configured struct{ Input sessions.Configured }
)

// The messages from a session to its route, after Up.
type (
	// Dispatch sends a prompt.
	Dispatch struct{ sessions.Dispatch }
	// Configure asks for a setting.
	Configure struct{ sessions.SetConfig }
	// Cancel sends session/cancel.
	Cancel struct{ sessions.SendCancel }
	// Answer answers a request of the adapter.
	Answer struct{ sessions.AnswerCall }
	// Stop ends the route, at any time. Down follows.
	Stop struct{}
)
