package sessions

import (
	"bytes"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
)

// waits is who waits for the turn of a queued prompt, and what they want done
// with questions. It is soft: over a crash the prompt stays and they do not.
type waits struct {
	callers []uint64
	ifAsked IfAsked
}

// enqueue stores a prompt behind the others (S6.9). Its events are written when
// its turn begins.
func (s *Session) enqueue(in Prompt) {
	position := int64(1)
	if n := len(s.queue); n > 0 {
		position = s.queue[n-1].Position + 1
	}
	q := protocol.Queued{
		ID: in.ID, Position: position, Content: joinBlocks(in.Blocks),
		Hash: in.Hash, Key: in.Key, CreatedAt: s.clock(in.At),
	}
	s.record(protocol.PromptQueued{Queued: q})
	s.awaitQueued(q, in)
}

// awaitQueued answers the caller now, or notes that it waits for the turn.
func (s *Session) awaitQueued(q protocol.Queued, in Prompt) {
	if in.NoWait {
		s.after(Reply{Token: in.Token, Queued: &q})
		return
	}
	w := s.waits[q.ID]
	if len(w.callers) == 0 || in.IfAsked == WaitForAnswer {
		w.ifAsked = in.IfAsked
	}
	w.callers = append(w.callers, uint64(in.Token))
	s.waits[q.ID] = w
}

func joinBlocks(blocks [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(blocks, []byte{','})...), ']')
}

// queued returns the queued prompt of that id, or nil.
func (s *Session) queued(id protocol.PromptID) *protocol.Queued {
	for i := range s.queue {
		if s.queue[i].ID == id {
			return &s.queue[i]
		}
	}
	return nil
}

// queuedKey returns the queued prompt that holds key, or nil.
func (s *Session) queuedKey(key string) *protocol.Queued {
	for i := range s.queue {
		if s.queue[i].Key == key {
			return &s.queue[i]
		}
	}
	return nil
}

// paused reports whether the queue waits for a person: behind a turn of which it
// is not known how far it came.
func (s *Session) paused() bool { return !s.resumed && Pauses(s.failure) }

// Pauses reports whether a session that has failed of this, the JSON of an error,
// does not go on with its queue by itself (S6.9).
func Pauses(failure []byte) bool {
	if failure == nil {
		return false
	}
	switch public.ParseErrorObject(failure).Code {
	case protocol.CodePromptDeliveryUncertain, protocol.CodePromptInterrupted:
		return true
	}
	return false
}

// drain begins the turn of the first queued prompt if nothing is in its way.
func (s *Session) drain(at protocol.TimeMS) {
	if !s.drains || len(s.queue) == 0 || s.occupied() != "" || s.paused() {
		return
	}
	q := s.queue[0]
	blocks, err := acp.Blocks(q.Content)
	if err != nil { // only a damaged database has it: what is queued was checked
		s.now(Note{Text: "a queued prompt was dropped: it cannot be read"})
		s.unqueue(q.ID)
		return
	}
	w := s.waits[q.ID]
	delete(s.waits, q.ID)
	s.reserve(Prompt{
		ID: q.ID, Message: protocol.MessageID(q.ID), Blocks: blocks, Hash: q.Hash, Key: q.Key, IfAsked: w.ifAsked, At: at,
	}, w.callers, true)
}

// unqueue takes a prompt out of the queue and tells who waits for it.
func (s *Session) unqueue(id protocol.PromptID) {
	s.record(protocol.QueueRemoved{ID: id})
	s.turnAway(id)
	s.resumed = s.resumed && len(s.queue) > 0
}

// turnAway tells those who wait for a queued prompt that its turn will not come.
func (s *Session) turnAway(id protocol.PromptID) {
	reply := s.cancelledReply(id)
	for _, caller := range s.waits[id].callers {
		reply.Token = Token(caller)
		s.after(reply)
	}
	delete(s.waits, id)
}

func (s *Session) stepQueueEdit(in QueueEdit) *protocol.Error {
	if err := s.checkContent(in.Blocks); err != nil {
		return err
	}
	if err := s.findQueued(in.ID); err != nil {
		return err
	}
	s.record(protocol.QueueEdited{ID: in.ID, Content: joinBlocks(in.Blocks), Hash: in.Hash})
	s.after(Reply{Token: in.Token})
	return nil
}

func (s *Session) stepQueueRemove(in QueueRemove) *protocol.Error {
	if err := s.findQueued(in.ID); err != nil {
		return err
	}
	s.unqueue(in.ID)
	s.after(Reply{Token: in.Token})
	return nil
}

// findQueued refuses what is not in the queue, or not any more.
func (s *Session) findQueued(id protocol.PromptID) *protocol.Error {
	switch {
	case !s.exists:
		return s.noSession()
	case s.occupied() == id:
		return protocol.Errorf(protocol.CodeSessionBusy, "prompt %s has begun its turn; cancel it with agentos cancel", id).With("promptId", string(id))
	case s.queued(id) == nil:
		return protocol.Errorf(protocol.CodeRequestNotFound, "session %q has no queued prompt %q; agentos queue list shows those there are", s.rec.ID, id)
	}
	return nil
}

func (s *Session) stepQueueResume(in QueueResume) *protocol.Error {
	if !s.exists {
		return s.noSession()
	}
	s.drains, s.resumed = true, len(s.queue) > 0
	s.after(Reply{Token: in.Token})
	return nil
}
