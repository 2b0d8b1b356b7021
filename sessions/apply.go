package sessions

import (
	"fmt"
	"slices"

	"agentos/protocol"
)

// record makes c part of the batch under way. Durable state follows from it at
// once; the owner sees to it that nothing that depends on it is shown before
// the batch is stored.
func (s *Session) record(c protocol.Change) {
	s.apply(c)
	s.changes = append(s.changes, c)
}

// apply is the only place where durable state follows from changes.
func (s *Session) apply(c protocol.Change) {
	switch c := c.(type) {
	case protocol.SessionOpened:
		s.exists, s.rec = true, c.Record
	case protocol.EventAppended:
		s.applyEvent(c.Event)
	case protocol.PromptAccepted:
		p := c.Prompt
		s.active, s.failure = &p, nil
		s.rec.State, s.rec.Prompt, s.rec.StartedAt = protocol.StateRunning, p.ID, p.CreatedAt
		s.touch(p.CreatedAt)
	case protocol.PromptEnded:
		s.applyEnd(c.Prompt)
	case protocol.PermissionOpened:
		s.pending = append(s.pending, c.Permission)
		s.rec.State = protocol.StateWaiting
		s.advance(c.Permission.CreatedAt)
	case protocol.PermissionClosed:
		s.applyClosed(c.Permission)
	case protocol.AdapterBound:
		s.rec.ACPSession, s.rec.Prompted, s.rec.Armed = c.ACPSession, c.Prompted, c.Armed
		s.rec.RestoredBy, s.rec.PreviousACP = c.RestoredBy, c.PreviousACP
		s.rec.Capabilities, s.rec.AgentInfo = c.Capabilities, c.AgentInfo
	case protocol.ProfileChanged:
		s.rec.ConfigRevision, s.rec.ConfigOptions = c.ConfigRevision, c.ConfigOptions
		s.rec.Title, s.rec.Metadata = c.Title, c.Metadata
	case protocol.SessionDeleted:
		s.exists, s.deleted = false, true
	case protocol.PromptQueued:
		s.queue = append(s.queue, c.Queued)
	case protocol.QueueEdited:
		q := s.queued(c.ID)
		q.Content, q.Hash = c.Content, c.Hash
	case protocol.QueueRemoved:
		s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(q protocol.Queued) bool { return q.ID == c.ID })
	case protocol.LaunchChanged:
		s.rec.Spec.Agent, s.rec.Spec.Launch = c.Agent, c.Launch
	default:
		panic(fmt.Sprintf("sessions: unknown change %T", c))
	}
}

func (s *Session) applyEvent(e protocol.Event) {
	if e.Sequence != s.rec.Latest+1 {
		panic(fmt.Sprintf("sessions: event %d after %d", e.Sequence, s.rec.Latest))
	}
	s.rec.Latest = e.Sequence
	s.rec.RetainedEvents++
	s.rec.RetainedBytes += int64(len(e.Payload))
	s.advance(e.At)
}

func (s *Session) applyEnd(p protocol.Prompt) {
	if s.active == nil || s.active.ID != p.ID || len(s.pending) > 0 {
		panic(fmt.Sprintf("sessions: end of %q, which is not running alone", p.ID))
	}
	s.active = nil
	if p.State == protocol.PromptFailedState {
		s.rec.State, s.failure = protocol.StateFailed, p.Error
	} else {
		s.rec.State, s.rec.Prompt, s.rec.StartedAt = protocol.StateIdle, "", 0
	}
	s.touch(p.UpdatedAt)
}

func (s *Session) applyClosed(p protocol.Permission) {
	for i := range s.pending {
		if s.pending[i].ID == p.ID {
			s.pending = append(s.pending[:i:i], s.pending[i+1:]...)
			if len(s.pending) == 0 {
				s.rec.State = protocol.StateRunning
			}
			s.advance(p.UpdatedAt)
			return
		}
	}
	panic(fmt.Sprintf("sessions: permission %q closed, which is not pending", p.ID))
}

// touch moves the time of the last activity; advance the last time stored.
func (s *Session) touch(at protocol.TimeMS) {
	s.rec.UpdatedAt = max(s.rec.UpdatedAt, at)
	s.advance(at)
}

func (s *Session) advance(at protocol.TimeMS) { s.rec.LastAt = max(s.rec.LastAt, at) }

// clock returns the time to store for something that happens at at: never
// before what is stored already (S3).
func (s *Session) clock(at protocol.TimeMS) protocol.TimeMS { return max(at, s.rec.LastAt) }

// event appends one event and shows it once it is stored.
func (s *Session) event(e protocol.Event, at protocol.TimeMS) protocol.Event {
	e.Sequence, e.At = s.rec.Latest+1, s.clock(at)
	if e.ACP == 0 {
		e.ACP = max(s.binding.ACP, 1)
	}
	run := e.Run
	e.Run = ""
	s.record(protocol.EventAppended{Event: e})
	e.Run = run
	s.after(Publish{Event: e})
	return e
}

// publishState shows the state after the batch under way.
func (s *Session) publishState() {
	s.after(PublishState{State: s.rec.State, Prompt: s.rec.Prompt, Sequence: s.rec.Latest})
}
