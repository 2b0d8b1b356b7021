package core

import (
	"errors"
	"fmt"

	"agentos/protocol"
)

// The ways a batch can be wrong that the database would not find, or not before
// something else went wrong.
var (
	errChain       = errors.New("its base is not the row of the batch before it")
	errNewBase     = errors.New("it creates the session, but its base is not empty or its first change does not open it")
	errOpenAgain   = errors.New("it opens a session that exists")
	errTwice       = errors.New("a prompt or permission begins or ends twice")
	errNoEnd       = errors.New("a prompt ends in a state that is no end")
	errPending     = errors.New("a prompt ends and leaves a permission pending")
	errDeleted     = errors.New("its session was deleted by the batch before it")
	errQueuedTwice = errors.New("a prompt is queued or taken out of the queue twice")
	errEnded       = errors.New("a permission changes after its prompt ended")
)

// add folds one batch into the group.
func (g *group) add(b *protocol.Batch) error {
	if b.Row.ID != b.Session {
		return fmt.Errorf("its row is that of session %q", b.Row.ID)
	}
	s, err := g.session(b)
	if err != nil {
		return err
	}
	latest := b.Base.Latest
	for i, c := range b.Changes {
		if opened, ok := c.(protocol.SessionOpened); ok {
			if b.Base.Exists || i > 0 {
				return errOpenAgain
			}
			if opened.Record.ID != b.Session {
				return fmt.Errorf("it opens session %q", opened.Record.ID)
			}
			continue
		}
		if e, ok := c.(protocol.EventAppended); ok {
			if e.Event.Sequence != latest+1 {
				return fmt.Errorf("event %d follows %d", e.Event.Sequence, latest)
			}
			latest++
		}
		if err := g.change(s, c); err != nil {
			return err
		}
	}
	if b.Row.Latest != latest {
		return fmt.Errorf("its row ends at event %d and its events at %d", b.Row.Latest, latest)
	}
	s.row, s.index = &b.Row, g.at
	g.at++
	return nil
}

// session finds the fold that b continues, or begins one.
func (g *group) session(b *protocol.Batch) (*session, error) {
	if !b.Base.Exists {
		if b.Base != (protocol.Base{}) || len(b.Changes) == 0 {
			return nil, errNewBase
		}
		if _, ok := b.Changes[0].(protocol.SessionOpened); !ok {
			return nil, errNewBase
		}
	}
	if s := g.byID[b.Session]; s != nil && s.deleted {
		return nil, errDeleted
	} else if s != nil {
		before := protocol.Base{Exists: true, Latest: s.row.Latest, State: s.row.State, Prompt: s.row.Prompt}
		if b.Base != before {
			return nil, errChain
		}
		return s, nil
	}
	s := &session{id: b.Session, base: b.Base, opened: !b.Base.Exists}
	g.byID[b.Session] = s
	g.sessions = append(g.sessions, s)
	return s, nil
}

// change folds one change, but for SessionOpened.
func (g *group) change(s *session, c protocol.Change) error {
	switch c := c.(type) {
	case protocol.EventAppended:
		g.events = append(g.events, eventRow(s.id, &c.Event))
	case protocol.PromptAccepted:
		return g.accept(s, c.Prompt)
	case protocol.PromptEnded:
		return g.end(s, c.Prompt)
	case protocol.PermissionOpened:
		return g.open(s, c.Permission)
	case protocol.PermissionClosed:
		return g.close(s, c.Permission)
	case protocol.AdapterBound:
		s.adapter = true
	case protocol.ProfileChanged:
		s.profile = true
	case protocol.LaunchChanged:
		s.launch = true
	case protocol.SessionDeleted:
		s.deleted = true
	case protocol.PromptQueued:
		return g.enqueue(s, c.Queued)
	case protocol.QueueEdited:
		return g.requeue(s, c.ID, func(q *queued) { q.last.Content, q.last.Hash, q.edited = c.Content, c.Hash, true })
	case protocol.QueueRemoved:
		return g.requeue(s, c.ID, func(q *queued) { q.removed = true })
	default:
		return fmt.Errorf("it has a change of unknown type %T", c)
	}
	return nil
}

func (g *group) accept(s *session, p protocol.Prompt) error {
	if s.prompts[p.ID] != nil {
		return errTwice
	}
	if p.State != protocol.PromptAcceptedState {
		return fmt.Errorf("prompt %q is accepted as %q", p.ID, p.State)
	}
	g.prompt(s, p).accepted = true
	return nil
}

// end keeps an end that is written: cancelled is for older databases only (S3).
func (g *group) end(s *session, p protocol.Prompt) error {
	if p.State != protocol.PromptCompletedState && p.State != protocol.PromptFailedState {
		return errNoEnd
	}
	f := s.prompts[p.ID]
	if f == nil {
		f = g.prompt(s, p)
	}
	if f.ended {
		return errTwice
	}
	f.last, f.ended = p, true
	for _, r := range s.permissions {
		if r.last.Prompt != p.ID {
			continue
		}
		if !r.closed {
			return errPending
		}
		r.dropped = true
	}
	return nil
}

func (g *group) prompt(s *session, p protocol.Prompt) *prompt {
	f := &prompt{session: s.id, last: p}
	if s.prompts == nil {
		s.prompts = make(map[protocol.PromptID]*prompt)
	}
	s.prompts[p.ID] = f
	g.prompts = append(g.prompts, f)
	return f
}

func (g *group) open(s *session, p protocol.Permission) error {
	if s.permissions[p.ID] != nil {
		return errTwice
	}
	if f := s.prompts[p.Prompt]; f != nil && f.ended {
		return errEnded
	}
	if p.State != protocol.PermissionPending {
		return fmt.Errorf("permission %q is opened as %q", p.ID, p.State)
	}
	g.permission(s, p).opened = true
	return nil
}

func (g *group) close(s *session, p protocol.Permission) error {
	if f := s.prompts[p.Prompt]; f != nil && f.ended {
		return errEnded
	}
	if p.State != protocol.PermissionResponded && p.State != protocol.PermissionTerminal {
		return fmt.Errorf("permission %q is closed as %q", p.ID, p.State)
	}
	f := s.permissions[p.ID]
	if f == nil {
		f = g.permission(s, p)
	}
	if f.closed {
		return errTwice
	}
	f.last, f.closed = p, true
	return nil
}

func (g *group) enqueue(s *session, q protocol.Queued) error {
	if s.queued[q.ID] != nil {
		return errQueuedTwice
	}
	g.queue(s, q).added = true
	return nil
}

// requeue folds a change of a prompt that is in the queue, or was put there in
// this group.
func (g *group) requeue(s *session, id protocol.PromptID, change func(*queued)) error {
	q := s.queued[id]
	if q == nil {
		q = g.queue(s, protocol.Queued{ID: id})
	}
	if q.removed {
		return errQueuedTwice
	}
	change(q)
	return nil
}

func (g *group) queue(s *session, q protocol.Queued) *queued {
	f := &queued{session: s.id, last: q}
	if s.queued == nil {
		s.queued = make(map[protocol.PromptID]*queued)
	}
	s.queued[q.ID] = f
	g.queued = append(g.queued, f)
	return f
}

func (g *group) permission(s *session, p protocol.Permission) *permission {
	f := &permission{session: s.id, last: p}
	if s.permissions == nil {
		s.permissions = make(map[protocol.RequestID]*permission)
	}
	s.permissions[p.ID] = f
	g.permissions = append(g.permissions, f)
	return f
}
