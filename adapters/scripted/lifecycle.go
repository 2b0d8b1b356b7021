package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"agentos/adapters/scripted/store"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// openParams are the params of session/new, load and resume.
type openParams struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories"`
	MCPServers            *[]struct {
		Name string `json:"name"`
	} `json:"mcpServers"`
	SystemPrompt *struct {
		Mode    string            `json:"mode"`
		Content []json.RawMessage `json:"content"`
	} `json:"systemPrompt"`
	ReplayFrom *struct {
		Type string `json:"type"`
	} `json:"replayFrom"`
}

// opening reads and checks the params of session/new, load and resume.
func (a *agent) opening(m wire.Message) (p openParams, bad error) {
	if err := wire.Decode(m.Params, &p); err != nil {
		return p, err
	}
	switch {
	case !filepath.IsAbs(p.Cwd):
		return p, wire.Errorf(wire.CodeParams, "cwd must be an absolute path")
	case p.MCPServers == nil && a.surface.Version() == 1:
		return p, wire.Errorf(wire.CodeParams, "mcpServers is missing")
	case p.SystemPrompt != nil && !a.options.systemPrompt:
		return p, wire.Errorf(wire.CodeParams, "a system prompt is not supported")
	case p.SystemPrompt != nil && p.SystemPrompt.Mode != "append":
		return p, wire.Errorf(wire.CodeParams, "a system prompt can only be appended")
	case p.ReplayFrom != nil && p.ReplayFrom.Type != "start":
		return p, wire.Errorf(wire.CodeParams, "a replay can only begin at the start")
	}
	return p, nil
}

// create answers session/new.
func (a *agent) create(m wire.Message) (string, error) {
	p, err := a.opening(m)
	if err != nil {
		return "", err
	}
	if code := a.options.newError; code != 0 {
		return "", wire.Errorf(code, "no new session: the command line asks for that")
	}
	st, err := a.sessionStore()
	if err != nil {
		return "", err
	}
	s := newSession(store.NewID(), st)
	s.open(p)
	if !a.options.lazySessions {
		if err := s.create(); err != nil {
			return "", err
		}
	}
	a.keep(s)
	if a.options.earlyUpdates {
		a.conn.Update(s.id, `{"sessionUpdate":"available_commands_update","availableCommands":`+a.surface.Commands()+`}`)
	}
	return a.opened(s, s.id), nil
}

// load answers session/load: the conversation so far, then the answer.
func (a *agent) load(m wire.Message) (string, error) { return a.restore(m, true) }

// resume answers session/resume.
func (a *agent) resume(m wire.Message) (string, error) {
	return a.restore(m, a.options.replayOnResume)
}

func (a *agent) restore(m wire.Message, replay bool) (string, error) {
	p, err := a.opening(m)
	if err != nil {
		return "", err
	}
	if code := a.options.restoreError; code != 0 {
		return "", wire.Errorf(code, "no restored session: the command line asks for that")
	}
	s, past, err := a.revive(p.SessionID)
	if err != nil {
		return "", err
	}
	s.open(p)
	a.keep(s)
	if replay || p.ReplayFrom != nil {
		a.replay(s.id, past)
	}
	if u := a.surface.Restored(); u != "" {
		a.conn.Update(s.id, u)
	}
	return a.opened(s, ""), nil
}

// replay sends a conversation of the past.
func (a *agent) replay(id string, past *store.Past) {
	for _, e := range past.Entries {
		updates := []string{a.surface.Chunk("agent_message_chunk", e.MessageID, surface.Text(e.Text))}
		if e.User {
			updates = a.surface.Past(e.MessageID, e.Content)
		}
		for _, u := range updates {
			a.conn.Update(id, u)
		}
	}
}

// opened is the answer about an open session; newID is "" for a restored one.
func (a *agent) opened(s *session, newID string) string {
	verbosity, mode := s.settings()
	return a.surface.Opened(surface.Opened{SessionID: newID, Verbosity: verbosity, Mode: mode})
}

// revive finds a session, in memory or in its file, and its past.
func (a *agent) revive(id string) (*session, *store.Past, error) {
	st, err := a.sessionStore()
	if err != nil {
		return nil, nil, err
	}
	s := a.session(id)
	if s != nil && s.running() != nil {
		return nil, nil, wire.Errorf(wire.CodeInvalid, "a prompt is running in this session")
	}
	past, err := st.Restore(id)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err == nil && a.options.loadEmpty:
		// The ids go on all the same: they were on this session's wire.
		return forgetful(id, st, past), &store.Past{}, nil
	case missing && a.options.loadEmpty && store.ValidID(id):
		return newSession(id, st), &store.Past{}, nil
	case missing:
		return nil, nil, noSession(id)
	case err != nil:
		return nil, nil, err
	case s == nil:
		s = restored(id, st, past)
	}
	return s, past, nil
}

// close answers session/close when the running turn, which it cancels, has
// ended. It waits on a goroutine of its own, because that turn may need answers
// of the client, and they come through the caller.
func (a *agent) close(m wire.Message) (string, error) {
	var p sessionParams
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	a.mu.Lock()
	s := a.sessions[p.SessionID]
	delete(a.sessions, p.SessionID)
	a.mu.Unlock()
	if s == nil && !a.surface.CloseUnknown() {
		return "", noSession(p.SessionID)
	}
	if s == nil {
		return "{}", nil
	}
	t := s.running()
	if t == nil {
		return "{}", nil
	}
	t.cancel()
	a.spawn(func() {
		select {
		case <-t.done:
			a.conn.Answer(m.ID, "{}")
		case <-a.ctx.Done():
		}
	})
	return "", errLater
}

// pageSize is how many sessions a list has at once.
const pageSize = 50

// list answers session/list. The cursor is how many sessions came before.
func (a *agent) list(m wire.Message) (string, error) {
	var p struct {
		Cwd    string  `json:"cwd"`
		Cursor *string `json:"cursor"`
	}
	if err := wire.Decode(m.Params, &p); err != nil {
		return "", err
	}
	st, err := a.sessionStore()
	if err != nil {
		return "", err
	}
	all, err := st.List(p.Cwd)
	if err != nil {
		return "", err
	}
	from := 0
	if p.Cursor != nil {
		if from, err = strconv.Atoi(*p.Cursor); err != nil || from < 0 {
			return "", wire.Errorf(wire.CodeParams, "that cursor is not one of this agent")
		}
	}
	from = min(from, len(all))
	to := min(from+pageSize, len(all))
	items := make([]json.RawMessage, 0, pageSize)
	for _, l := range all[from:to] {
		items = append(items, json.RawMessage(surface.Listed(l.ID, l.Cwd, l.Title, l.UpdatedAt)))
	}
	next := ""
	if to < len(all) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	return `{"sessions":` + wire.Array(items) + next + `}`, nil
}

// keep remembers an open session.
func (a *agent) keep(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
}

// sessionStore opens the directory of sessions when it is first needed, so that
// a machine without a place for one gets the error as an answer.
func (a *agent) sessionStore() (*store.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store != nil {
		return a.store, nil
	}
	s, err := store.Open(a.env)
	if err != nil {
		return nil, err
	}
	a.store = s
	return s, nil
}
