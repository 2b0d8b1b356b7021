package sessions

import (
	"slices"

	"agentos/protocol"
	"agentos/protocol/rawjson"
	"agentos/sessions/turn"
)

// stepRouteUp stores what the adapter is now, and accepts the prompt that waits
// for it in the same transaction.
func (s *Session) stepRouteUp(in RouteUp) {
	if in.Route != s.route || s.phase != routeStarting {
		return
	}
	s.closeRun(in.At)
	s.phase, s.binding, s.served = routeLive, in.Binding, false
	s.bind(in.Binding)
	s.askSetting() // before the prompt: it may be meant for it
	if s.turn != nil && s.turn.Phase() == turn.Reserved {
		s.accept(in.At)
	}
}

// bind records the adapter binding. An adapter id that is replaced is kept
// aside, never thrown away (S10.2).
func (s *Session) bind(b Binding) {
	bound := protocol.AdapterBound{
		ACPSession:   b.ACPSession,
		Prompted:     s.rec.Prompted,
		Armed:        s.rec.Armed,
		RestoredBy:   b.RestoredBy,
		PreviousACP:  s.rec.PreviousACP,
		Capabilities: b.Capabilities,
		AgentInfo:    b.AgentInfo,
	}
	if b.ACPSession != s.rec.ACPSession {
		bound.Prompted, bound.Armed = false, false
		if s.rec.ACPSession != "" {
			bound.PreviousACP = keepAside(s.rec.PreviousACP, s.rec.ACPSession)
		}
	}
	fresh := b.ACPSession != s.rec.ACPSession
	s.record(bound)
	s.bindConfig(b, fresh)
}

// keepAside appends id to a JSON array of adapter ids.
func keepAside(list []byte, id protocol.ACPSessionID) []byte {
	out := []byte{'['}
	for e := range rawjson.Elements(list) {
		out = append(append(out, e...), ',')
	}
	return append(rawjson.AppendString(out, string(id)), ']')
}

// markPrompted notes, with the first stored output or the end of its first
// turn, that the adapter session has been prompted: from then on it can be
// expected to come back (S10.2, S10.5).
func (s *Session) markPrompted() {
	if s.rec.Prompted || s.turn == nil || s.turn.Phase() != turn.Dispatched {
		return
	}
	s.record(protocol.AdapterBound{
		ACPSession: s.rec.ACPSession, Prompted: true, Armed: false,
		RestoredBy: s.rec.RestoredBy, PreviousACP: s.rec.PreviousACP,
		Capabilities: s.rec.Capabilities, AgentInfo: s.rec.AgentInfo,
	})
}

// stepRouteDown ends the turn that ran on the route.
func (s *Session) stepRouteDown(in RouteDown) {
	if in.Route != s.route || s.phase == routeNone {
		s.stopping = slices.DeleteFunc(s.stopping, func(r Route) bool { return r == in.Route })
		s.unloaded()
		return
	}
	s.closeRun(in.At)
	s.leaveRoute()
	s.endSettings(in.Cause)
	switch {
	case s.turn == nil:
	case s.turn.Phase() == turn.Reserved:
		s.drop(Reply{Err: in.Cause})
	case s.turn.Cancelled():
		// It ended instead of answering the cancel, or could not even be told.
		s.complete(protocol.StopCancelled, true, in.At)
	default:
		s.fail(in.Cause, protocol.ReasonAdapterExited, in.At)
	}
}

func (s *Session) stopRoute() {
	if s.phase == routeNone {
		return
	}
	s.now(StopRoute{Route: s.route}) // whatever the disk says
	s.stopping = append(s.stopping, s.route)
	s.leaveRoute()
	s.endSettings(protocol.Errorf(protocol.CodeAdapterExited, "the agent was stopped before it had taken the setting; set it again"))
}

// leaveRoute forgets what is true of one connection only.
func (s *Session) leaveRoute() {
	s.phase, s.binding, s.spoken, s.calls = routeNone, Binding{}, "", map[protocol.RequestID]Call{}
}

// unloading is a caller who waits for the end of every route up to one.
type unloading struct {
	token   Token
	upTo    Route
	deletes bool // and the session is gone then
}

// unloaded answers those whose routes are all gone. A route that was started
// after their call is not theirs to wait for.
func (s *Session) unloaded() {
	s.unloading = slices.DeleteFunc(s.unloading, func(u unloading) bool {
		if len(s.stopping) > 0 && s.stopping[0] <= u.upTo {
			return false
		}
		s.after(Reply{Token: u.token})
		if u.deletes {
			s.after(Deleted{})
		}
		return true
	})
}
