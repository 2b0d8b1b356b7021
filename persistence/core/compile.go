package core

import (
	"errors"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// BatchError says that a group was refused before it reached the database,
// because one of its batches cannot be a continuation of what is before it in
// the group. It is a mistake of whoever made the batch. It is definite, as
// persistence.Definite has it: the group without the batch may be stored.
type BatchError struct {
	Index   int // in the group given to Compile
	Session protocol.SessionID
	Reason  string
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("compile batch %d of session %q: %s", e.Index, e.Session, e.Reason)
}

// Unwrap returns what the database would have said, had it been asked.
func (e *BatchError) Unwrap() error {
	return &persistence.Error{Class: persistence.ClassMismatch, Wave: -1, Stmt: -1, Err: errors.New(e.Reason)}
}

// Compile folds a group of batches into waves of statements for one
// transaction. Batches of one session are in their order and each continues the
// one before; different sessions may be mixed in any way.
//
// It returns one or two waves, nil for an empty group, with at most twenty
// statements in all, whatever the size of the group. If the database is not
// where the first Base of a session says, or refuses a row, the transaction
// fails with a definite error and nothing of the group is stored. The caller
// puts the fence's guard in front of the first wave.
//
// The error is a *BatchError. Payload bytes are copied.
func Compile(batches []protocol.Batch) (waves [][]persistence.Stmt, err error) {
	g := newGroup(len(batches))
	for i := range batches {
		if err := g.add(&batches[i]); err != nil {
			return nil, &BatchError{Index: i, Session: batches[i].Session, Reason: err.Error()}
		}
	}
	for _, s := range g.sessions {
		if err := g.finish(s); err != nil {
			return nil, &BatchError{Index: s.index, Session: s.id, Reason: err.Error()}
		}
	}
	g.finishPrompts()
	g.finishPermissions()
	g.finishQueue()
	return g.waves(), nil
}

// group is what becomes of a group of batches while it is folded.
type group struct {
	at       int // index of the batch that is being added
	sessions []*session
	byID     map[protocol.SessionID]*session

	prompts     []*prompt
	permissions []*permission

	queued                                              []*queued
	queueIns, queueEdit, queueDrop                      []values
	nameIns                                             []values
	sessionIns, advance, extend                         []values
	adapter, profile, launch, drop                      []values
	events, promptIns, promptEnd                        []values
	recordIns, recordClose, recordDrop, outcomeIns      []values
	endedPrompts                                        []values
	sessionCount, promptCount, pendingCount, closeCount int64
}

// session is the fold of all batches of one session.
type session struct {
	id                               protocol.SessionID
	index                            int              // of its last batch
	base                             protocol.Base    // of its first batch
	row                              *protocol.Record // of its last batch
	opened, adapter, profile, launch bool
	deleted                          bool
	prompts                          map[protocol.PromptID]*prompt
	permissions                      map[protocol.RequestID]*permission
	queued                           map[protocol.PromptID]*queued
}

// queued is the fold of all changes of one queued prompt.
type queued struct {
	session protocol.SessionID
	last    protocol.Queued
	added   bool // in this group
	edited  bool // its content is that of last
	removed bool
}

// prompt is the fold of all changes of one prompt.
type prompt struct {
	session  protocol.SessionID
	last     protocol.Prompt
	accepted bool // in this group
	ended    bool
}

// permission is the fold of all changes of one permission request.
type permission struct {
	session protocol.SessionID
	last    protocol.Permission
	opened  bool // in this group
	closed  bool
	dropped bool // its prompt ended in this group, so no record stays
}

func newGroup(size int) *group {
	return &group{byID: make(map[protocol.SessionID]*session, size), events: make([]values, 0, 2*size)}
}

// finish adds the rows of the sessions table that s needs.
func (g *group) finish(s *session) error {
	if s.deleted {
		g.drop = append(g.drop, values{string(s.id)})
	}
	if s.opened {
		row, err := sessionRow(s.row)
		if err != nil {
			return err
		}
		g.sessionIns = append(g.sessionIns, row)
		g.nameIns = append(g.nameIns, values{string(s.id)})
		g.sessionCount++
		return nil
	}
	if len(s.prompts) > 0 {
		g.advance = append(g.advance, advanceRow(s.base, s.row))
	} else {
		g.extend = append(g.extend, extendRow(s.base, s.row))
	}
	if s.adapter {
		g.adapter = append(g.adapter, adapterRow(s.row))
	}
	if s.profile {
		g.profile = append(g.profile, profileRow(s.row))
	}
	if s.launch {
		row, err := launchRow(s.row)
		if err != nil {
			return err
		}
		g.launch = append(g.launch, row)
	}
	return nil
}

func (g *group) finishPrompts() {
	for _, p := range g.prompts {
		switch {
		case p.accepted:
			g.promptIns = append(g.promptIns, promptRow(p.session, &p.last))
			g.promptCount++
		case p.ended:
			g.promptEnd = append(g.promptEnd, endRow(p.session, &p.last))
			g.endedPrompts = append(g.endedPrompts, values{string(p.session), string(p.last.ID)})
		}
	}
}

func (g *group) finishQueue() {
	for _, q := range g.queued {
		switch {
		case q.added && !q.removed:
			g.queueIns = append(g.queueIns, queuedRow(q.session, &q.last))
		case q.added:
		case q.removed:
			g.queueDrop = append(g.queueDrop, values{string(q.session), string(q.last.ID)})
		case q.edited:
			g.queueEdit = append(g.queueEdit, values{string(q.last.Content), q.last.Hash[:], string(q.session), string(q.last.ID)})
		}
	}
}

func (g *group) finishPermissions() {
	for _, p := range g.permissions {
		switch {
		case p.opened && !p.closed:
			g.pendingCount++
		case !p.opened:
			g.pendingCount--
		}
		switch {
		case p.dropped:
			if !p.opened {
				g.recordDrop = append(g.recordDrop, values{string(p.session), string(p.last.ID)})
			}
			g.outcomeIns = append(g.outcomeIns, outcomeRow(p.session, &p.last))
			g.closeCount++
		case p.opened:
			g.recordIns = append(g.recordIns, recordRow(p.session, &p.last))
		default:
			g.recordClose = append(g.recordClose, closeRow(p.session, &p.last))
		}
	}
}

// waves orders the statements. Almost all are independent of each other; what
// must wait is the insert of a prompt, for the end of the one before it in its
// session (one accepted prompt a session), the delete of closed records, for their
// copies, and the events of a new session, for its number. The compare-and-set is
// first so that a handle that runs a loop fails before it has done much.
func (g *group) waves() [][]persistence.Stmt {
	var first, second wave
	first.set(advanceSession, g.advance)
	first.set(extendSession, g.extend)
	first.set(insertSession, g.sessionIns)
	first.set(nameSession, g.nameIns)
	first.set(bindAdapter, g.adapter)
	first.set(changeProfile, g.profile)
	first.set(changeLaunch, g.launch)
	log := &first
	if len(g.nameIns) > 0 { // whose number the events need
		log = &second
	}
	log.run(insertEvent, g.events)
	first.set(endPrompt, g.promptEnd)
	first.set(insertRecord, g.recordIns)
	first.set(closeRecord, g.recordClose)
	first.set(deletePending, g.recordDrop)
	first.run(insertOutcome, g.outcomeIns)
	first.run(copyOutcomes, g.endedPrompts)
	first.set(countOutcomes, g.endedPrompts)
	if g.sessionCount != 0 || g.promptCount != 0 || g.pendingCount != 0 || g.closeCount != 0 {
		first.set(addTotals, []values{{g.sessionCount, g.promptCount, g.pendingCount, g.closeCount}})
	}
	first.set(editQueued, g.queueEdit)
	first.set(deleteQueued, g.queueDrop)
	queue := &first
	if len(g.queueDrop) > 0 { // whose key a new one may have
		queue = &second
	}
	queue.set(insertQueued, g.queueIns)
	inserts := &first
	if len(g.promptEnd) > 0 {
		inserts = &second
	}
	inserts.set(insertPrompt, g.promptIns)
	second.run(deleteClosed, g.endedPrompts)
	second.set(markDeleted, g.drop) // behind the compare-and-set, which wants it not to be

	var waves [][]persistence.Stmt
	for _, w := range []wave{first, second} {
		if len(w) > 0 {
			waves = append(waves, w)
		}
	}
	return waves
}

type wave []persistence.Stmt

// set adds a statement whose every row must hit.
func (w *wave) set(sql string, rows []values) {
	if len(rows) > 0 {
		*w = append(*w, persistence.Stmt{SQL: sql, Rows: rows, Want: len(rows)})
	}
}

// run adds a statement that may hit any number of rows.
func (w *wave) run(sql string, rows []values) {
	if len(rows) > 0 {
		*w = append(*w, persistence.Stmt{SQL: sql, Rows: rows, Want: -1})
	}
}
