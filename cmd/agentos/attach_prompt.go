package main

import (
	"context"
	"time"

	"agentos/actors"
	"agentos/protocol"
)

// recallPause is between two questions for a prompt that still runs.
const recallPause = 100 * time.Millisecond

// Prompt implements machine. A prompt that was sent to a process which then died is
// looked up by its id: it is sent again only if it was never accepted.
func (r *access) Prompt(ctx context.Context, p actors.Prompt) (*protocol.Answer, error) {
	for moves := 0; ; moves++ {
		at, far, err := r.now(ctx)
		if err != nil {
			return nil, err
		}
		if moves > 0 {
			answer, known, err := r.fate(ctx, p)
			if known || err != nil {
				return answer, err
			}
		}
		answer, err := at.Prompt(ctx, p)
		if !moved(far, err) || moves == maxMoves {
			return answer, err
		}
		if err := r.again(ctx, at); err != nil {
			return nil, unknownFate(ctx, err)
		}
	}
}

// unknownFate is the error of a prompt whose VM cannot be found again to ask.
func unknownFate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return protocol.Errorf(protocol.CodePromptDeliveryUncertain,
		"the process that ran the prompt is gone, and the VM cannot be opened to ask what became of it; agentos history will show it: %w", err)
}

// fate asks what became of a prompt, and waits if it still runs. known is false if
// it was never accepted.
func (r *access) fate(ctx context.Context, p actors.Prompt) (answer *protocol.Answer, known bool, err error) {
	for {
		answer, known, err = r.Recall(ctx, p.Session, p.ID)
		switch {
		case known && protocol.CodeOf(err) == protocol.CodeSessionBusy:
			select {
			case <-time.After(recallPause):
				continue
			case <-ctx.Done():
				return nil, true, ctx.Err()
			}
		case known || err != nil:
			if answer != nil {
				answer.Recalled = false // of this very prompt, which was run and shown
			}
			return answer, known, err
		}
		queued, err := r.waits(ctx, p)
		if queued != nil {
			err = protocol.Errorf(protocol.CodePromptInterrupted,
				"the process that drained the queue is gone; the prompt waits as %s, agentos queue resume goes on with it", p.ID)
		}
		return nil, err != nil, err
	}
}

// waits returns the place of a prompt in the queue, nil if it has none.
func (r *access) waits(ctx context.Context, p actors.Prompt) (*protocol.Queued, error) {
	list, err := r.Queue(ctx, p.Session)
	if err != nil && protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		return nil, err
	}
	for _, q := range list {
		if q.ID == p.ID {
			return &q, nil
		}
	}
	return nil, nil
}

// Enqueue implements machine.
func (r *access) Enqueue(ctx context.Context, p actors.Prompt) (*protocol.Queued, *protocol.Answer, error) {
	for moves := 0; ; moves++ {
		at, far, err := r.now(ctx)
		if err != nil {
			return nil, nil, err
		}
		if moves > 0 {
			queued, err := r.waits(ctx, p)
			if queued != nil || err != nil {
				return queued, nil, err
			}
			if answer, known, err := r.Recall(ctx, p.Session, p.ID); known {
				return nil, answer, err
			}
		}
		queued, answer, err := at.Enqueue(ctx, p)
		if !moved(far, err) || moves == maxMoves {
			return queued, answer, err
		}
		if err := r.again(ctx, at); err != nil {
			return nil, nil, unknownFate(ctx, err)
		}
	}
}
