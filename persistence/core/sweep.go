package core

import (
	"context"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// Bounds of one slice of a sweep: what other sessions' writes may have to wait
// for.
const (
	sweepRows  = 256
	sweepBytes = 1 << 20
)

// DeletingSessions returns the sessions that are deleted and not swept, by id. It
// costs an index seek, whatever the number of sessions.
func DeletingSessions(ctx context.Context, q persistence.Querier) ([]protocol.SessionID, error) {
	rows, err := query(ctx, q, 0, deletingSessions)
	if err != nil {
		return nil, fmt.Errorf("read deleted sessions: %w", err)
	}
	ids := make([]protocol.SessionID, 0, len(rows))
	for _, row := range rows {
		s := scan{row: row}
		ids = append(ids, protocol.SessionID(s.text()))
		if s.err != nil {
			return nil, fmt.Errorf("read deleted sessions: %w", damaged("", s.err))
		}
	}
	return ids, nil
}

// Deleting reports whether a session is deleted and not swept.
func Deleting(ctx context.Context, q persistence.Querier, id protocol.SessionID) (bool, error) {
	rows, err := query(ctx, q, 0, isDeleting, string(id))
	if err != nil {
		return false, fmt.Errorf("read deleted session: %w", err)
	}
	return len(rows) > 0, nil
}

// Sweep plans the next slice of what is left of a deleted session (S9.3): one
// wave that removes a bounded number of rows and bytes, the session's own row
// last. nil says that nothing is left. Nobody else writes rows of a deleted
// session, so that a plan holds until it is carried out; a crash between two
// slices loses nothing but time.
func Sweep(ctx context.Context, q persistence.Querier, id protocol.SessionID) ([]persistence.Stmt, error) {
	for _, plan := range []func(context.Context, persistence.Querier, protocol.SessionID) (wave, error){
		planEvents,
		sweepOf(sweepPrompts, deletePrompt, func(rows []values) values { return values{int64(0), -int64(len(rows)), int64(0), int64(0)} }),
		planRecords,
		sweepOf(sweepOutcomes, deleteOutcome, func(rows []values) values { return values{int64(0), int64(0), int64(0), -int64(len(rows))} }),
		sweepOf(sweepParts, deletePart, nil),
		sweepOf(sweepKeys, deleteKey, nil),
		sweepOf(sweepQueue, deleteQueued, nil),
		planSession,
	} {
		w, err := plan(ctx, q, id)
		if err != nil {
			return nil, fmt.Errorf("plan sweep: %w", err)
		}
		if len(w) > 0 {
			return w, nil
		}
	}
	return nil, nil
}

// planEvents takes as many of the oldest events as a slice may have.
func planEvents(ctx context.Context, q persistence.Querier, id protocol.SessionID) (w wave, err error) {
	rows, err := query(ctx, q, 0, sweepEvents, string(id), int64(sweepRows))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var last, bytes int64
	for _, row := range rows {
		s := scan{row: row}
		sequence, size := s.int(), s.int()
		if s.err != nil {
			return nil, damaged(id, s.err)
		}
		if last, bytes = sequence, bytes+size; bytes >= sweepBytes {
			break
		}
	}
	w.run(deleteEvents, []values{{string(id), last}})
	return w, nil
}

// sweepOf plans for a table whose rows are small: find returns keys, remove takes
// the session and a key, and count says what the totals lose.
func sweepOf(find, remove string, count func([]values) values) func(context.Context, persistence.Querier, protocol.SessionID) (wave, error) {
	return func(ctx context.Context, q persistence.Querier, id protocol.SessionID) (w wave, err error) {
		keys, err := query(ctx, q, 0, find, string(id), int64(sweepRows))
		if err != nil || len(keys) == 0 {
			return nil, err
		}
		rows := make([]values, len(keys))
		for i, key := range keys {
			rows[i] = append(values{string(id)}, key...)
		}
		w.set(remove, rows)
		if count != nil {
			w.set(addTotals, []values{count(rows)})
		}
		return w, nil
	}
}

func planRecords(ctx context.Context, q persistence.Querier, id protocol.SessionID) (w wave, err error) {
	found, err := query(ctx, q, 0, sweepRecords, string(id), int64(sweepRows))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	rows, pending := make([]values, len(found)), int64(0)
	for i, row := range found {
		s := scan{row: row}
		rows[i] = values{string(id), s.text()}
		pending += s.int()
		if s.err != nil {
			return nil, damaged(id, s.err)
		}
	}
	w.set(deleteRecord, rows)
	w.set(addTotals, []values{{int64(0), int64(0), -pending, int64(0)}})
	return w, nil
}

func planSession(ctx context.Context, q persistence.Querier, id protocol.SessionID) (w wave, err error) {
	deleting, err := Deleting(ctx, q, id)
	if err != nil || !deleting {
		return nil, err
	}
	w.set(deleteSession, []values{{string(id)}})
	w.set(forgetName, []values{{string(id)}})
	w.set(addTotals, []values{{int64(-1), int64(0), int64(0), int64(0)}})
	return w, nil
}
