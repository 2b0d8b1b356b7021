package main

import (
	"context"
	"errors"
	"fmt"

	"agentos/actors/feed"
	"agentos/persistence/core"
	"agentos/protocol"
)

// watch begins behind what is stored now.
func (t *turn) watch(id protocol.SessionID) (subscription, error) {
	ctx := context.Background()
	page, err := t.vm.History(ctx, id, core.PageRequest{Limit: 1})
	if err != nil && protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		return nil, err
	}
	t.seen, t.from, t.to = page.Latest, page.Latest, page.Latest
	t.mine = ownTurn{prompt: t.prompt, all: t.flags.key != ""} // of a key the turn may be another's
	watch, err := t.vm.Watch(ctx, id, page.Latest)
	if err != nil {
		return nil, err
	}
	if info, err := t.vm.Session(ctx, id); err == nil && (info.State == protocol.StateRunning || info.State == protocol.StateWaiting) {
		t.mine.runs = info.Prompt
	}
	return watch, nil
}

// print shows everything until the turn has ended.
func (t *turn) print(watch subscription, ended <-chan struct{}) {
	ctx, cancel := until(context.Background(), ended)
	defer cancel()
	for ctx.Err() == nil {
		patient, enough := context.WithTimeout(ctx, silenceNotice)
		item, err := watch.Next(patient)
		silent := patient.Err() != nil
		enough()
		switch {
		case err == nil:
			t.item(item)
			t.drain(watch)
			t.out.Flush()
		case silent:
			if ctx.Err() == nil {
				t.silence()
			}
		default:
			if !errors.Is(err, feed.ErrClosed) {
				t.blind = err
			}
			return
		}
	}
}

// catchUp shows the rest of the turn, behind its answer: of a VM that another process
// holds the answer may come first.
func (t *turn) catchUp(watch subscription, id protocol.SessionID) {
	if t.blind != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateEvents)
	defer cancel()
	info, err := t.vm.Session(ctx, id)
	switch {
	case protocol.CodeOf(err) == protocol.CodeSessionNotFound: // refused, or deleted
	case err != nil:
		t.blind = err
	default:
		t.blind = upTo(ctx, watch, info.LatestSequence, func() protocol.Sequence { return t.seen }, t.item)
	}
}

// drain shows everything that is here without waiting.
func (t *turn) drain(watch subscription) {
	for t.blind == nil {
		item, ok, err := watch.TryNext(context.Background())
		if !ok || err != nil {
			t.blind = err
			return
		}
		t.item(item)
	}
}

// item takes the next item of the session, and shows what is of our turn.
func (t *turn) item(i feed.Item) {
	if i.Event != nil {
		t.seen = i.Event.Sequence
	}
	for _, own := range t.mine.take(i) {
		t.own(own)
	}
}

func (t *turn) own(i feed.Item) {
	t.show.item(i)
	if i.Event == nil {
		return
	}
	if t.from == t.to {
		t.from = i.Event.Sequence - 1
	}
	t.to = i.Event.Sequence
	if i.Event.Kind != protocol.KindUpdate {
		t.out.Flush() // before a question is put on the same terminal
	}
	switch i.Event.Kind {
	case protocol.KindPermissionRequest:
		t.asker.ask(*i.Event)
	case protocol.KindPermissionResponse:
		t.asker.over(i.Event.Request)
	}
}

// silence tells a person that nothing is wrong on this side.
func (t *turn) silence() {
	if t.flags.json || t.flags.quiet || t.asker.waiting() {
		return
	}
	t.show.ended()
	t.out.Flush()
	t.note(fmt.Sprintf("nothing from the agent for %v; it may be thinking, Ctrl-C cancels the turn", silenceNotice))
}
