package actors

import (
	"context"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/feed"
	"agentos/actors/kernel"
	"agentos/actors/store"
	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

// VM is a handle on one open VM. Its methods may be called from any goroutine;
// their errors are *protocol.Error but for the context's own. A method whose
// context ends stops waiting; what it asked for goes on.
type VM struct {
	node   *Node
	name   string
	pid    *actor.PID
	closed atomic.Bool
	failed atomic.Bool
}

// OpenSession says what a session is opened with. Given names the parts that
// were chosen explicitly: only those are compared with a session that exists.
type OpenSession struct {
	Session protocol.SessionID
	Spec    protocol.Spec
	Given   sessions.Field
}

// Prompt is one prompt. Content is a JSON array of ACP content blocks, stored
// and sent byte for byte.
type Prompt struct {
	Session protocol.SessionID
	// ID names the prompt; "" lets the session make one. Who chooses it can Recall
	// the prompt after losing the connection, or the runtime, in the turn. It must
	// be new: a random UUID.
	ID      protocol.PromptID
	Content []byte
	// Key, if not "", makes the prompt run at most once: whoever sends the same
	// content under the same key gets the result of the one turn (S6.8).
	Key string
	// Queue has the prompt wait for its turn instead of being refused when the
	// session is busy; Now lets it pass those that wait, if nothing runs (S6.9).
	Queue, Now bool
	// Open, if not nil, opens the session first if it does not exist.
	Open    *OpenSession
	IfAsked sessions.IfAsked
}

// Setting and ConfigInfo are the words of Config and Configure.
type (
	Setting    = protocol.Setting
	ConfigInfo = protocol.ConfigInfo
)

// Name returns the name that the VM was opened under.
func (v *VM) Name() string { return v.name }

// Open creates a session, or checks that the one that exists was opened alike.
func (v *VM) Open(ctx context.Context, o OpenSession) error {
	m := openRequest{open: sessions.Open{Spec: o.Spec, Given: o.Given}, Promise: kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, o.Session, m, m.Promise)
	return err
}

// Prompt runs one turn and returns its answer when the turn's end is durable.
func (v *VM) Prompt(ctx context.Context, p Prompt) (*protocol.Answer, error) {
	r, err := v.prompt(ctx, p, false)
	return r.answer, err
}

func (v *VM) prompt(ctx context.Context, p Prompt, noWait bool) (promptReply, error) {
	blocks, err := acp.Blocks(p.Content)
	if err != nil {
		return promptReply{}, invalidContent(err)
	}
	m := promptRequest{
		prompt: sessions.Prompt{
			ID: p.ID, Blocks: blocks, Hash: acp.InputHash(blocks), Key: p.Key, IfAsked: p.IfAsked,
			Queue: p.Queue, NoWait: noWait, Now: p.Now,
		},
		Promise: kernel.NewPromise[promptReply](),
	}
	if p.Open != nil {
		m.prompt.Open = &sessions.Open{Spec: p.Open.Spec, Given: p.Open.Given}
	}
	return ask(ctx, v, p.Session, m, m.Promise)
}

func invalidContent(err error) error {
	return protocol.Errorf(protocol.CodeInvalidPrompt, "the prompt is no array of content blocks: %w", err)
}

// Recall returns what became of a prompt: its answer, or the error that it failed
// of. found is false if it was never accepted: then it was never sent, and never
// will be but for a place in the queue. A prompt that runs is session_busy.
func (v *VM) Recall(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) (answer *protocol.Answer, found bool, err error) {
	stored, err := query(ctx, v, func(ctx context.Context, q persistence.Querier) (*sessions.StoredKey, error) {
		p, found, err := core.Prompt(ctx, q, id, prompt)
		if err != nil || !found {
			return nil, err
		}
		return recallPrompt(ctx, q, id, p, v.node.env.Limits)
	})
	switch {
	case err != nil || stored == nil:
		return nil, false, err
	case stored.Err != nil:
		return nil, true, stored.Err
	}
	return stored.Answer, true, nil
}

// Config returns how the agent is set in a session, as it said last: its config
// options, its modes, and their revision. It starts no adapter.
func (v *VM) Config(ctx context.Context, id protocol.SessionID) (ConfigInfo, error) {
	return query(ctx, v, func(ctx context.Context, q persistence.Querier) (ConfigInfo, error) {
		snap, err := loadSession(ctx, q, id)
		return sessions.ConfigOf(snap.Record), err
	})
}

// Configure sets one thing about how the agent works in a session, in the middle of
// a turn too, and returns how all of it is set when that is stored; an agent that is
// not there is brought up for it (S3). What the agent does not have, or does not
// take, is invalid_config_value, unsupported_by_agent if it has nothing of the kind.
// The setting outlives the agent's process: a restored one is given it again (S10.4).
func (v *VM) Configure(ctx context.Context, id protocol.SessionID, s Setting) (ConfigInfo, error) {
	m := configureRequest{configure: sessions.Configure{Setting: s}, Promise: kernel.NewPromise[protocol.ConfigInfo]()}
	return ask(ctx, v, id, m, m.Promise)
}

// Cancel asks the turn of prompt to end, or the current one if prompt is "". A
// turn that has ended already is no error.
func (v *VM) Cancel(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	m := cancelRequest{cancel: sessions.Cancel{Prompt: prompt}, Promise: kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, id, m, m.Promise)
	return err
}

// Permit answers a pending permission request with one of its options. For one
// that has ended already the answer says how (S8.3).
func (v *VM) Permit(ctx context.Context, id protocol.SessionID, r protocol.RequestID, option string) (protocol.PermissionAnswer, error) {
	m := permitRequest{permit: sessions.Permit{Request: r, Option: option}, Promise: kernel.NewPromise[protocol.PermissionAnswer]()}
	return ask(ctx, v, id, m, m.Promise)
}

// Unload interrupts a session's turn and stops its adapter. The history stays.
func (v *VM) Unload(ctx context.Context, id protocol.SessionID) error {
	m := unloadRequest{kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, id, m, m.Promise)
	return err
}

// Delete takes a session away, with its history (S9.3): its turn is interrupted,
// its adapter stopped. It returns when that is durable; a session of the same name
// can be opened as soon as the rest of it is swept, which its opening waits for.
// Deleting what does not exist is no error.
func (v *VM) Delete(ctx context.Context, id protocol.SessionID) error {
	m := deleteRequest{kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, id, m, m.Promise)
	return err
}

// Watch returns a subscription to a session's events after the one numbered
// after: stored ones first, then live ones and deltas, in one order.
func (v *VM) Watch(ctx context.Context, id protocol.SessionID, after protocol.Sequence) (*feed.Subscription, error) {
	m := watchRequest{kernel.NewPromise[*feed.Feed]()}
	v.send(toSession{id, m})
	f, err := m.Wait(ctx)
	if err != nil {
		return nil, v.explain(err)
	}
	return f.Subscribe(after, func(ctx context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error) {
		page, err := v.History(ctx, id, core.PageRequest{After: &after, Limit: limit})
		if protocol.CodeOf(err) == protocol.CodeSessionNotFound {
			return nil, nil // watched before it was opened
		}
		return page.Events, err
	}), nil
}

// History reads one page of stored events (S11.2). It starts no adapter.
func (v *VM) History(ctx context.Context, id protocol.SessionID, r core.PageRequest) (core.Page, error) {
	limits := v.node.env.Limits
	r.MaxLimit, r.ResultBytes = limits.HistoryPageEntries, limits.ResultBytes
	return query(ctx, v, func(ctx context.Context, q persistence.Querier) (core.Page, error) {
		return core.History(ctx, q, id, r)
	})
}

// Session describes one session.
func (v *VM) Session(ctx context.Context, id protocol.SessionID) (protocol.SessionInfo, error) {
	return query(ctx, v, func(ctx context.Context, q persistence.Querier) (protocol.SessionInfo, error) {
		snap, err := loadSession(ctx, q, id)
		return snap.Info(), err
	})
}

func loadSession(ctx context.Context, q persistence.Querier, id protocol.SessionID) (protocol.Snapshot, error) {
	snap, found, err := core.Load(ctx, q, id)
	if err == nil && !found {
		err = protocol.Errorf(protocol.CodeSessionNotFound, "no session %q; agentos sessions lists those there are", id)
	}
	return snap, err
}

// Sessions lists sessions by activity, newest first, with the cursor of the next
// page or "" (S11.1).
func (v *VM) Sessions(ctx context.Context, cursor string, limit int) ([]protocol.SessionInfo, string, error) {
	type page struct {
		sessions []protocol.SessionInfo
		next     string
	}
	limits := v.node.env.Limits
	p, err := query(ctx, v, func(ctx context.Context, q persistence.Querier) (p page, err error) {
		p.sessions, p.next, err = core.Sessions(ctx, q, core.ListRequest{
			Cursor: cursor, Limit: limit, MaxLimit: limits.SessionListEntries, ResultBytes: limits.ResultBytes,
		})
		return p, err
	})
	return p.sessions, p.next, err
}

// Check examines the database of the VM and returns what is wrong with it.
func (v *VM) Check(ctx context.Context) ([]core.Finding, error) {
	return query(ctx, v, core.Check)
}

func (v *VM) send(m any) { v.node.system.Root.Send(v.pid, m) }

// ask sends a request to a session and waits for its answer.
func ask[T any](ctx context.Context, v *VM, id protocol.SessionID, m kernel.Request, p kernel.Promise[T]) (T, error) {
	if err := protocol.ValidSessionID(id); err != nil {
		var none T
		return none, err
	}
	v.send(toSession{id, m})
	value, err := p.Wait(ctx)
	return value, v.explain(err)
}

// explain says why nobody is there. A VM that was not closed has failed: it is
// being restarted, or it was given up.
func (v *VM) explain(err error) error {
	switch {
	case protocol.CodeOf(err) != protocol.CodeShuttingDown || v.closed.Load():
		return err
	case v.failed.Load():
		return protocol.Errorf(protocol.CodeVMFailed, "VM %q failed too often and was stopped; the log says why, opening it again tries anew", v.name)
	default:
		return protocol.Errorf(protocol.CodeStorageUnavailable, "VM %q was restarted after a failure; the log says why, try again", v.name)
	}
}

// query runs a read on the VM's reading goroutine.
func query[T any](ctx context.Context, v *VM, fn func(context.Context, persistence.Querier) (T, error)) (T, error) {
	p := kernel.NewPromise[T]()
	v.send(store.Read{
		Run: func(q persistence.Querier) {
			value, err := fn(ctx, q)
			switch {
			case err == nil:
			case ctx.Err() != nil:
				return // nobody waits any more
			default:
				p.Refuse(v.node.env.Fault("read", persistence.Err(err)))
				return
			}
			p.Resolve(value)
		},
		Fail: p.Refuse,
	})
	value, err := p.Wait(ctx)
	return value, v.explain(err)
}
