package kernel

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"agentos/protocol"
)

// Env is what the actors of one node share. Its fields are set before the first
// actor starts and not changed.
type Env struct {
	Log    *zap.Logger
	Clock  func() time.Time
	IDs    func() string // no call returns what another has, on any machine
	Limits protocol.Limits

	epochs atomic.Uint64
}

// Now returns the time to store.
func (e *Env) Now() protocol.TimeMS { return protocol.TimeOf(e.Clock()) }

// NextEpoch returns a number that is larger than every one before: the name of
// one life of one machine.
func (e *Env) NextEpoch() uint64 { return e.epochs.Add(1) }

// Fault returns what a caller is shown of err. An error that carries no code
// becomes an internal one, and what it hides is logged under the same id.
func (e *Env) Fault(what string, err error) *protocol.Error {
	id := protocol.ErrorID(e.IDs())
	pe := protocol.AsError(err, id)
	if pe.Code == protocol.CodeInternal {
		e.Log.Error(what, zap.String("errorId", string(id)), zap.Error(err))
	}
	return pe
}

// Meant is the value of a panic that is meant: an actor that cannot go on and
// has logged why. The guard adds nothing to it.
type Meant struct{ Cause error }
