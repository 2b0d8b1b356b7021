package main

import (
	"context"
	"errors"

	"agentos/actors"
	"agentos/actors/gateway/http/client"
	"agentos/persistence/core"
	"agentos/protocol"
)

// access is what a command has of its VM, as long as it runs: the VM itself, or the
// door of the process that holds it. If that process goes, access opens the VM
// again, or goes to the next one's door, and repeats what it was asked for. It is a
// machine.
type access struct {
	app     *app
	command string
	place   place
	create  bool

	busy chan struct{} // full while one goroutine connects
	at   machine
	far  *client.VM // of at; nil if this process holds the VM
	own  *owner     // nil if another process holds the VM
}

// openVM gives a command access to the VM at p. ctx bounds the opening.
func (a *app) openVM(ctx context.Context, command string, p place, create bool) (*access, error) {
	r := &access{app: a, command: command, place: p, create: create, busy: make(chan struct{}, 1)}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// now returns the VM as it is had in this moment.
func (r *access) now(ctx context.Context) (at machine, far bool, err error) {
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
		return r.at, r.far != nil, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// holder returns this process's own end of the VM, nil if another one holds it.
func (r *access) holder() *owner {
	r.busy <- struct{}{} // for as long as somebody connects, which is bounded
	defer func() { <-r.busy }()
	return r.own
}

// again finds the VM once more, unless somebody else has done it since lost was
// had.
func (r *access) again(ctx context.Context, lost machine) error {
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.at != lost {
		return nil
	}
	return r.connect(ctx)
}

// moved reports whether a far VM's answer means that it has to be looked for again:
// its process has died, or is about to end and begins nothing new.
func moved(far bool, err error) bool {
	return far && (errors.Is(err, client.ErrGone) || protocol.CodeOf(err) == protocol.CodeShuttingDown)
}

// maxMoves bounds how often one thing is asked for again. Where many commands come
// and go one after the other has the VM; a process that cannot answer a request does
// not answer it the next time either.
const maxMoves = 100

// do asks the VM for something that may be asked twice.
func do[T any](ctx context.Context, r *access, ask func(machine) (T, error)) (T, error) {
	for moves := 0; ; moves++ {
		at, far, err := r.now(ctx)
		if err != nil {
			var none T
			return none, err
		}
		value, err := ask(at)
		if !moved(far, err) || moves == maxMoves {
			return value, err
		}
		if err := r.again(ctx, at); err != nil {
			return value, err
		}
	}
}

// done is do for what has no answer.
func done(ctx context.Context, r *access, ask func(machine) error) error {
	_, err := do(ctx, r, func(m machine) (struct{}, error) { return struct{}{}, ask(m) })
	return err
}

// close ends the access. A VM of this process is closed with it.
func (r *access) close(ctx context.Context) error {
	if r.far != nil {
		r.far.Close()
	}
	if r.own != nil {
		return r.own.close(ctx)
	}
	return nil
}

// Open implements machine.
func (r *access) Open(ctx context.Context, o actors.OpenSession) error {
	return done(ctx, r, func(m machine) error { return m.Open(ctx, o) })
}

// Recall implements machine.
func (r *access) Recall(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) (*protocol.Answer, bool, error) {
	found := false
	answer, err := do(ctx, r, func(m machine) (a *protocol.Answer, err error) {
		a, found, err = m.Recall(ctx, id, prompt)
		return a, err
	})
	return answer, found, err
}

// Cancel implements machine.
func (r *access) Cancel(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	return done(ctx, r, func(m machine) error { return m.Cancel(ctx, id, prompt) })
}

// Permit implements machine.
func (r *access) Permit(ctx context.Context, id protocol.SessionID, request protocol.RequestID, option string) (protocol.PermissionAnswer, error) {
	return do(ctx, r, func(m machine) (protocol.PermissionAnswer, error) { return m.Permit(ctx, id, request, option) })
}

// Unload implements machine.
func (r *access) Unload(ctx context.Context, id protocol.SessionID) error {
	return done(ctx, r, func(m machine) error { return m.Unload(ctx, id) })
}

// Delete implements machine.
func (r *access) Delete(ctx context.Context, id protocol.SessionID) error {
	return done(ctx, r, func(m machine) error { return m.Delete(ctx, id) })
}

// History implements machine.
func (r *access) History(ctx context.Context, id protocol.SessionID, page core.PageRequest) (core.Page, error) {
	return do(ctx, r, func(m machine) (core.Page, error) { return m.History(ctx, id, page) })
}

// Session implements machine.
func (r *access) Session(ctx context.Context, id protocol.SessionID) (protocol.SessionInfo, error) {
	return do(ctx, r, func(m machine) (protocol.SessionInfo, error) { return m.Session(ctx, id) })
}

// Sessions implements machine.
func (r *access) Sessions(ctx context.Context, cursor string, limit int) ([]protocol.SessionInfo, string, error) {
	next := ""
	list, err := do(ctx, r, func(m machine) (list []protocol.SessionInfo, err error) {
		list, next, err = m.Sessions(ctx, cursor, limit)
		return list, err
	})
	return list, next, err
}

// Config implements machine.
func (r *access) Config(ctx context.Context, id protocol.SessionID) (actors.ConfigInfo, error) {
	return do(ctx, r, func(m machine) (actors.ConfigInfo, error) { return m.Config(ctx, id) })
}

// Configure implements machine.
func (r *access) Configure(ctx context.Context, id protocol.SessionID, s actors.Setting) (actors.ConfigInfo, error) {
	return do(ctx, r, func(m machine) (actors.ConfigInfo, error) { return m.Configure(ctx, id, s) })
}

// Queue implements machine.
func (r *access) Queue(ctx context.Context, id protocol.SessionID) ([]protocol.Queued, error) {
	return do(ctx, r, func(m machine) ([]protocol.Queued, error) { return m.Queue(ctx, id) })
}

// QueueEdit implements machine.
func (r *access) QueueEdit(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID, content []byte) error {
	return done(ctx, r, func(m machine) error { return m.QueueEdit(ctx, id, prompt, content) })
}

// QueueRemove implements machine.
func (r *access) QueueRemove(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	return done(ctx, r, func(m machine) error { return m.QueueRemove(ctx, id, prompt) })
}

// QueueResume implements machine.
func (r *access) QueueResume(ctx context.Context, id protocol.SessionID) error {
	return done(ctx, r, func(m machine) error { return m.QueueResume(ctx, id) })
}

// Check implements machine.
func (r *access) Check(ctx context.Context) ([]core.Finding, error) {
	return do(ctx, r, func(m machine) ([]core.Finding, error) { return m.Check(ctx) })
}
