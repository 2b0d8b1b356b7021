package main

import (
	"context"
	"errors"

	"agentos/actors/feed"
	"agentos/protocol"
)

// following is a subscription that outlives the process it comes from: when that
// goes, it goes on behind the last event it has returned, wherever the VM is then.
// What the session is found to be there is told as a state, behind its events: who
// settled it did so before anybody could listen.
type following struct {
	access *access
	id     protocol.SessionID
	last   protocol.Sequence // newest event returned
	at     machine           // where inner comes from
	far    bool
	inner  subscription
	found  *feed.State // to be returned behind the event that it names
}

// Watch implements machine.
func (r *access) Watch(ctx context.Context, id protocol.SessionID, after protocol.Sequence) (subscription, error) {
	f := &following{access: r, id: id, last: after}
	if err := f.subscribe(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *following) subscribe(ctx context.Context) error {
	f.Close()
	for moves := 0; ; moves++ {
		at, far, err := f.access.now(ctx)
		if err != nil {
			return err
		}
		if f.inner, err = at.Watch(ctx, f.id, f.last); err == nil {
			f.at, f.far = at, far
			return nil
		}
		f.inner = nil
		if !moved(far, err) || moves == maxMoves {
			return err
		}
		if err := f.access.again(ctx, at); err != nil {
			return err
		}
	}
}

// Close implements subscription.
func (f *following) Close() {
	if f.inner != nil {
		f.inner.Close()
		f.inner = nil
	}
}

// Next implements subscription.
func (f *following) Next(ctx context.Context) (feed.Item, error) {
	for {
		if item, ok := f.told(); ok {
			return item, nil
		}
		item, err := feed.Item{}, error(nil)
		if f.inner == nil { // the last call could not find the VM in its time
			err = f.subscribe(ctx)
		}
		if err == nil {
			item, err = f.inner.Next(ctx)
		}
		if err == nil {
			return f.pass(item), nil
		}
		if ctx.Err() != nil {
			return feed.Item{}, ctx.Err()
		}
		if err := f.goOn(ctx, err); err != nil {
			return feed.Item{}, err
		}
	}
}

// TryNext implements subscription. What is lost is found again by Next.
func (f *following) TryNext(ctx context.Context) (feed.Item, bool, error) {
	if item, ok := f.told(); ok || f.inner == nil {
		return item, ok, nil
	}
	item, ok, err := f.inner.TryNext(ctx)
	if moved(f.far, err) {
		return feed.Item{}, false, nil
	}
	if ok {
		item = f.pass(item)
	}
	return item, ok, err
}

func (f *following) pass(item feed.Item) feed.Item {
	switch {
	case item.Event != nil:
		f.last = item.Event.Sequence
	case item.State != nil:
		f.found = nil // this one is newer
	}
	return item
}

// told returns the state that was found, once all before it has been returned.
func (f *following) told() (feed.Item, bool) {
	s := f.found
	if s == nil || f.last < s.Sequence {
		return feed.Item{}, false
	}
	f.found = nil
	return feed.NewState(f.id, *s), true
}

// goOn subscribes again if the process behind the subscription has gone, or is
// going: then its feeds end as if the session had.
func (f *following) goOn(ctx context.Context, err error) error {
	if f.far && errors.Is(err, feed.ErrClosed) {
		hello, herr := f.at.(farVM).Hello(ctx)
		if herr == nil && !hello.Stopping {
			return err
		}
		if herr == nil {
			herr = protocol.Errorf(protocol.CodeShuttingDown, "the process that holds the VM is ending")
		}
		err = herr
	}
	if !moved(f.far, err) {
		return err
	}
	f.Close()
	if err := f.access.again(ctx, f.at); err != nil {
		return err
	}
	if err := f.subscribe(ctx); err != nil {
		return err
	}
	info, err := f.access.Session(ctx, f.id)
	if protocol.CodeOf(err) == protocol.CodeSessionNotFound {
		return nil // watched before it was opened
	}
	f.found = &feed.State{State: info.State, Prompt: info.Prompt, Sequence: info.LatestSequence}
	return err
}

// upTo passes everything on that was published until now and has not been shown: a
// turn's answer may be faster than its events.
func upTo(ctx context.Context, s subscription, last protocol.Sequence, seen func() protocol.Sequence, show func(feed.Item)) error {
	for {
		item, ok, err := s.TryNext(ctx)
		if err == nil && !ok {
			if seen() >= last {
				return nil
			}
			item, err = s.Next(ctx)
		}
		switch {
		case errors.Is(err, feed.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		show(item)
	}
}
