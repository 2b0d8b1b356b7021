package sessions

import (
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/turn"
)

// stepUpdate takes one update in wire order: a text chunk goes into the open
// run and out as a delta, everything else is stored as it is (S7).
func (s *Session) stepUpdate(in Update) {
	if in.Route != s.route || s.phase == routeNone {
		return
	}
	u := in.Update
	if s.active != nil && s.turn != nil {
		if limit := s.cfg.Limits.TurnOutputBytes; s.turn.Output(len(u.Raw)) > limit {
			s.overflow(limit, in.At)
			return
		}
	}
	switch {
	case u.Chunk != acp.None && u.IsText:
		s.chunk(u, in.At)
	case u.Side():
		s.store(u.Raw, "", in.At) // before the open run: the one exception to wire order (S7.2)
		s.profile(u)
	default:
		s.closeRun(in.At)
		e := s.store(u.Raw, "", in.At)
		s.heard(u.Chunk, u.MessageID, e)
	}
}

func (s *Session) chunk(u acp.Update, at protocol.TimeMS) {
	if !s.run.Continues(u) {
		s.closeRun(at)
	}
	var id protocol.RunID
	if !s.run.Open() {
		id = s.nextRun()
	}
	d := s.run.Add(u, max(s.binding.ACP, 1), id)
	s.now(PublishDelta{Delta: protocol.Delta{
		After: s.rec.Latest, Run: d.Run, Offset: d.Offset, ACP: max(s.binding.ACP, 1), Payload: u.Raw,
	}})
	if s.active == nil {
		s.silent = at + silenceMS
	}
}

// closeRun stores the open run. Whatever comes after a run is stored after it.
func (s *Session) closeRun(at protocol.TimeMS) {
	s.silent = 0
	r, ok := s.run.Close()
	if !ok {
		return
	}
	e := s.event(protocol.Event{Kind: protocol.KindUpdate, ACP: r.ACP, Payload: r.Payload, Run: r.ID}, at)
	s.markPrompted()
	s.heard(r.Kind, r.MessageID, e)
}

// store appends an update of the adapter as an event.
func (s *Session) store(payload []byte, run protocol.RunID, at protocol.TimeMS) protocol.Event {
	e := s.event(protocol.Event{Kind: protocol.KindUpdate, Payload: payload, Run: run}, at)
	s.markPrompted()
	return e
}

// heard keeps the turn's idea of the agent's last message (S6.6). What was said
// while the prompt was not stored yet is no answer to it.
func (s *Session) heard(kind acp.ChunkKind, id string, e protocol.Event) {
	if kind == acp.Agent && id != "" {
		s.spoken = protocol.MessageID(id)
	}
	if s.turn == nil || s.turn.Phase() == turn.Reserved {
		return
	}
	switch kind {
	case acp.Agent:
		s.turn.Said(e, protocol.MessageID(id))
	case acp.User:
		s.turn.Heard()
	}
}

// profile keeps what a side update says about the session itself. How a route is
// set that comes up, its binding says.
func (s *Session) profile(u acp.Update) {
	switch u.Kind {
	case acp.UpdateSessionInfo:
		if title, ok := acp.ParseSessionInfo(u.Raw); ok {
			s.recordTitle(title)
		}
	case acp.UpdateConfigOption:
		if options := acp.ParseConfigOptions(u.Raw); options != nil && s.phase == routeLive {
			s.configure(options, modesIn(s.rec.Metadata))
		}
	case acp.UpdateCurrentMode:
		if mode, ok := acp.ParseCurrentMode(u.Raw); ok && s.phase == routeLive {
			s.configure(s.rec.ConfigOptions, acp.WithCurrentMode(modesIn(s.rec.Metadata), mode))
		}
	}
}

// overflow ends a turn that has said more than it may (S7.4).
func (s *Session) overflow(limit int64, at protocol.TimeMS) {
	why := protocol.Errorf(protocol.CodeResourceLimit, "the turn's output passed limits.acp.maxTurnOutputBytes (%d bytes); the agent was stopped", limit).
		With("limit", limit)
	s.stopRoute()
	s.fail(why, protocol.ReasonAdapterExited, at)
}
