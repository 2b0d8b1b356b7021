package actors

import (
	"agentos/actors/feed"
	"agentos/actors/kernel"
	"agentos/protocol"
	"agentos/sessions"
)

// The requests of a session. Each is answered exactly once, by the session or
// by whatever stopped it.
type (
	openRequest struct {
		open sessions.Open
		kernel.Promise[kernel.Done]
	}
	// promptRequest runs one turn, or queues it.
	promptRequest struct {
		prompt sessions.Prompt
		kernel.Promise[promptReply]
	}
	// queueRequest changes the queue.
	queueRequest struct {
		input func(sessions.Token, protocol.TimeMS) sessions.Input
		kernel.Promise[kernel.Done]
	}
	permitRequest struct {
		permit sessions.Permit
		kernel.Promise[protocol.PermissionAnswer]
	}
	configureRequest struct {
		configure sessions.Configure
		kernel.Promise[protocol.ConfigInfo]
	}
	cancelRequest struct {
		cancel sessions.Cancel
		kernel.Promise[kernel.Done]
	}
	deleteRequest struct{ kernel.Promise[kernel.Done] }
	unloadRequest struct{ kernel.Promise[kernel.Done] }
	watchRequest  struct{ kernel.Promise[*feed.Feed] }
)

// promptReply has one of the two: the turn's answer, or the prompt's place.
type promptReply struct {
	answer *protocol.Answer
	queued *protocol.Queued
}

// settled tells a VM that a session which a lost runtime left running has been
// brought to rest, or could not be.
type settled struct{ session protocol.SessionID }

// gone tells a VM that a session was deleted and has nothing to do any more; its
// rows are still to be swept. It is the last word of the session's actor.
type gone struct{ session protocol.SessionID }

// vacant tells a VM that a session does not exist, has nothing to do, and is
// watched by nobody. received is how many requests it had then.
type vacant struct {
	session  protocol.SessionID
	received int
}
