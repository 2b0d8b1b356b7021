package route

import (
	"context"
	"time"

	"agentos/adapters"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// Adapter is a running adapter process and its connection, as a route drives
// it. *adapters.Client is the real one.
type Adapter interface {
	// Peer carries the traffic.
	Peer() *jsonrpc.Peer
	// Request is a call with an end: an answer, the adapter's exit, or
	// impatience. Its errors are *protocol.Error but for an *jsonrpc.Error.
	Request(ctx context.Context, method string, params []byte, p adapters.Patience) (jsonrpc.Response, error)
	// Exited is closed when the process has ended and everything that it said
	// was handed over.
	Exited() <-chan struct{}
	// ExitError says how the process ended. It is valid after Exited.
	ExitError(during string) *protocol.Error
	// Stop ends the process and all that it has started, in bounded time.
	Stop(adapters.Grace) error
}

// Hooks are how an adapter reports to its route. They run on its reader
// goroutine.
type Hooks struct {
	Message    jsonrpc.Handler
	Diagnostic func(jsonrpc.Diagnostic)
}

// Launcher starts the adapter of the session that rec describes. Its errors are
// *protocol.Error.
type Launcher func(ctx context.Context, rec protocol.Record, h Hooks) (Adapter, error)

// Processes returns the Launcher of real adapters: programs of the catalog or of
// the session's own Launch, each under a guard. guard is the guard's command
// line; base is the environment that adapters may inherit from; maxLine bounds
// one line of theirs.
func Processes(guard, base []string, maxLine int64) Launcher {
	return func(ctx context.Context, rec protocol.Record, h Hooks) (Adapter, error) {
		spec, err := adapters.SpecOf(rec.Spec, base)
		if err != nil {
			return nil, err
		}
		client, err := adapters.Start(ctx, spec, adapters.Options{
			Guard: guard, MaxLineBytes: maxLine, OnMessage: h.Message, OnDiagnostic: h.Diagnostic,
		})
		if err != nil {
			return nil, err
		}
		return client, nil
	}
}

// Patience with an adapter (S13).
var (
	closePatience = adapters.Patience{Silence: 2 * time.Second, Max: 5 * time.Second}
)

// Bounds of bringing a route up and down.
const (
	retryPause    = time.Second            // before a fresh process gets a second chance (S10.2)
	replayQuiet   = 80 * time.Millisecond  // silence that ends what a restored session replays late
	replayMax     = 500 * time.Millisecond // and its end in any case
	teardownLimit = 30 * time.Second       // a route's end, all its bounded steps together
)
