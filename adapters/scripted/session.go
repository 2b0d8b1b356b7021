package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
)

// The values of the one config option, and the modes. Neither is stored: a
// client that restores a session sets them again, and this agent shows whether
// it did.
const (
	verbosityShort = "short"
	verbosityLong  = "long"
	modeDefault    = "default"
	modePlan       = "plan"
)

// reservedIDs is how many ids of a kind are set aside at once. After a kill the
// session goes on above what was set aside, so that no id that was ever on the
// wire is given to something else, without a write for each.
const reservedIDs = 64

// session is one open conversation. Its fields but id and store are guarded by mu.
type session struct {
	id    string
	store *store

	mu        sync.Mutex
	opened    openParams // of the newest session/new, load or resume
	stored    bool       // it has a file
	created   string     // time of creation, RFC 3339
	title     string
	tags      []string
	prompts   int
	used      counters // ids given out
	reserved  counters // ids that may be given out without a further write
	verbosity string
	mode      string
	turn      *turn // the running one
	closing   bool  // session/close has begun
}

// newSession returns a session without a past.
func newSession(id string, s *store, created string) *session {
	return &session{id: id, store: s, created: created, verbosity: verbosityShort, mode: modeDefault}
}

// restored returns the session that a file tells of.
func restored(id string, s *store, past *saved) *session {
	sess := newSession(id, s, "")
	sess.stored = true
	sess.title, sess.tags, sess.prompts = past.title, past.tags, past.prompts
	sess.used, sess.reserved = past.ids, past.ids
	return sess
}

// open takes over what the client opened the session with. A system prompt is
// context, so its tags count.
func (s *session) open(p openParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = p
	if p.SystemPrompt != nil {
		s.tags = addTags(s.tags, p.SystemPrompt.text())
	}
}

// create writes the session's file if it has none. mu must be held.
func (s *session) create() error {
	if s.stored {
		return nil
	}
	if err := s.store.append(s.id, sessionLine(s.opened.Cwd, s.created)); err != nil {
		return err
	}
	s.stored = true
	return nil
}

// begin makes a turn of a prompt and stores the prompt. It fails with an
// *rpcError while another turn runs.
func (s *session) begin(a *agent, request json.RawMessage, content []json.RawMessage, blocks []block) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, noSession(s.id)
	case s.turn != nil:
		return nil, fault(codeInvalid, "a prompt is already running in this session")
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	used := s.used
	used.Messages++
	reserved := counters{Messages: used.Messages + reservedIDs, Calls: used.Calls + reservedIDs}
	id := messageID(used.Messages)
	if err := s.store.append(s.id, promptLine(id, content, reserved)); err != nil {
		return nil, err
	}
	s.used, s.reserved = used, reserved
	s.prompts++
	for _, b := range blocks {
		s.tags = addTags(s.tags, b.text)
	}
	t := &turn{agent: a, session: s, request: request, content: content, messageID: id, stop: stopEndTurn, done: make(chan struct{})}
	t.steps, t.plain = parseScript(blocks)
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	s.turn = t
	return t, nil
}

// finish stores what a turn said and lets the next one begin.
func (s *session) finish(t *turn, stop string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	s.reserved = s.used
	return s.store.append(s.id, replyLine(t.spoken(), stop, s.used))
}

// running returns the turn that runs, or nil.
func (s *session) running() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// shut marks the session as closing and returns the turn that runs, or nil.
func (s *session) shut() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	return s.turn
}

// context is what a reply names: the tags, how many prompts there were, and how
// much to say.
func (s *session) context() (tags []string, prompts int, verbosity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tags), s.prompts, s.verbosity
}

// params returns what the client opened the session with.
func (s *session) params() openParams {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// settings returns the verbosity and the mode.
func (s *session) settings() (verbosity, mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verbosity, s.mode
}

// nextMessage gives out a message id: m1, m2, and so on.
func (s *session) nextMessage() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Messages++
	s.reserve()
	return messageID(s.used.Messages)
}

// nextCall gives out a tool call id: call_1, call_2, and so on.
func (s *session) nextCall() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Calls++
	s.reserve()
	return "call_" + strconv.Itoa(s.used.Calls)
}

// reserve sets more ids aside when the last reserved one was passed. A failed
// write is not reported here: the turn's end writes to the same file and is.
func (s *session) reserve() {
	if s.used.Messages <= s.reserved.Messages && s.used.Calls <= s.reserved.Calls {
		return
	}
	s.reserved = counters{Messages: s.used.Messages + reservedIDs, Calls: s.used.Calls + reservedIDs}
	if err := s.store.append(s.id, idsLine(s.reserved)); err != nil {
		s.reserved = s.used
	}
}

// setTitle gives the session a title.
func (s *session) setTitle(title string) error {
	if err := s.remember(titleLine(title)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title = title
	return nil
}

// remember appends a line to the session's file.
func (s *session) remember(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stored {
		return fmt.Errorf("append to session %s: %w", s.id, fs.ErrNotExist)
	}
	return s.store.append(s.id, line)
}

func messageID(n int) string { return "m" + strconv.Itoa(n) }
