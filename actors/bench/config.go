package bench

import (
	"agentos/actors/store"
)

// Config is what is measured, and where.
type Config struct {
	// Dir is where databases are made and removed again. On a file system in
	// memory the flush of a commit is free, which makes every ratio worse.
	Dir string
	// Sources takes the lock of a database and makes it if it is missing, as the
	// program does that is measured.
	Sources store.Sources
	// Bare opens the database at a path with the driver alone.
	Bare func(path string) (Bare, error)
	// Agent is the command of the built-in agent, Guard that of the guard in front
	// of adapters. The runtime finds the agent by itself; Agent is for speaking to
	// it directly. Both MUST be this same program.
	Agent, Guard []string
	// Env is what both agents may inherit from.
	Env []string
	// AgentEnv is given to both agents beside it; may be nil.
	AgentEnv map[string]string
	// Events is how long a long history is; 0 means DefaultEvents, which is what
	// the targets are about. Everything else that is large is made in proportion.
	Events int
}

// DefaultEvents is the history that a VM wakes up with.
const DefaultEvents = 100_000

// events returns how long a long history is, but at least that many.
func (c Config) events(least int) int {
	n := c.Events
	if n == 0 {
		n = DefaultEvents
	}
	return max(n, least)
}

// Bare is a connection of the driver without anything of ours: it writes, on the
// settings of the runtime's writer. It is used by one goroutine at a time.
type Bare interface {
	// Exec prepares a statement that writes. The function runs it and returns
	// how many rows it changed.
	Exec(sql string) (func(args ...any) (changed int64, err error), error)
	// Rows prepares a statement that reads. The function shows every row to
	// visit, which does not keep it.
	Rows(sql string) (func(visit func(row []any), args ...any) error, error)
	// Close closes the connection and its statements.
	Close() error
}
