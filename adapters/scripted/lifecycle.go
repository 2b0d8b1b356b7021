package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// openParams are the params of session/new, load and resume.
type openParams struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories"`
	MCPServers            *[]struct {
		Name string `json:"name"`
	} `json:"mcpServers"`
	SystemPrompt *systemPrompt `json:"systemPrompt"`
	ReplayFrom   *struct {
		Type string `json:"type"`
	} `json:"replayFrom"`
}

type systemPrompt struct {
	Mode    string            `json:"mode"`
	Content []json.RawMessage `json:"content"`
}

// text joins the text of a system prompt.
func (p *systemPrompt) text() string {
	var texts []string
	for _, raw := range p.Content {
		if b, err := parseBlock(raw); err == nil {
			texts = append(texts, b.text)
		}
	}
	return strings.Join(texts, "\n")
}

// opening reads and checks the params of session/new, load and resume.
func (a *agent) opening(m message) (openParams, *rpcError) {
	var p openParams
	if err := decode(m.Params, &p); err != nil {
		return p, err
	}
	switch {
	case !filepath.IsAbs(p.Cwd):
		return p, fault(codeParams, "cwd must be an absolute path")
	case p.MCPServers == nil && a.surface.version() == 1:
		return p, fault(codeParams, "mcpServers is missing")
	case p.SystemPrompt != nil && !a.options.systemPrompt:
		return p, fault(codeParams, "a system prompt is not supported")
	case p.SystemPrompt != nil && p.SystemPrompt.Mode != "append":
		return p, fault(codeParams, "a system prompt can only be appended")
	}
	return p, nil
}

// create answers session/new.
func (a *agent) create(m message) (string, error) {
	p, bad := a.opening(m)
	switch {
	case bad != nil:
		return "", bad
	case a.options.newError != 0:
		return "", fault(a.options.newError, "no new session, as the command line asks")
	}
	store, err := a.sessionStore()
	if err != nil {
		return "", err
	}
	s := newSession(newID(), store, time.Now().UTC().Format(time.RFC3339))
	s.open(p)
	if !a.options.lazySessions {
		if err := s.create(); err != nil {
			return "", err
		}
	}
	a.keep(s)
	if a.options.earlyUpdates {
		a.conn.update(s.id, `{"sessionUpdate":"available_commands_update","availableCommands":`+a.surface.commands()+`}`)
	}
	return a.surface.opened(s, true), nil
}

// load answers session/load: the conversation so far, then the answer.
func (a *agent) load(m message) (string, error) { return a.restore(m, true) }

// resume answers session/resume.
func (a *agent) resume(m message) (string, error) { return a.restore(m, a.options.replayOnResume) }

func (a *agent) restore(m message, replay bool) (string, error) {
	p, bad := a.opening(m)
	switch {
	case bad != nil:
		return "", bad
	case a.options.restoreError != 0:
		return "", fault(a.options.restoreError, "no restored session, as the command line asks")
	case p.ReplayFrom != nil && p.ReplayFrom.Type != "start":
		return "", fault(codeParams, "a replay can only begin at the start")
	}
	s, past, err := a.revive(p.SessionID)
	if err != nil {
		return "", err
	}
	s.open(p)
	a.keep(s)
	if replay || p.ReplayFrom != nil {
		for _, e := range past.entries {
			a.surface.replay(a.conn, s.id, e)
		}
	}
	a.surface.restored(a.conn, s.id)
	return a.surface.opened(s, false), nil
}

// revive finds a session, in memory or in its file, and its past.
func (a *agent) revive(id string) (*session, *saved, error) {
	store, err := a.sessionStore()
	if err != nil {
		return nil, nil, err
	}
	s := a.session(id)
	if s != nil && s.running() != nil {
		return nil, nil, fault(codeInvalid, "a prompt is running in this session")
	}
	past, err := store.restore(id)
	_, naming := store.path(id)
	switch {
	case err == nil && a.options.loadEmpty:
		// The ids go on all the same: they were on this session's wire.
		s = newSession(id, store, "")
		s.stored, s.used, s.reserved = true, past.ids, past.ids
		past.entries = nil
	case err == nil && s == nil:
		s = restored(id, store, past)
	case errors.Is(err, fs.ErrNotExist) && a.options.loadEmpty && naming == nil:
		return newSession(id, store, time.Now().UTC().Format(time.RFC3339)), &saved{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, noSession(id)
	case err != nil:
		return nil, nil, err
	}
	return s, past, nil
}

// close answers session/close when the running turn, which it cancels, has
// ended. It waits on a goroutine of its own, because that turn may need answers
// of the client, and they come through the caller.
func (a *agent) close(m message) (string, error) {
	var p sessionParams
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return a.surface.closedUnknown(p.SessionID)
	}
	a.mu.Lock()
	delete(a.sessions, s.id)
	a.mu.Unlock()
	t := s.shut()
	if t == nil {
		return "{}", nil
	}
	t.cancel()
	a.turns.Go(func() {
		select {
		case <-t.done:
			a.conn.answer(m.ID, "{}")
		case <-a.ctx.Done():
		}
	})
	return "", errLater
}

// pageSize is how many sessions a list has at once.
const pageSize = 50

// list answers session/list. The cursor is how many sessions came before.
func (a *agent) list(m message) (string, error) {
	var p struct {
		Cwd    string  `json:"cwd"`
		Cursor *string `json:"cursor"`
	}
	if err := decode(m.Params, &p); err != nil {
		return "", err
	}
	store, err := a.sessionStore()
	if err != nil {
		return "", err
	}
	all, err := store.list(p.Cwd)
	if err != nil {
		return "", err
	}
	from := 0
	if p.Cursor != nil {
		if from, err = strconv.Atoi(*p.Cursor); err != nil || from < 0 {
			return "", fault(codeParams, "cursor not of this agent")
		}
	}
	from = min(from, len(all))
	to := min(from+pageSize, len(all))
	items := make([]json.RawMessage, 0, pageSize)
	for _, l := range all[from:to] {
		title := "null"
		if l.title != "" {
			title = quote(l.title)
		}
		items = append(items, json.RawMessage(fmt.Sprintf(`{"sessionId":%s,"cwd":%s,"title":%s,"updatedAt":%s}`,
			quote(l.id), quote(l.cwd), title, quote(l.updatedAt.UTC().Format("2006-01-02T15:04:05.000Z")))))
	}
	next := ""
	if to < len(all) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	return `{"sessions":` + array(items) + next + `}`, nil
}

// keep remembers an open session.
func (a *agent) keep(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
}

// sessionStore opens the directory of sessions when it is first needed, so that
// a machine without one gets its error as an answer.
func (a *agent) sessionStore() (*store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store != nil {
		return a.store, nil
	}
	s, err := openStore(a.env)
	if err != nil {
		return nil, err
	}
	a.store = s
	return s, nil
}
