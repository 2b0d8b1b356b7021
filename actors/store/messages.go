package store

import (
	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/kernel"
	"agentos/persistence"
	"agentos/protocol"
)

// Commit asks the store to make Batch durable and to tell ReplyTo, by Stored,
// what became of it. The commits of a session are numbered from 1 within an
// epoch; an epoch is one life of the session's machine.
type Commit struct {
	Epoch   uint64
	Number  uint64
	Batch   protocol.Batch
	ReplyTo *actor.PID
}

// Stored reports the fate of a Commit. Err is nil iff the batch is durable; it
// is Unknown if nobody can tell.
type Stored struct {
	Epoch  uint64
	Number uint64
	Err    *protocol.Error
}

// Load asks for what the machine of a session is rebuilt from; ReplyTo gets
// Loaded. Whoever has had a commit refused may send it at once: nothing of that
// epoch will be written any more.
type Load struct {
	Session protocol.SessionID
	Epoch   uint64
	ReplyTo *actor.PID
}

// Loaded answers a Load. Found is false for a session that does not exist.
type Loaded struct {
	Epoch    uint64
	Fence    int64 // how often the database was opened: with Epoch, unique over restarts
	Snapshot protocol.Snapshot
	Found    bool
	Deleting bool // it was deleted, and is not swept yet
	Err      *protocol.Error
}

// Read runs Run on the store's reading goroutine. Run answers whoever waits; Fail
// does if the store is gone.
type Read struct {
	Run  func(persistence.Querier)
	Fail func(*protocol.Error)
}

// Refuse implements kernel.Request.
func (r Read) Refuse(err *protocol.Error) { r.Fail(err) }

// Drain is answered when nothing is waiting to be stored.
type Drain struct{ kernel.Promise[kernel.Done] }

// Opened is the store's first word to its VM.
type Opened struct {
	Store    *actor.PID
	Accepted []protocol.SessionID // sessions with a prompt that a lost runtime left running
	Deleting []protocol.SessionID // deleted sessions that are not swept
	Err      *protocol.Error
}

// Unknown is the error of a write whose fate could not be found out (S2.7).
var Unknown = protocol.Errorf(protocol.CodeStorageOutcomeUnknown,
	"it is not known whether the write was stored; read the history before trying again")
