package actors

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"agentos/persistence"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
)

// Clock tells the time; tests replace it.
type Clock func() time.Time

// IDs makes identifiers; tests replace it. A call returns a string that no call
// has returned before, on any machine.
type IDs func() string

// Config is what a node runs on. Sources is required.
type Config struct {
	// Sources finds the database behind a descriptor and takes its lock. The
	// command line chooses the handle; this package knows the port only.
	Sources func(protocol.Descriptor) (persistence.Source, error)
	// Adapters starts the adapter of a session.
	Adapters Launcher
	// Limits of every VM; the zero value means protocol.DefaultLimits.
	Limits protocol.Limits
	// Log receives what operators need; nil means silence.
	Log *zap.Logger
	// Clock and IDs default to the real ones.
	Clock Clock
	IDs   IDs
	// Host is told what keeps a VM awake; nil if nobody asks.
	Host Host
	// Diagnostic hears of adapter output that had to be skipped or mended; it is
	// called from an adapter's reader and must not block. May be nil.
	Diagnostic func(protocol.SessionID, jsonrpc.Diagnostic)
	// ClientName and ClientVersion introduce the runtime to adapters.
	ClientName, ClientVersion string
}

// Host is the orchestrator that decides when a VM sleeps (S13). Its methods are
// called from actors and must not block.
type Host interface {
	Hold(vm string, reason string)
	Release(vm string, reason string)
}

// env is a Config with its gaps filled, shared by all actors of a node.
type env struct {
	Config
	log    *zap.Logger
	epochs atomic.Uint64
}

func newEnv(c Config) *env {
	if c.Limits == (protocol.Limits{}) {
		c.Limits = protocol.DefaultLimits()
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.IDs == nil {
		c.IDs = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if c.Host == nil {
		c.Host = nobody{}
	}
	return &env{Config: c, log: c.Log}
}

func (e *env) now() protocol.TimeMS { return protocol.TimeOf(e.Clock()) }

// fault turns an error that carries no code into an internal one and logs what
// it hides.
func (e *env) fault(what string, err error) *protocol.Error {
	id := protocol.ErrorID(e.IDs())
	pe := protocol.AsError(err, id)
	if pe.Code == protocol.CodeInternal {
		e.log.Error(what, zap.String("errorId", string(id)), zap.Error(err))
	}
	return pe
}

func (e *env) sessionConfig(name string, first sessions.Route) sessions.Config {
	return sessions.Config{Limits: e.Limits, Name: name, FirstRoute: first}
}

type nobody struct{}

func (nobody) Hold(string, string)    {}
func (nobody) Release(string, string) {}
