package sessions

import (
	"agentos/protocol"
	"agentos/protocol/public"
)

// settle ends the prompt that a lost runtime or a failed write has left
// accepted: its permissions, its error, the session's state, in one transaction
// (S6.10). A route that may still work on it is stopped: what it says from now
// on belongs to no turn that anybody waits for.
func (s *Session) settle(in Settle) {
	if s.active == nil {
		return
	}
	s.closeRun(in.At)
	s.stopRoute()
	s.closePermissions(in.Reason, in.At)
	p := s.ending(protocol.PromptFailedState, in.At)
	p.Error = public.ErrorObject(in.Cause)
	s.turn = nil
	s.record(protocol.PromptEnded{Prompt: p})
	s.publishState()
	s.after(Release{For: string(p.ID)})
}
