package sessions

import (
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/permission"
	"agentos/sessions/turn"
)

// stepAsk decides a permission request by policy, or stores it for a person
// (S8). Nothing here can turn a doubt into an allow.
func (s *Session) stepAsk(in Ask) {
	if in.Route != s.route || s.phase == routeNone {
		return
	}
	s.closeRun(in.At)
	view, err := acp.ParsePermission(in.Params)
	if err != nil {
		s.refuse(in.Call, "a permission request was cancelled: it cannot be read")
		return
	}
	if s.turn == nil || s.turn.Phase() != turn.Dispatched || s.turn.Cancelled() {
		s.refuse(in.Call, "a permission request was cancelled: no turn is going on that it could belong to")
		return
	}
	option, verdict := permission.Decide(s.rec.Spec.Policy, permission.Options(in.Params))
	switch verdict {
	case permission.Picked:
		s.now(Note{Text: "policy " + string(s.rec.Spec.Policy) + " picked option kind " + option.Kind})
		s.after(AnswerCall{Route: s.route, Call: in.Call, Result: acp.Selected(option.ID)})
	case permission.Unsatisfied:
		s.refuse(in.Call, "policy "+string(s.rec.Spec.Policy)+" could pick none of the options offered")
		s.condemn(protocol.Errorf(protocol.CodePolicyUnsatisfied,
			"the agent offered no option that policy %s may pick; open a session with --policy ask to decide by hand", s.rec.Spec.Policy), in.At)
	case permission.AskPerson:
		s.askPerson(in, view.Title)
	}
}

// askPerson stores a request for a person, if one more may be pending and there
// is somebody to answer it (S8.2, S8.4, S12).
func (s *Session) askPerson(in Ask, title string) {
	if limit := s.cfg.Limits.PendingPermissionsSession; int64(len(s.pending)) >= limit {
		s.refuse(in.Call, "a permission request was cancelled: too many are pending")
		s.condemn(protocol.Errorf(protocol.CodePermissionsSessionLimit,
			"the agent asked for more permissions at a time than limits.acp.maxPendingPermissionsPerSession (%d)", limit).
			With("limit", limit), in.At)
		return
	}
	s.openPermission(in)
	if IfAsked(s.turn.IfAsked) == EndTurn {
		s.condemn(protocol.Errorf(protocol.CodePermissionRequired,
			"the agent asked for permission %q and nobody can answer here; run it on a terminal or choose --policy", title).
			With("requestId", string(in.Request)), in.At)
	}
}

func (s *Session) refuse(call Call, note string) {
	s.now(Note{Text: note})
	s.after(AnswerCall{Route: s.route, Call: call, Result: []byte(acp.CancelledOutcome)})
}

// condemn fixes why the turn fails and asks the adapter to end it.
func (s *Session) condemn(why *protocol.Error, at protocol.TimeMS) {
	s.turn.Condemn(why)
	s.cancel(at)
}

func (s *Session) openPermission(in Ask) {
	at := s.clock(in.At)
	payload := acp.PublicRequest(in.Params, string(s.rec.ID))
	s.calls[in.Request] = in.Call
	s.record(protocol.PermissionOpened{Permission: protocol.Permission{
		ID: in.Request, Prompt: s.turn.ID, State: protocol.PermissionPending,
		Request: payload, CreatedAt: at, UpdatedAt: at,
	}})
	s.event(protocol.Event{Kind: protocol.KindPermissionRequest, Request: in.Request, Payload: payload}, in.At)
	s.markPrompted()
	s.publishState()
}

// stepPermit answers a pending request. The first to be stored wins; a later one
// is told how it ended, which is stored by then (S8.3).
func (s *Session) stepPermit(in Permit) *protocol.Error {
	p := s.find(in.Request)
	if p == nil {
		if !s.exists {
			return s.noSession()
		}
		s.after(FindPermission{Token: in.Token, Request: in.Request})
		return nil
	}
	view, err := acp.ParsePermission(p.Request)
	if err != nil || !permission.Offered(view.Options, in.Option) {
		return protocol.Errorf(protocol.CodeInvalidPermissionOption, "%q is none of the options offered", in.Option).
			With("options", optionIDs(view.Options))
	}
	result := acp.Selected(in.Option)
	s.closePermission(*p, protocol.PermissionResponded, protocol.ReasonAccepted, result, in.At)
	s.publishState()
	s.after(Reply{Token: in.Token, Permission: &protocol.PermissionAnswer{Status: protocol.OutcomeAccepted}})
	return nil
}

func (s *Session) find(id protocol.RequestID) *protocol.Permission {
	for i := range s.pending {
		if s.pending[i].ID == id {
			return &s.pending[i]
		}
	}
	return nil
}

// closePermissions ends every pending request without an answer.
func (s *Session) closePermissions(reason protocol.Reason, at protocol.TimeMS) {
	for len(s.pending) > 0 {
		s.closePermission(s.pending[0], protocol.PermissionTerminal, reason, []byte(acp.CancelledOutcome), at)
	}
}

// closePermission stores the end of one request with its response event, then
// answers the adapter (S8.3: commit first).
func (s *Session) closePermission(p protocol.Permission, state protocol.PermissionState, reason protocol.Reason, result []byte, at protocol.TimeMS) {
	e := protocol.Event{Kind: protocol.KindPermissionResponse, Request: p.ID, Payload: result,
		Status: protocol.OutcomeNotPending, Reason: reason}
	if state == protocol.PermissionResponded {
		e.Status, e.Reason = protocol.OutcomeAccepted, ""
		p.Response = result
	}
	e = s.event(e, at)
	p.State, p.Reason, p.Sequence, p.UpdatedAt = state, reason, e.Sequence, e.At
	s.record(protocol.PermissionClosed{Permission: p})
	if call, ok := s.calls[p.ID]; ok && s.phase == routeLive {
		s.after(AnswerCall{Route: s.route, Call: call, Result: result})
	}
	delete(s.calls, p.ID)
}

func optionIDs(options []acp.Option) []string {
	ids := make([]string, 0, len(options))
	for _, o := range options {
		ids = append(ids, o.ID)
	}
	return ids
}
