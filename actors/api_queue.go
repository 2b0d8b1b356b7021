package actors

import (
	"context"

	"agentos/actors/kernel"
	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

// Enqueue queues a prompt and returns its place as soon as that is durable, or
// the answer of an earlier one with the same key (S6.9). The turn begins when the
// others are through.
func (v *VM) Enqueue(ctx context.Context, p Prompt) (*protocol.Queued, *protocol.Answer, error) {
	p.Queue = true
	r, err := v.prompt(ctx, p, true)
	return r.queued, r.answer, err
}

// Queue lists the prompts of a session that wait for their turn, in order.
func (v *VM) Queue(ctx context.Context, id protocol.SessionID) ([]protocol.Queued, error) {
	return query(ctx, v, func(ctx context.Context, q persistence.Querier) ([]protocol.Queued, error) {
		return core.Queue(ctx, q, id)
	})
}

// QueueEdit replaces the content of a queued prompt.
func (v *VM) QueueEdit(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID, content []byte) error {
	blocks, err := acp.Blocks(content)
	if err != nil {
		return invalidContent(err)
	}
	return v.queue(ctx, id, func(t sessions.Token, at protocol.TimeMS) sessions.Input {
		return sessions.QueueEdit{Token: t, ID: prompt, Blocks: blocks, Hash: acp.InputHash(blocks), At: at}
	})
}

// QueueRemove takes a prompt out of the queue. Who waits for it is told that it
// was cancelled.
func (v *VM) QueueRemove(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	return v.queue(ctx, id, func(t sessions.Token, at protocol.TimeMS) sessions.Input {
		return sessions.QueueRemove{Token: t, ID: prompt, At: at}
	})
}

// QueueResume goes on with a queue that is paused behind a turn of which it is not
// known how far it came, or whose owner has gone.
func (v *VM) QueueResume(ctx context.Context, id protocol.SessionID) error {
	return v.queue(ctx, id, func(t sessions.Token, at protocol.TimeMS) sessions.Input {
		return sessions.QueueResume{Token: t, At: at}
	})
}

func (v *VM) queue(ctx context.Context, id protocol.SessionID, input func(sessions.Token, protocol.TimeMS) sessions.Input) error {
	m := queueRequest{input: input, Promise: kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, id, m, m.Promise)
	return err
}
