package sessions

import (
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/sessions/restore"
	"agentos/sessions/turn"
)

// stepPrompt begins a turn, unless its key has had one (S6.8).
func (s *Session) stepPrompt(in Prompt) *protocol.Error {
	if err := s.checkContent(in.Blocks); err != nil {
		return err
	}
	if err := checkKey(in.Key); err != nil {
		return err
	}
	if in.Key == "" || !s.exists {
		return s.begin(in)
	}
	return s.beginKeyed(in)
}

// begin opens the session if it is asked to, and reserves a turn, or queues the
// prompt behind those that were here before it.
func (s *Session) begin(in Prompt) *protocol.Error {
	if s.exists {
		if err := s.refusal(in); err != nil {
			return err
		}
	}
	if in.Open != nil {
		if err := s.stepOpen(*in.Open); err != nil {
			return err
		}
	}
	if !s.exists {
		return s.noSession()
	}
	s.drains = true
	if in.NoWait || s.occupied() != "" || len(s.queue) > 0 && !in.Now {
		s.enqueue(in)
		return nil
	}
	s.reserve(in, []uint64{uint64(in.Token)}, false)
	return nil
}

// reserve begins a turn that nothing is stored of yet (S6.2), and accepts it at
// once if the adapter is up.
func (s *Session) reserve(in Prompt, callers []uint64, queued bool) {
	s.turn, s.prompt = turn.Reserve(in.ID, callers...), in
	s.turn.Key, s.turn.Hash, s.turn.Queued = in.Key, in.Hash, queued
	s.now(Hold{For: string(in.ID)})
	switch s.phase {
	case routeLive:
		s.accept(in.At)
	case routeNone:
		s.startRoute()
	case routeStarting: // an abandoned turn started it; this one takes it over
	}
}

// occupied returns the prompt that the session is running, "" if none.
func (s *Session) occupied() protocol.PromptID {
	switch {
	case s.turn != nil:
		return s.turn.ID
	case s.active != nil:
		return s.active.ID
	}
	return ""
}

// refusal says why in can neither begin nor be queued now.
func (s *Session) refusal(in Prompt) *protocol.Error {
	if in.Queue {
		if limit := s.cfg.Limits.QueuedPrompts; int64(len(s.queue)) >= limit {
			return protocol.Errorf(protocol.CodeQueueLimit, "session %q has %d queued prompts, limits.acp.maxQueuedPromptsPerSession allows no more", s.rec.ID, limit).
				With("limit", limit)
		}
		return nil
	}
	if id := s.occupied(); id != "" {
		return s.busy(id)
	}
	if n := len(s.queue); n > 0 && !in.Now {
		return protocol.Errorf(protocol.CodeSessionBusy, "session %q has %d queued prompts; queue this one behind them with --queue, or pass them with --now", s.rec.ID, n).
			With("queued", n)
	}
	return nil
}

func (s *Session) noSession() *protocol.Error {
	return protocol.Errorf(protocol.CodeSessionNotFound, "no session %q; a prompt through the command line opens it", s.rec.ID)
}

// checkContent refuses a prompt for its own sake, before a session is opened for
// it.
func (s *Session) checkContent(blocks [][]byte) *protocol.Error {
	if len(blocks) == 0 {
		return protocol.Errorf(protocol.CodeInvalidPrompt, "a prompt has at least one content block")
	}
	if n, limit := int64(len(blocks)), s.cfg.Limits.PromptBlocks; n > limit {
		return protocol.Errorf(protocol.CodePromptBlocksLimit, "the prompt has %d blocks, limits.acp.maxPromptBlocks allows %d", n, limit).
			With("limit", limit)
	}
	var size int64
	for _, b := range blocks {
		size += int64(len(b))
	}
	if limit := s.cfg.Limits.PromptBytes; size > limit {
		return protocol.Errorf(protocol.CodePromptBytesLimit, "the prompt has %d bytes, limits.acp.maxPromptBytes allows %d", size, limit).
			With("limit", limit)
	}
	return nil
}

func (s *Session) busy(id protocol.PromptID) *protocol.Error {
	return protocol.Errorf(protocol.CodeSessionBusy, "session %q is running prompt %s; wait for it or cancel it", s.rec.ID, id).
		With("promptId", string(id))
}

func (s *Session) startRoute() {
	s.route++
	s.phase = routeStarting
	s.now(StartRoute{Route: s.route, Record: s.rec})
}

// accept stores the prompt and its input in one transaction and dispatches it
// after that.
func (s *Session) accept(at protocol.TimeMS) {
	s.closeRun(at)
	in := s.prompt
	s.prompt = Prompt{}
	s.turn.Accept()
	s.resumed = false
	if s.turn.Queued {
		s.record(protocol.QueueRemoved{ID: in.ID})
	}
	s.turn.IfAsked, s.turn.Before, s.turn.RestoredBy = int(in.IfAsked), s.spoken, s.binding.RestoredBy
	if s.served {
		s.turn.RestoredBy = protocol.RestoredLive
	}
	s.served = true
	s.record(protocol.PromptAccepted{Prompt: protocol.Prompt{
		ID:         in.ID,
		Key:        in.Key,
		Hash:       in.Hash,
		State:      protocol.PromptAcceptedState,
		FirstInput: s.rec.Latest + 1,
		CreatedAt:  s.clock(at),
		UpdatedAt:  s.clock(at),
	}})
	for _, block := range in.Blocks {
		s.event(protocol.Event{Kind: protocol.KindUpdate, Payload: acp.UserChunk(block, string(in.Message))}, at)
	}
	s.publishState()
	s.after(Dispatch{Route: s.route, Prompt: in.ID, ACP: s.binding.ACPSession, Blocks: in.Blocks})
}

// stepAnswered ends the turn as the adapter said.
func (s *Session) stepAnswered(in Answered) {
	if in.Route != s.route || s.turn == nil || s.turn.ID != in.Prompt || s.turn.Phase() != turn.Dispatched {
		return
	}
	if lost(in.Err) {
		s.stopRoute()
	}
	switch {
	case in.Err == nil:
		s.complete(in.StopReason, false, in.At)
	case s.turn.Cancelled() && in.Err.Code == protocol.CodeAgentError:
		// Some agents answer a cancelled prompt with an error (acp.md 3.2).
		s.complete(protocol.StopCancelled, false, in.At)
	default:
		s.fail(in.Err, protocol.ReasonPromptCancelled, in.At)
	}
}

// lost reports whether the adapter's answer says that it has no such session any
// more. It would say so to every prompt, the process behind a launcher that lives
// on may have died for instance; the next one restores instead (S10.1).
func lost(answer *protocol.Error) bool {
	if answer == nil || answer.Code != protocol.CodeAgentError {
		return false
	}
	code, ok := answer.Details["code"].(int64)
	return ok && restore.Gone(code)
}

// complete ends the turn well, unless a verdict stands against it.
func (s *Session) complete(stop string, forced bool, at protocol.TimeMS) {
	if why := s.turn.Verdict(); why != nil {
		s.fail(why, protocol.ReasonPromptCancelled, at)
		return
	}
	t := s.turn
	s.closeRun(at)
	s.closePermissions(protocol.ReasonPromptCancelled, at)
	answer := &protocol.Answer{
		Session:    s.rec.ID,
		Prompt:     t.ID,
		StopReason: stop,
		Message:    Message(t.Message(), t.Earlier()),
		RestoredBy: t.RestoredBy,
		Forced:     forced,
	}
	p := s.ending(protocol.PromptCompletedState, at)
	p.Result = result(answer, p, t.Earlier())
	s.end(p, Reply{Answer: answer})
}

// fail ends the turn with an error, that of the verdict if one stands; reason is
// what becomes of permissions that are still pending.
func (s *Session) fail(why *protocol.Error, reason protocol.Reason, at protocol.TimeMS) {
	t := s.turn
	if t.Verdict() != nil {
		why = t.Verdict()
	}
	s.closeRun(at)
	s.closePermissions(reason, at)
	p := s.ending(protocol.PromptFailedState, at)
	p.Error = public.ErrorObject(why)
	s.end(p, Reply{Err: why})
}
