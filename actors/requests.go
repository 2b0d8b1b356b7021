package actors

import (
	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/sessions"
)

// The requests of a session. Each is answered exactly once, by the session or
// by whatever stopped it.
type (
	openRequest struct {
		open sessions.Open
		promise[done]
	}
	// promptRequest runs one turn. With open set the session is opened first
	// (S6.1).
	promptRequest struct {
		open   *sessions.Open
		prompt sessions.Prompt
		promise[*protocol.Answer]
	}
	permitRequest struct {
		permit sessions.Permit
		promise[done]
	}
	cancelRequest struct {
		cancel sessions.Cancel
		promise[done]
	}
	unloadRequest struct{ promise[done] }
	watchRequest  struct{ promise[*feed.Feed] }
)

// The messages between a session and its route. The route number says which
// life of the connection they belong to.
type (
	routeUp struct {
		route   sessions.Route
		binding sessions.Binding
	}
	routeDown struct {
		route sessions.Route
		cause *protocol.Error
	}
	routeUpdate struct {
		input sessions.Update
		grant grant
	}
	routeAsk struct {
		input sessions.Ask
		grant grant
	}
	routeAnswered struct{ input sessions.Answered }

	dispatch   struct{ sessions.Dispatch }
	sendCancel struct{ sessions.SendCancel }
	answerCall struct{ sessions.AnswerCall }
	stopRoute  struct{}
)

// settled tells a VM that a session which a lost runtime left running has been
// brought to rest, or could not be.
type settled struct{ session protocol.SessionID }
