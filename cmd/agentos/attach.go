package main

import (
	"context"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/actors/gateway/http/client"
	"agentos/persistence/core"
	"agentos/protocol"
)

// machine is a VM, whichever process holds it: this one (ownVM) or another one,
// whose door we are at (farVM). What its methods do is written at *actors.VM.
type machine interface {
	Open(context.Context, actors.OpenSession) error
	Prompt(context.Context, actors.Prompt) (*protocol.Answer, error)
	Enqueue(context.Context, actors.Prompt) (*protocol.Queued, *protocol.Answer, error)
	Recall(context.Context, protocol.SessionID, protocol.PromptID) (answer *protocol.Answer, found bool, err error)
	Cancel(context.Context, protocol.SessionID, protocol.PromptID) error
	Permit(context.Context, protocol.SessionID, protocol.RequestID, string) (protocol.PermissionAnswer, error)
	Unload(context.Context, protocol.SessionID) error
	Delete(context.Context, protocol.SessionID) error
	Watch(context.Context, protocol.SessionID, protocol.Sequence) (subscription, error)
	History(context.Context, protocol.SessionID, core.PageRequest) (core.Page, error)
	Session(context.Context, protocol.SessionID) (protocol.SessionInfo, error)
	Sessions(ctx context.Context, cursor string, limit int) ([]protocol.SessionInfo, string, error)
	Config(context.Context, protocol.SessionID) (actors.ConfigInfo, error)
	Configure(context.Context, protocol.SessionID, actors.Setting) (actors.ConfigInfo, error)
	Queue(context.Context, protocol.SessionID) ([]protocol.Queued, error)
	QueueEdit(context.Context, protocol.SessionID, protocol.PromptID, []byte) error
	QueueRemove(context.Context, protocol.SessionID, protocol.PromptID) error
	QueueResume(context.Context, protocol.SessionID) error
	Check(context.Context) ([]core.Finding, error)
}

// subscription is a session's outbound order, as feed.Subscription has it. One
// goroutine uses it, and closes it.
type subscription interface {
	Next(context.Context) (feed.Item, error)
	// TryNext returns what is here already. Of a far VM more may be on its way.
	TryNext(context.Context) (item feed.Item, ok bool, err error)
	Close()
}

// The two ways to have a VM.
type (
	ownVM struct{ *actors.VM }
	farVM struct{ *client.VM }
)

// Watch implements machine.
func (v ownVM) Watch(ctx context.Context, id protocol.SessionID, after protocol.Sequence) (subscription, error) {
	s, err := v.VM.Watch(ctx, id, after)
	if err != nil {
		return nil, err
	}
	return ownSubscription{s}, nil
}

// Watch implements machine.
func (v farVM) Watch(ctx context.Context, id protocol.SessionID, after protocol.Sequence) (subscription, error) {
	s, err := v.VM.Watch(ctx, id, after)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ownSubscription has nothing to close.
type ownSubscription struct{ *feed.Subscription }

// Close implements subscription.
func (ownSubscription) Close() {}
