package actors

import (
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/actors/route"
	"agentos/actors/store"
	"agentos/adapters"
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
	Sources store.Sources
	// Adapters starts the adapter of a session.
	Adapters Launcher
	// Patience with an adapter that is coming up; the zero value means
	// adapters.SetupPatience.
	Patience adapters.Patience
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
	// Workspace returns the directory on this machine that stands in for the home
	// of a VM that AgentOS made, /home/agentos (S6.1); nil, or "", if none does.
	Workspace func(vm string) string
	// Notice hears what a person should know of a session's adapter; it must not
	// block. May be nil.
	Notice func(id protocol.SessionID, text string)
	// ClientName and ClientVersion introduce the runtime to adapters.
	ClientName, ClientVersion string
}

// Host is the orchestrator that decides when a VM sleeps (S13). Its methods are
// called from actors and must not block.
type Host interface {
	Hold(vm string, reason string)
	Release(vm string, reason string)
}

// env is what the actors of this package share, and what they give to the ones
// below.
type env struct {
	kernel.Env
	host    Host
	sources store.Sources
	routes  route.Setup
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
	if c.Patience == (adapters.Patience{}) {
		c.Patience = adapters.SetupPatience()
	}
	if c.IDs == nil {
		c.IDs = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if c.Host == nil {
		c.Host = nobody{}
	}
	return &env{
		Env:     kernel.Env{Log: c.Log, Clock: c.Clock, IDs: c.IDs, Limits: c.Limits},
		host:    c.Host,
		sources: c.Sources,
		routes: route.Setup{
			Launch: c.Adapters, Patience: c.Patience, ClientName: c.ClientName, ClientVersion: c.ClientVersion,
			Diagnostic: c.Diagnostic, Workspace: c.Workspace, Notice: c.Notice,
		},
	}
}

func (e *env) sessionConfig(name string, first sessions.Route) sessions.Config {
	return sessions.Config{Limits: e.Limits, Name: name, FirstRoute: first}
}

type nobody struct{}

func (nobody) Hold(string, string)    {}
func (nobody) Release(string, string) {}
