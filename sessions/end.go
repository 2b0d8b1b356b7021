package sessions

import (
	"agentos/protocol"
	"agentos/sessions/turn"
)

// stepCancel asks the turn to end (S9.1). A cancel of another turn, or of none,
// hits nothing and is no mistake.
func (s *Session) stepCancel(in Cancel) {
	if s.turn != nil && (in.Prompt == "" || in.Prompt == s.turn.ID) {
		s.cancel(in.At)
	}
	s.after(Reply{Token: in.Token})
}

func (s *Session) cancel(at protocol.TimeMS) {
	if !s.turn.Cancel(at + cancelGraceMS) {
		return
	}
	switch s.turn.Phase() {
	case turn.Reserved:
		if s.turn.Queued {
			s.record(protocol.QueueRemoved{ID: s.turn.ID})
		}
		s.drop(s.cancelledReply(s.turn.ID))
	case turn.Accepted:
		s.complete(protocol.StopCancelled, false, at)
	case turn.Dispatched:
		if len(s.pending) > 0 {
			s.closePermissions(protocol.ReasonPromptCancelled, at)
			s.publishState()
		}
		s.after(SendCancel{Route: s.route, Prompt: s.turn.ID, ACP: s.binding.ACPSession})
	}
}

// cancelledReply is the answer to a prompt that nothing was stored of.
func (s *Session) cancelledReply(id protocol.PromptID) Reply {
	return Reply{Answer: &protocol.Answer{Session: s.rec.ID, Prompt: id, StopReason: protocol.StopCancelled}}
}

// force ends a turn whose cancel was ignored: the adapter is stopped (S9.2).
func (s *Session) force(at protocol.TimeMS) {
	s.stopRoute()
	s.complete(protocol.StopCancelled, true, at)
}

// interrupt ends the turn, if there is one, from outside (S6.5).
func (s *Session) interrupt(why string, reason protocol.Reason, at protocol.TimeMS) {
	if s.turn == nil {
		return
	}
	err := protocol.Errorf(protocol.CodePromptInterrupted, "%s", why)
	if s.turn.Phase() == turn.Reserved {
		s.drop(Reply{Err: err})
		return
	}
	s.fail(err, reason, at)
}

// stepUnload interrupts the turn and stops the route; the reply comes when the
// route is gone.
func (s *Session) stepUnload(in Unload) {
	s.interrupt("the session was unloaded in the turn; prompt it again to go on", protocol.ReasonVMShutdown, in.At)
	s.drains = false
	s.closeRun(in.At)
	s.stopRoute()
	s.unloading = append(s.unloading, unloading{token: in.Token, upTo: s.route})
	s.unloaded()
}

// end is the terminal transaction's last change (S6.3). Only after it: the
// answer, the new state, the release of keep-awake.
func (s *Session) end(p protocol.Prompt, reply Reply) {
	s.markPrompted()
	s.record(protocol.PromptEnded{Prompt: p})
	s.publishState()
	s.answer(reply)
	s.after(Release{For: string(p.ID)})
	s.turn = nil
}

// answer tells everybody who waits for the turn.
func (s *Session) answer(reply Reply) {
	for _, caller := range s.turn.Callers {
		reply.Token = Token(caller)
		s.after(reply)
	}
}

// drop ends a turn that nothing was stored of. A queued prompt that could not
// begin stays in the queue until somebody prompts or resumes: to try again at
// once would be to try for ever.
func (s *Session) drop(reply Reply) {
	if s.turn.Queued && reply.Err != nil {
		s.drains = false
	}
	s.answer(reply)
	s.now(Release{For: string(s.turn.ID)}) // a queued prompt may be held again before this reply is due
	s.turn, s.prompt = nil, Prompt{}
}

func (s *Session) ending(state protocol.PromptState, at protocol.TimeMS) protocol.Prompt {
	p := *s.active
	p.State, p.LastOutput, p.UpdatedAt = state, s.rec.Latest, s.clock(at)
	return p
}
