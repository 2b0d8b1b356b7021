package sessions

import "agentos/protocol"

// stepDelete marks the session as deleted (S9.3). A session that does not exist
// is deleted already.
func (s *Session) stepDelete(in Delete) {
	if !s.exists {
		s.unloading = append(s.unloading, unloading{token: in.Token, upTo: s.route})
		s.unloaded()
		return
	}
	s.interrupt("the session was deleted in the turn", protocol.ReasonSessionDeleted, in.At)
	s.closeRun(in.At)
	s.endSettings(s.noSession())
	s.stopRoute()
	for _, q := range s.queue {
		s.turnAway(q.ID)
	}
	s.drains = false
	s.record(protocol.SessionDeleted{})
	s.unloading = append(s.unloading, unloading{token: in.Token, upTo: s.route, deletes: true})
	s.unloaded()
}
