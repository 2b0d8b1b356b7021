package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/store"
	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/sessions"
)

// What a session has looked up in the database, for the epoch that asked.
type (
	keyFound struct {
		epoch uint64
		found sessions.KeyFound
	}
	permissionFound struct {
		epoch uint64
		reply sessions.Reply
	}
)

// findKey looks up what was made of an idempotency key (S6.8).
func (a *sessionActor) findKey(c actor.Context, e sessions.FindKey) {
	m := keyFound{a.epoch, sessions.KeyFound{Key: e.Key}}
	a.look(c, func(q persistence.Querier) (err error) {
		m.found.Stored, err = recall(q, a.id, e.Key, a.env.Limits)
		return err
	}, func(err *protocol.Error) any {
		m.found.Err = err
		return m
	})
}

// findPermission answers the caller of a permission that is not pending any more
// (S8.3).
func (a *sessionActor) findPermission(c actor.Context, e sessions.FindPermission) {
	m := permissionFound{a.epoch, sessions.Reply{Token: e.Token}}
	a.look(c, func(q persistence.Querier) (err error) {
		m.reply.Permission, err = pastPermission(q, a.id, e.Request)
		return err
	}, func(err *protocol.Error) any {
		m.reply.Err = err
		return m
	})
}

// look reads on the store's reading goroutine and sends this session what answer
// makes of the outcome, also if the store is gone.
func (a *sessionActor) look(c actor.Context, read func(persistence.Querier) error, answer func(*protocol.Error) any) {
	self, root := c.Self(), c.ActorSystem().Root
	c.Send(a.store, store.Read{
		Run: func(q persistence.Querier) {
			var failure *protocol.Error
			if err := read(q); err != nil {
				failure = a.env.Fault("read", persistence.Err(err))
			}
			root.Send(self, answer(failure))
		},
		Fail: func(err *protocol.Error) { root.Send(self, answer(err)) },
	})
}

// recall reads what became of the prompt that a key was used for; nil if it was
// not used.
func recall(q persistence.Querier, id protocol.SessionID, key string, limits protocol.Limits) (*sessions.StoredKey, error) {
	ctx := context.Background() // the reading goroutine bounds its reads
	used, found, err := core.UsedKey(ctx, q, id, key)
	switch {
	case err != nil || !found:
		return nil, err
	case used.Prompt == nil:
		return &sessions.StoredKey{Hash: used.Hash, Err: protocol.Errorf(protocol.CodeIdempotencyExpired,
			"the key %q was used, and the result is not kept any more; the prompt is not run again", key)}, nil
	}
	return recallPrompt(ctx, q, id, *used.Prompt, limits)
}

// recallPrompt reads what became of a stored prompt.
func recallPrompt(ctx context.Context, q persistence.Querier, id protocol.SessionID, p protocol.Prompt, limits protocol.Limits) (*sessions.StoredKey, error) {
	spoken, err := spokenIn(ctx, q, id, p, limits.ResultBytes)
	if err != nil {
		return nil, err
	}
	stored := sessions.Recall(id, p, spoken)
	return &stored, nil
}

// recallWindow is how many events are read at a time to find an old message.
const recallWindow = 256

// spokenIn reads the agent's message of a turn, in windows that shrink where
// events are large. What was pruned of it is missing.
func spokenIn(ctx context.Context, q persistence.Querier, id protocol.SessionID, p protocol.Prompt, maxBytes int64) ([]protocol.Event, error) {
	var spoken []protocol.Event
	window := protocol.Sequence(recallWindow)
	for from := p.FirstInput; from <= p.LastOutput; {
		to := min(from+window-1, p.LastOutput)
		events, err := core.Events(ctx, q, id, from, to, maxBytes)
		if protocol.CodeOf(err) == protocol.CodeSQLiteResultLimit && window > 1 {
			window /= 2
			continue
		}
		if err != nil {
			return nil, err
		}
		spoken, from = sessions.Spoken(spoken, events), to+1
	}
	return spoken, nil
}

// pastPermission tells how a request ended: in the turn that is running its
// record says so, behind the turn its outcome does.
func pastPermission(q persistence.Querier, id protocol.SessionID, request protocol.RequestID) (*protocol.PermissionAnswer, error) {
	ctx := context.Background() // the reading goroutine bounds its reads
	record, found, err := core.PermissionRecord(ctx, q, id, request)
	if err != nil {
		return nil, err
	}
	reason := record.Reason
	if !found {
		if reason, found, err = core.Outcome(ctx, q, id, request); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, protocol.Errorf(protocol.CodeRequestNotFound, "session %q has no permission request %q; agentos history shows those it had", id, request)
	}
	if reason == protocol.ReasonAccepted {
		reason = protocol.ReasonAlreadyResolved
	}
	return &protocol.PermissionAnswer{Status: protocol.OutcomeNotPending, Reason: reason}, nil
}
