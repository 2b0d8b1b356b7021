package sessions

import "agentos/protocol"

// maxKeyBytes bounds an idempotency key (S6.8).
const maxKeyBytes = 256

func checkKey(key string) *protocol.Error {
	if len(key) > maxKeyBytes {
		return protocol.Errorf(protocol.CodeInvalidArgument, "an idempotency key has 1 to %d bytes, this one has %d", maxKeyBytes, len(key))
	}
	return nil
}

// beginKeyed begins a turn under an idempotency key, or joins the one that holds
// it. What the key was used for before this machine's memory stands in the
// database: until the owner has looked, the prompt is parked, and so is every
// other one with that key, which is why none can slip in between (S6.8).
func (s *Session) beginKeyed(in Prompt) *protocol.Error {
	if joined, err := s.join(in); joined || err != nil {
		return err
	}
	if s.parked[in.Key] = append(s.parked[in.Key], in); len(s.parked[in.Key]) == 1 {
		s.after(FindKey{Key: in.Key}) // behind what is being stored, the end of a turn with this key perhaps
	}
	return nil
}

// join makes the caller one more who waits for the running or queued prompt that
// holds its key, if there is one.
func (s *Session) join(in Prompt) (joined bool, err *protocol.Error) {
	if s.turn != nil && s.turn.Key == in.Key {
		if in.Hash != s.turn.Hash {
			return false, s.keyConflict(in.Key)
		}
		if in.NoWait {
			s.after(Reply{Token: in.Token, Queued: &protocol.Queued{ID: s.turn.ID, Hash: in.Hash, Key: in.Key, CreatedAt: s.clock(in.At)}})
			return true, nil
		}
		s.turn.Callers = append(s.turn.Callers, uint64(in.Token))
		if in.IfAsked == WaitForAnswer { // somebody is there now
			s.turn.IfAsked, s.prompt.IfAsked = int(WaitForAnswer), WaitForAnswer
		}
		return true, nil
	}
	q := s.queuedKey(in.Key)
	switch {
	case q == nil:
		return false, nil
	case in.Hash != q.Hash:
		return false, s.keyConflict(in.Key)
	}
	s.awaitQueued(*q, in)
	return true, nil
}

func (s *Session) keyConflict(key string) *protocol.Error {
	return protocol.Errorf(protocol.CodeIdempotencyConflict,
		"the key %q was used for another prompt in session %q; take a new key for a new prompt", key, s.rec.ID)
}

// stepKeyFound goes on with the prompts that waited to know what their key was
// used for: the first of them begins the turn if it was not, the others join it.
func (s *Session) stepKeyFound(in KeyFound) {
	waiting := s.parked[in.Key]
	delete(s.parked, in.Key)
	for _, p := range waiting {
		reply := Reply{Token: p.Token}
		switch {
		case in.Err != nil:
			reply.Err = in.Err
		case in.Stored == nil:
			p.At = in.At
			if reply.Err = s.resume(p); reply.Err == nil {
				continue
			}
		case in.Stored.Hash != p.Hash:
			reply.Err = s.keyConflict(p.Key)
		default:
			reply.Answer, reply.Err = in.Stored.Answer, in.Stored.Err
		}
		s.after(reply)
	}
}

// resume goes on with a prompt whose key has not been used.
func (s *Session) resume(p Prompt) *protocol.Error {
	if joined, err := s.join(p); joined || err != nil {
		return err
	}
	if p.Open != nil {
		open := *p.Open
		open.At = p.At
		p.Open = &open
	}
	return s.begin(p)
}
