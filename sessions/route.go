package sessions

import (
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
	s.phase, s.binding = routeLive, in.Binding
	s.bind(in.Binding)
	if s.turn != nil && s.turn.Phase() == turn.Reserved {
		s.accept(in.At, in.Binding.RestoredBy)
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
	s.record(bound)
	if b.ConfigOptions != nil && string(b.ConfigOptions) != string(s.rec.ConfigOptions) {
		s.recordProfile(b.ConfigOptions, s.rec.Title)
	}
}

func (s *Session) recordProfile(options []byte, title *string) {
	revision := s.rec.ConfigRevision
	if string(options) != string(s.rec.ConfigOptions) {
		revision++
	}
	s.record(protocol.ProfileChanged{
		ConfigRevision: revision, ConfigOptions: options, Title: title, Metadata: s.rec.Metadata,
	})
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
	for _, token := range s.unloading {
		s.after(Reply{Token: token})
	}
	s.unloading = nil
	if in.Route != s.route || s.phase == routeNone {
		return
	}
	s.closeRun(in.At)
	s.phase, s.binding, s.calls = routeNone, Binding{}, map[protocol.RequestID]Call{}
	switch {
	case s.turn == nil:
	case s.turn.Phase() == turn.Reserved:
		s.drop(Reply{Err: in.Cause})
	case s.turn.Verdict() != nil:
		s.fail(s.turn.Verdict(), protocol.ReasonAdapterExited, in.At)
	default:
		s.fail(in.Cause, protocol.ReasonAdapterExited, in.At)
	}
}

func (s *Session) stopRoute() {
	if s.phase == routeNone {
		return
	}
	s.now(StopRoute{Route: s.route}) // whatever the disk says
	s.phase, s.binding, s.calls = routeNone, Binding{}, map[protocol.RequestID]Call{}
}
