package core

import (
	"context"
	"errors"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// Load returns all that the machine of session id is rebuilt from, and false if
// there is no such session. It costs one read, and one more each if the session
// runs something and if something is queued, however long its history is.
//
// The caller has no transaction of this session in flight, as the reads are of
// several moments. Rows that contradict each other are CodeStorageError: a
// machine must not be built on them.
func Load(ctx context.Context, q persistence.Querier, id protocol.SessionID) (protocol.Snapshot, bool, error) {
	rows, err := query(ctx, q, 0, loadSession, string(id))
	if err != nil {
		return protocol.Snapshot{}, false, fmt.Errorf("load session: %w", err)
	}
	if len(rows) == 0 {
		return protocol.Snapshot{}, false, nil
	}
	snap, queued, err := scanSnapshot(rows[0])
	if err != nil {
		return protocol.Snapshot{}, false, fmt.Errorf("load session: %w", damaged(id, err))
	}
	if snap.Active != nil {
		if snap.Pending, err = pending(ctx, q, id, snap.Active.ID); err != nil {
			return protocol.Snapshot{}, false, fmt.Errorf("load session: %w", err)
		}
	}
	if queued {
		if snap.Queue, err = Queue(ctx, q, id); err != nil {
			return protocol.Snapshot{}, false, fmt.Errorf("load session: %w", err)
		}
	}
	if err := consistent(&snap); err != nil {
		return protocol.Snapshot{}, false, fmt.Errorf("load session: %w", damaged(id, err))
	}
	return snap, true, nil
}

func scanSnapshot(row values) (snap protocol.Snapshot, queued bool, err error) {
	s := scan{row: row}
	snap.Record = s.record()
	newest := protocol.TimeMS(s.intOr0())
	snap.Record.LastAt = max(snap.Record.UpdatedAt, newest)
	snap.Failure = s.raw()
	queued = s.bool()
	if !s.null() {
		p := s.prompt()
		snap.Active = &p
	}
	return snap, queued, s.err
}

// Queue returns the prompts that wait for their turn, in order (S6.9); none for a
// session that does not exist.
func Queue(ctx context.Context, q persistence.Querier, id protocol.SessionID) ([]protocol.Queued, error) {
	rows, err := query(ctx, q, 0, loadQueue, string(id))
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	var list []protocol.Queued
	for _, row := range rows {
		s := scan{row: row}
		list = append(list, protocol.Queued{
			ID: protocol.PromptID(s.text()), Position: s.int(), Content: s.raw(), Hash: s.hash(),
			Key: s.textOr(), CreatedAt: protocol.TimeMS(s.int()),
		})
		if s.err != nil {
			return nil, fmt.Errorf("read queue: %w", damaged(id, s.err))
		}
	}
	return list, nil
}

func pending(ctx context.Context, q persistence.Querier, id protocol.SessionID, prompt protocol.PromptID) ([]protocol.Permission, error) {
	rows, err := query(ctx, q, 0, loadPending, string(id), string(prompt))
	if err != nil {
		return nil, err
	}
	var list []protocol.Permission
	for _, row := range rows {
		s := scan{row: row}
		list = append(list, s.permission())
		if s.err != nil {
			return nil, damaged(id, s.err)
		}
	}
	return list, nil
}

// consistent holds what the tables' CHECKs cannot: they see one row. A session
// that says waiting with nothing pending, or the reverse, is let through: its
// turn can be settled, and that puts it right.
func consistent(snap *protocol.Snapshot) error {
	r := &snap.Record
	busy := r.State == protocol.StateRunning || r.State == protocol.StateWaiting
	switch {
	case busy && snap.Active == nil:
		return fmt.Errorf("the session is %s and has no accepted prompt", r.State)
	case !busy && snap.Active != nil:
		return fmt.Errorf("the session is %s and has an accepted prompt", r.State)
	case busy && snap.Active.ID != r.Prompt:
		return errors.New("the session and its accepted prompt disagree on the prompt's id")
	}
	return nil
}

// AcceptedSessions returns the sessions whose accepted prompt has no end, by
// id. After an opening they are the ones that the runtime died under (S12.3);
// it costs an index seek, whatever the number of sessions.
func AcceptedSessions(ctx context.Context, q persistence.Querier) ([]protocol.SessionID, error) {
	rows, err := query(ctx, q, 0, acceptedSessions)
	if err != nil {
		return nil, fmt.Errorf("read accepted sessions: %w", err)
	}
	ids := make([]protocol.SessionID, 0, len(rows))
	for _, row := range rows {
		s := scan{row: row}
		ids = append(ids, protocol.SessionID(s.text()))
		if s.err != nil {
			return nil, fmt.Errorf("read accepted sessions: %w", damaged("", s.err))
		}
	}
	return ids, nil
}
