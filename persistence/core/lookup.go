package core

import (
	"context"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// Prompt returns one prompt, and false if the session has none of that id.
func Prompt(ctx context.Context, q persistence.Querier, id protocol.SessionID, prompt protocol.PromptID) (protocol.Prompt, bool, error) {
	return onePrompt(ctx, q, id, promptByID, string(prompt))
}

// KeyUse is what an idempotency key was used for.
type KeyUse struct {
	Hash   [32]byte
	Prompt *protocol.Prompt // nil if its row was pruned
}

// UsedKey returns what an idempotency key was used for, and false if it was not
// (S6.8). Keys outlive the rows of their prompts.
func UsedKey(ctx context.Context, q persistence.Querier, id protocol.SessionID, key string) (KeyUse, bool, error) {
	p, found, err := onePrompt(ctx, q, id, promptByKey, key)
	if err != nil || found {
		return KeyUse{Hash: p.Hash, Prompt: &p}, found, err
	}
	rows, err := query(ctx, q, 0, keyByName, string(id), key)
	if err != nil {
		return KeyUse{}, false, fmt.Errorf("read idempotency key: %w", err)
	}
	if len(rows) == 0 {
		return KeyUse{}, false, nil
	}
	s := scan{row: rows[0]}
	use := KeyUse{Hash: s.hash()}
	if s.err != nil {
		return KeyUse{}, false, fmt.Errorf("read idempotency key: %w", damaged(id, s.err))
	}
	return use, true, nil
}

func onePrompt(ctx context.Context, q persistence.Querier, id protocol.SessionID, sql, name string) (protocol.Prompt, bool, error) {
	rows, err := query(ctx, q, 0, sql, string(id), name)
	if err != nil {
		return protocol.Prompt{}, false, fmt.Errorf("read prompt: %w", err)
	}
	if len(rows) == 0 {
		return protocol.Prompt{}, false, nil
	}
	s := scan{row: rows[0]}
	p := s.prompt()
	if s.err != nil {
		return protocol.Prompt{}, false, fmt.Errorf("read prompt: %w", damaged(id, s.err))
	}
	return p, true, nil
}

// PermissionRecord returns a permission request of the running turn, and false
// if there is none of that id: it may have an Outcome.
func PermissionRecord(ctx context.Context, q persistence.Querier, id protocol.SessionID, request protocol.RequestID) (protocol.Permission, bool, error) {
	rows, err := query(ctx, q, 0, recordByID, string(id), string(request))
	if err != nil {
		return protocol.Permission{}, false, fmt.Errorf("read permission record: %w", err)
	}
	if len(rows) == 0 {
		return protocol.Permission{}, false, nil
	}
	s := scan{row: rows[0]}
	p := s.permission()
	if s.err != nil {
		return protocol.Permission{}, false, fmt.Errorf("read permission record: %w", damaged(id, s.err))
	}
	return p, true, nil
}

// Outcome returns how a permission request of an earlier turn ended, and false
// if that is not known (S8.3).
func Outcome(ctx context.Context, q persistence.Querier, id protocol.SessionID, request protocol.RequestID) (protocol.Reason, bool, error) {
	rows, err := query(ctx, q, 0, outcomeByID, string(id), string(request))
	if err != nil {
		return "", false, fmt.Errorf("read permission outcome: %w", err)
	}
	if len(rows) == 0 {
		return "", false, nil
	}
	s := scan{row: rows[0]}
	reason := protocol.Reason(s.text())
	if s.err != nil {
		return "", false, fmt.Errorf("read permission outcome: %w", damaged(id, s.err))
	}
	return reason, true, nil
}
