package main

import (
	"context"
	"errors"
	"time"

	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/sessions"
)

// queueGlance is how long a queue is watched before it is looked at again: between
// two turns nothing is said.
const queueGlance = 500 * time.Millisecond

// rest waits until the queue of a session is empty or paused, and nothing runs.
func (r *access) rest(ctx context.Context, id protocol.SessionID) error {
	if held := r.holder(); held != nil {
		return held.holds.wait(ctx)
	}
	for {
		info, err := r.Session(ctx, id)
		if err != nil {
			return err
		}
		list, err := r.Queue(ctx, id)
		if err != nil {
			return err
		}
		runs := info.State == protocol.StateRunning || info.State == protocol.StateWaiting
		if !runs && (len(list) == 0 || sessions.Pauses(info.Error)) {
			return nil
		}
		if err := r.nextState(ctx, id, info.LatestSequence); err != nil {
			return err
		}
	}
}

// nextState waits for a state behind an event, or for queueGlance.
func (r *access) nextState(ctx context.Context, id protocol.SessionID, after protocol.Sequence) error {
	glance, cancel := context.WithTimeout(ctx, queueGlance)
	defer cancel()
	watch, err := r.Watch(glance, id, after)
	if err != nil {
		return unlessDone(ctx, glance, err)
	}
	defer watch.Close()
	for {
		item, err := watch.Next(glance)
		switch {
		case errors.Is(err, feed.ErrClosed):
			return nil
		case err != nil:
			return unlessDone(ctx, glance, err)
		case item.State != nil:
			return nil
		}
	}
}

// unlessDone drops the error of a glance that is over.
func unlessDone(ctx, glance context.Context, err error) error {
	if ctx.Err() == nil && glance.Err() != nil {
		return nil
	}
	return err
}
