package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/store"
	"agentos/adapters/scripted/wire"
)

// The values of the one config option, and the modes. Neither is stored: a
// client that restores a session sets them again, and [[session]] shows whether
// it did.
const (
	verbosityShort = "short"
	verbosityLong  = "long"
	modeDefault    = "default"
	modePlan       = "plan"
)

// reservedIDs is how many ids of a kind are set aside at once. After a kill the
// session goes on above what was set aside, so that no id that was on the wire
// is given to something else, without a write for each.
const reservedIDs = 64

// session is one open conversation.
type session struct {
	id    string
	store *store.Store

	mu        sync.Mutex // guards what follows
	opened    openParams // of the newest session/new, load or resume
	stored    bool       // it has a file
	tags      []string
	prompts   int
	used      store.IDs // ids given out
	bound     store.IDs // ids that may be given out without a further write
	verbosity string
	mode      string
	turn      *turn // the running one, or nil
}

// newSession returns a session without a past or a file.
func newSession(id string, st *store.Store) *session {
	return &session{id: id, store: st, verbosity: verbosityShort, mode: modeDefault}
}

// forgetful returns a session that goes on in a file but remembers nothing of it.
func forgetful(id string, st *store.Store, past *store.Past) *session {
	s := newSession(id, st)
	s.stored, s.used, s.bound = true, past.IDs, past.IDs
	return s
}

// restored returns the session that a file tells of.
func restored(id string, st *store.Store, past *store.Past) *session {
	s := forgetful(id, st, past)
	s.prompts = past.Prompts
	for _, e := range past.Entries {
		if e.User { // what the agent itself said is no proof of context
			s.see(script.Texts(e.Content))
		}
	}
	return s
}

// see remembers the tags of texts.
func (s *session) see(texts []string) {
	for _, text := range texts {
		s.tags = script.AddTags(s.tags, text)
	}
}

// open takes over what the client opened the session with. A system prompt is
// context, so its tags count.
func (s *session) open(p openParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = p
	if p.SystemPrompt != nil {
		s.see(script.Texts(p.SystemPrompt.Content))
	}
}

// create begins the session's file if there is none. The caller holds mu, or
// is the only one to know the session.
func (s *session) create() error {
	if s.stored {
		return nil
	}
	if err := s.store.Create(s.id, s.opened.Cwd); err != nil {
		return err
	}
	s.stored = true
	return nil
}

// begin makes a turn of a prompt and stores the prompt. It fails with a
// *wire.Error while another turn runs.
func (s *session) begin(a *agent, request json.RawMessage, content []json.RawMessage, blocks []script.Block) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "a prompt is already running in this session")
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	used := s.used
	used.Messages++
	bound := above(used)
	id := messageID(used.Messages)
	if err := s.store.Prompt(s.id, id, content, bound); err != nil {
		return nil, err
	}
	s.used, s.bound = used, bound
	s.prompts++
	for _, b := range blocks {
		s.tags = script.AddTags(s.tags, b.Text)
	}
	t := &turn{agent: a, session: s, request: request, messageID: id, stop: stopEndTurn, done: make(chan struct{})}
	t.steps, t.words = script.Parse(blocks, formOf)
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	s.turn = t
	return t, nil
}

// finish stores what a turn said and lets the next one begin.
func (s *session) finish(t *turn, stop string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	s.bound = s.used
	return s.store.Reply(s.id, t.spoken(), stop, s.used)
}

// running returns the turn that runs, or nil.
func (s *session) running() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// reserve sets more ids aside when the bound was passed. A failed write is not
// reported: the end of the turn writes to the same file, and is.
func (s *session) reserve() {
	if s.used.Messages <= s.bound.Messages && s.used.Calls <= s.bound.Calls {
		return
	}
	s.bound = above(s.used)
	if err := s.store.Bound(s.id, s.bound); err != nil {
		s.bound = s.used
	}
}

// remember runs a write to the session's file, which there must be.
func (s *session) remember(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stored {
		return fmt.Errorf("append to session %s: %w", s.id, fs.ErrNotExist)
	}
	return write()
}

func messageID(n int) string { return "m" + strconv.Itoa(n) }

func above(used store.IDs) store.IDs {
	return store.IDs{Messages: used.Messages + reservedIDs, Calls: used.Calls + reservedIDs}
}
