package sessions_test

import (
	"errors"
	"fmt"
	"slices"

	"agentos/protocol"
	"agentos/sessions"
)

// twin is a dumb database of one session: tables that hold what changes say,
// and a record that is counted anew from the tables each time. It shares no
// code with the machine.
type twin struct {
	exists      bool
	deleted     bool
	opened      protocol.Record // as created
	binding     protocol.AdapterBound
	profile     protocol.ProfileChanged
	events      []protocol.Event
	prompts     []protocol.Prompt
	permissions []protocol.Permission
	queue       []protocol.Queued
}

// store takes a batch as persistence would, or says why it is none that may be
// stored.
func (w *twin) store(b protocol.Batch) error {
	if want := w.base(); b.Base != want {
		return fmt.Errorf("base is %+v; want %+v", b.Base, want)
	}
	if len(b.Changes) == 0 {
		return errors.New("batch without changes")
	}
	for _, c := range b.Changes {
		if err := w.change(c); err != nil {
			return err
		}
	}
	if w.deleted && w.active() != nil {
		return errors.New("deleted with a prompt that has no end")
	}
	if diff := different(w.record(), b.Row); diff != "" {
		return fmt.Errorf("row is not what the changes say (-changes +row):\n%s", diff)
	}
	return w.check()
}

func (w *twin) base() protocol.Base {
	if !w.exists {
		return protocol.Base{}
	}
	r := w.record()
	return protocol.Base{Exists: true, Latest: r.Latest, State: r.State, Prompt: r.Prompt}
}

func (w *twin) change(c protocol.Change) error {
	if _, opens := c.(protocol.SessionOpened); opens == w.exists {
		return fmt.Errorf("%T, and the session exists: %t", c, w.exists)
	}
	switch c := c.(type) {
	case protocol.SessionOpened:
		w.exists, w.opened = true, c.Record
	case protocol.EventAppended:
		return w.event(c.Event)
	case protocol.PromptAccepted:
		return w.accept(c.Prompt)
	case protocol.PromptEnded:
		return w.end(c.Prompt)
	case protocol.PermissionOpened:
		return w.ask(c.Permission)
	case protocol.PermissionClosed:
		return w.close(c.Permission)
	case protocol.AdapterBound:
		w.binding = c
	case protocol.ProfileChanged:
		return w.profiled(c)
	case protocol.SessionDeleted:
		w.exists, w.deleted = false, true
	case protocol.PromptQueued:
		return w.enqueue(c.Queued)
	case protocol.QueueEdited, protocol.QueueRemoved:
		return w.requeue(c)
	case protocol.LaunchChanged:
		w.opened.Spec.Agent, w.opened.Spec.Launch = c.Agent, c.Launch
	default:
		return fmt.Errorf("change %T", c)
	}
	return nil
}

// profiled holds what the revision is: it counts the changes of options and modes,
// and nothing else (S3).
func (w *twin) profiled(c protocol.ProfileChanged) error {
	want := w.profile.ConfigRevision
	if string(c.ConfigOptions) != string(w.profile.ConfigOptions) || string(c.Metadata) != string(w.profile.Metadata) {
		want++
	}
	if c.ConfigRevision != want {
		return fmt.Errorf("revision %d follows %d: %+v", c.ConfigRevision, w.profile.ConfigRevision, c)
	}
	w.profile = c
	return nil
}

func (w *twin) enqueue(q protocol.Queued) error {
	for _, other := range w.queue {
		if other.ID == q.ID || other.Position >= q.Position || q.Key != "" && other.Key == q.Key {
			return fmt.Errorf("%+v is queued behind %+v", q, other)
		}
	}
	if q.Key != "" && w.byKey(q.Key) != nil {
		return fmt.Errorf("key %q is used and queued", q.Key)
	}
	w.queue = append(w.queue, q)
	return nil
}

func (w *twin) requeue(c protocol.Change) error {
	for i := range w.queue {
		switch c := c.(type) {
		case protocol.QueueEdited:
			if w.queue[i].ID == c.ID {
				w.queue[i].Content, w.queue[i].Hash = c.Content, c.Hash
				return nil
			}
		case protocol.QueueRemoved:
			if w.queue[i].ID == c.ID {
				w.queue = append(w.queue[:i:i], w.queue[i+1:]...)
				return nil
			}
		}
	}
	return fmt.Errorf("%+v of a prompt that is not queued", c)
}

func (w *twin) event(e protocol.Event) error {
	switch {
	case e.Sequence != protocol.Sequence(len(w.events)+1):
		return fmt.Errorf("event %d follows %d", e.Sequence, len(w.events))
	case e.At < w.lastAt():
		return fmt.Errorf("event %d is of %d, and %d is stored", e.Sequence, e.At, w.lastAt())
	case e.ACP < 1 || len(e.Payload) == 0 || e.Run != "":
		return fmt.Errorf("event %d cannot be stored: %+v", e.Sequence, e)
	}
	w.events = append(w.events, e)
	return nil
}

func (w *twin) accept(p protocol.Prompt) error {
	if w.active() != nil || p.State != protocol.PromptAcceptedState || p.CreatedAt < w.lastAt() ||
		p.FirstInput != protocol.Sequence(len(w.events)+1) {
		return fmt.Errorf("prompt cannot be accepted: %+v", p)
	}
	if p.Key != "" && w.byKey(p.Key) != nil {
		return fmt.Errorf("key %q is used twice", p.Key)
	}
	for _, q := range w.queue {
		if q.ID == p.ID || p.Key != "" && q.Key == p.Key {
			return fmt.Errorf("%+v is accepted and queued", p)
		}
	}
	w.prompts = append(w.prompts, p)
	return nil
}

func (w *twin) end(p protocol.Prompt) error {
	a := w.active()
	switch {
	case a == nil || a.ID != p.ID || p.FirstInput != a.FirstInput || p.CreatedAt != a.CreatedAt || p.UpdatedAt < w.lastAt():
		return fmt.Errorf("end of a prompt that is not running: %+v", p)
	case len(w.pending()) > 0:
		return fmt.Errorf("prompt %s ends and %d permissions are pending", p.ID, len(w.pending()))
	case p.LastOutput != protocol.Sequence(len(w.events)):
		return fmt.Errorf("prompt %s ends at %d and events at %d", p.ID, p.LastOutput, len(w.events))
	case (p.State == protocol.PromptCompletedState) != (p.Result != nil) || (p.State == protocol.PromptFailedState) != (p.Error != nil):
		return fmt.Errorf("prompt %s ends as %s with result %s, error %s", p.ID, p.State, p.Result, p.Error)
	}
	*a = p
	return nil
}

func (w *twin) ask(p protocol.Permission) error {
	if w.active() == nil || p.Prompt != w.active().ID || p.State != protocol.PermissionPending || w.find(p.ID) != nil || p.CreatedAt < w.lastAt() {
		return fmt.Errorf("permission cannot be opened: %+v", p)
	}
	w.permissions = append(w.permissions, p)
	return nil
}

func (w *twin) close(p protocol.Permission) error {
	was := w.find(p.ID)
	if was == nil || was.State != protocol.PermissionPending {
		return fmt.Errorf("permission %s is not pending", p.ID)
	}
	e := w.events[len(w.events)-1]
	accepted := p.State == protocol.PermissionResponded
	switch {
	case e.Kind != protocol.KindPermissionResponse || e.Request != p.ID || p.Sequence != e.Sequence:
		return fmt.Errorf("permission %s has no response event before it", p.ID)
	case accepted != (e.Status == protocol.OutcomeAccepted) || accepted != (p.Response != nil) || accepted != (p.Reason == protocol.ReasonAccepted):
		return fmt.Errorf("permission and response event disagree: %+v, %+v", p, e)
	}
	*was = p
	return nil
}

func (w *twin) active() *protocol.Prompt {
	if n := len(w.prompts); n > 0 && w.prompts[n-1].State == protocol.PromptAcceptedState {
		return &w.prompts[n-1]
	}
	return nil
}

// byKey returns the prompt that a key was used for.
func (w *twin) byKey(key string) *protocol.Prompt {
	for i := range w.prompts {
		if w.prompts[i].Key == key {
			return &w.prompts[i]
		}
	}
	return nil
}

// used answers FindKey from the tables.
func (w *twin) used(key string) *sessions.StoredKey {
	p := w.byKey(key)
	if p == nil {
		return nil
	}
	stored := sessions.Recall("s", *p, sessions.Spoken(nil, w.events[p.FirstInput-1:p.LastOutput]))
	return &stored
}

func (w *twin) find(id protocol.RequestID) *protocol.Permission {
	for i := range w.permissions {
		if w.permissions[i].ID == id {
			return &w.permissions[i]
		}
	}
	return nil
}

func (w *twin) pending() (list []protocol.Permission) {
	for _, p := range w.permissions {
		if p.State == protocol.PermissionPending {
			list = append(list, p)
		}
	}
	return list
}

func (w *twin) lastAt() protocol.TimeMS {
	at := w.opened.CreatedAt
	for _, e := range w.events {
		at = max(at, e.At)
	}
	for _, p := range w.prompts {
		at = max(at, p.UpdatedAt)
	}
	for _, p := range w.permissions {
		at = max(at, p.UpdatedAt)
	}
	return at
}

// record counts the session's row from the tables.
func (w *twin) record() protocol.Record {
	r := w.opened
	r.ACPSession, r.Prompted, r.Armed = w.binding.ACPSession, w.binding.Prompted, w.binding.Armed
	r.RestoredBy, r.PreviousACP = w.binding.RestoredBy, w.binding.PreviousACP
	r.Capabilities, r.AgentInfo = w.binding.Capabilities, w.binding.AgentInfo
	r.ConfigRevision, r.ConfigOptions = w.profile.ConfigRevision, w.profile.ConfigOptions
	r.Title, r.Metadata = w.profile.Title, w.profile.Metadata
	r.Latest, r.RetainedEvents = protocol.Sequence(len(w.events)), int64(len(w.events))
	r.RetainedBytes, r.LastAt = 0, w.lastAt()
	for _, e := range w.events {
		r.RetainedBytes += int64(len(e.Payload))
	}
	if n := len(w.prompts); n > 0 {
		last := w.prompts[n-1]
		r.UpdatedAt = last.UpdatedAt
		switch {
		case len(w.pending()) > 0:
			r.State, r.Prompt, r.StartedAt = protocol.StateWaiting, last.ID, last.CreatedAt
		case last.State == protocol.PromptAcceptedState:
			r.State, r.Prompt, r.StartedAt = protocol.StateRunning, last.ID, last.CreatedAt
		case last.State == protocol.PromptFailedState:
			r.State, r.Prompt, r.StartedAt = protocol.StateFailed, last.ID, last.CreatedAt
		}
	}
	return r
}

func (w *twin) snapshot() protocol.Snapshot {
	snap := protocol.Snapshot{Record: w.record(), Pending: w.pending(), Queue: slices.Clone(w.queue)}
	if a := w.active(); a != nil {
		p := *a
		snap.Active = &p
	} else if n := len(w.prompts); n > 0 {
		snap.Failure = w.prompts[n-1].Error
	}
	return snap
}

// check holds what must be true after each transaction (S6.3, S8.2).
func (w *twin) check() error {
	asked, answered := map[protocol.RequestID]int{}, map[protocol.RequestID]int{}
	for _, e := range w.events {
		switch e.Kind {
		case protocol.KindPermissionRequest:
			asked[e.Request]++
		case protocol.KindPermissionResponse:
			answered[e.Request]++
		}
	}
	for _, p := range w.permissions {
		want := 1
		if p.State == protocol.PermissionPending {
			want = 0
		}
		if asked[p.ID] != 1 || answered[p.ID] != want {
			return fmt.Errorf("permission %s is %s, asked %d times, answered %d times", p.ID, p.State, asked[p.ID], answered[p.ID])
		}
	}
	if len(asked) != len(w.permissions) {
		return fmt.Errorf("%d permission requests in history, %d records", len(asked), len(w.permissions))
	}
	return nil
}
