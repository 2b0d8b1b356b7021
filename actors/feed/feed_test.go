package feed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"agentos/actors/feed"
	"agentos/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a database that may be used by many.
type table struct {
	mu     sync.Mutex
	events []protocol.Event
	reads  int
}

func (d *table) add(run protocol.RunID, size int) protocol.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := protocol.Event{
		Sequence: protocol.Sequence(len(d.events) + 1), Kind: protocol.KindUpdate, ACP: 1,
		Payload: []byte(`{"sessionUpdate":"x","text":"` + strings.Repeat("x", size) + `"}`),
	}
	d.events = append(d.events, e)
	e.Run = run
	return e
}

func (d *table) history(_ context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if int(after) >= len(d.events) {
		return nil, nil
	}
	return append([]protocol.Event(nil), d.events[after:min(int(after)+limit, len(d.events))]...), nil
}

// next is TryNext that fails the test if there is nothing.
func next(t *testing.T, s *feed.Subscription) feed.Item {
	t.Helper()
	item, ok, err := s.TryNext(t.Context())
	if err != nil || !ok {
		t.Fatalf("TryNext = %v, %v; want an item", ok, err)
	}
	return item
}

func nothing(t *testing.T, s *feed.Subscription) {
	t.Helper()
	if item, ok, err := s.TryNext(t.Context()); ok || err != nil {
		t.Fatalf("TryNext = %+v, %v, %v; want nothing", item, ok, err)
	}
}

// TestSubscribe_S5_2_JoinsInMidRun: one delta from offset 0 for what was said
// before, then the rest piece by piece.
func TestSubscribe_S5_2_JoinsInMidRun(t *testing.T) {
	f, d := feed.New("s"), &table{}
	f.Event(d.add("", 0))
	f.Delta(delta(1, "r1", 0, "0000"))
	f.Event(d.add("", 0)) // of a side kind
	f.Delta(delta(2, "r1", 4, "0004"))
	s := f.Subscribe(0, d.history)
	f.Delta(delta(2, "r1", 8, "0008"))

	if i := next(t, s); i.Event == nil || i.Event.Sequence != 1 {
		t.Errorf("first %+v; want event 1", i)
	}
	if i := next(t, s); i.Event == nil || i.Event.Sequence != 2 {
		t.Errorf("then %+v; want event 2", i)
	}
	i := next(t, s)
	if i.Delta == nil || i.Delta.Offset != 0 || i.Delta.After != 2 || i.Delta.Run != "r1" || textOf(*i.Delta) != "000000040008" {
		t.Errorf("then %+v; want all of the run", i.Delta)
	}
	f.Delta(delta(2, "r1", 12, "0012"))
	if i := next(t, s); i.Delta == nil || i.Delta.Offset != 12 {
		t.Errorf("then %+v; want the next piece", i.Delta)
	}
	f.Event(d.add("r1", 0))
	if i := next(t, s); i.Event == nil || i.Event.Run != "r1" {
		t.Errorf("then %+v; want the run's event", i)
	}
	nothing(t, s)
	if s.Dropped() != 0 {
		t.Errorf("Dropped = %d; want none", s.Dropped())
	}
	// The run is over: who joins now gets its event and nothing of its pieces.
	late := f.Subscribe(2, d.history)
	if i := next(t, late); i.Event == nil || i.Event.Sequence != 3 {
		t.Errorf("late: %+v; want event 3", i)
	}
	nothing(t, late)
}

// TestSubscribe_S5_2_BeginningIsGone: what is left of a run does not begin it.
func TestSubscribe_S5_2_BeginningIsGone(t *testing.T) {
	f, d := feed.NewBounded("s", 2, 1<<20), &table{}
	for n := range int64(4) {
		f.Delta(delta(0, "r1", 4*n, "text"))
	}
	s := f.Subscribe(0, d.history)
	nothing(t, s)
	f.Delta(delta(0, "r1", 16, "text"))
	if i := next(t, s); i.Delta == nil || i.Delta.Offset != 16 {
		t.Errorf("%+v; want the next piece as it is", i.Delta)
	}
	f.Event(d.add("r1", 0))
	if i := next(t, s); i.Event == nil || i.Event.Sequence != 1 {
		t.Errorf("%+v; want the event that has all of it", i)
	}
}

// TestSubscription_PrunedHistoryIsNoLoop: events that nobody can read any more
// are passed over; a reader neither waits for them nor asks for ever.
func TestSubscription_S12_PrunedHistoryIsNoLoop(t *testing.T) {
	f := feed.New("s")
	empty := &table{}
	s := f.Subscribe(3, empty.history)
	f.Event(protocol.Event{Sequence: 15, Payload: []byte(`{}`)})
	f.Delta(delta(20, "r1", 0, "0000"))
	f.State(feed.State{Sequence: 30})
	if i := next(t, s); i.Event == nil || i.Event.Sequence != 15 {
		t.Errorf("%+v; want event 15", i)
	}
	if i := next(t, s); i.Delta == nil {
		t.Errorf("%+v; want the delta", i)
	}
	if i := next(t, s); i.State == nil {
		t.Errorf("%+v; want the state", i)
	}
	nothing(t, s)
	if empty.reads > 4 {
		t.Errorf("%d reads of a database that has nothing", empty.reads)
	}
}

func TestSubscription_HistoryErrorIsReturnedAndTriedAgain(t *testing.T) {
	f, d := feed.New("s"), &table{}
	f.Event(d.add("", 0))
	broken := errors.New("broken")
	fails := true
	s := f.Subscribe(0, func(ctx context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error) {
		if fails {
			return nil, broken
		}
		return d.history(ctx, after, limit)
	})
	if _, err := s.Next(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Next = %v; want the database's error", err)
	}
	fails = false
	if i := next(t, s); i.Event == nil || i.Event.Sequence != 1 {
		t.Errorf("%+v; want event 1", i)
	}
}

func TestSubscription_Next_Waits(t *testing.T) {
	f, d := feed.New("s"), &table{}
	s := f.Subscribe(0, d.history)
	got := make(chan error, 1)
	go func() {
		item, err := s.Next(t.Context())
		if err == nil && (item.Event == nil || item.Event.Sequence != 1) {
			err = fmt.Errorf("got %+v", item)
		}
		got <- err
	}()
	f.Event(d.add("", 0))
	if err := <-got; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := s.Next(ctx)
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v; want the context's end", err)
	}
}

func TestFeed_Close_LetsReadersFinish(t *testing.T) {
	f, d := feed.New("s"), &table{}
	f.Event(d.add("", 0))
	s := f.Subscribe(0, d.history)
	f.Event(d.add("", 0))
	f.State(feed.State{State: protocol.StateIdle, Sequence: 2})
	waiting := f.Subscribe(2, d.history)
	nothing(t, waiting)
	ended := make(chan error, 1)
	go func() {
		_, err := waiting.Next(t.Context())
		ended <- err
	}()
	f.Close()
	f.Close()
	if err := <-ended; !errors.Is(err, feed.ErrClosed) {
		t.Errorf("a reader that waits: %v; want closed", err)
	}
	f.Event(d.add("", 0)) // into nothing
	for n := protocol.Sequence(1); n <= 3; n++ {
		// Event 3 is stored, so a reader that reads the database sees it; that it
		// was published after the end does not matter.
		item, err := s.Next(t.Context())
		if err != nil || item.Event == nil || item.Event.Sequence != n {
			t.Fatalf("Next = %+v, %v; want event %d", item, err, n)
		}
	}
	if item, err := s.Next(t.Context()); err != nil || item.State == nil {
		t.Errorf("Next = %+v, %v; want the state", item, err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, feed.ErrClosed) {
		t.Errorf("Next = %v; want closed", err)
	}
	nothing(t, s)
}

// TestFeed_S11_3_SlowReaderDelaysNobody: a reader that is stuck in the database
// holds up neither the publisher nor another reader.
func TestFeed_S11_3_SlowReaderDelaysNobody(t *testing.T) {
	f, d := feed.NewBounded("s", 8, 1<<20), &table{}
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := f.Subscribe(0, func(ctx context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error) {
		if after == 0 {
			close(entered)
			<-leave
		}
		return d.history(ctx, after, limit)
	})
	first := make(chan feed.Item, 1)
	go func() {
		item, _ := slow.Next(t.Context())
		first <- item
	}()
	<-entered
	fast := f.Subscribe(0, d.history)
	for range 100 {
		f.Event(d.add("", 10))
		f.Delta(delta(protocol.Sequence(len(d.events)), protocol.RunID(fmt.Sprint("r", len(d.events))), 0, "0000"))
		next(t, fast)
		next(t, fast)
	}
	close(leave)
	if i := <-first; i.Event == nil || i.Event.Sequence != 1 {
		t.Errorf("slow: %+v; want event 1", i)
	}
	for n := protocol.Sequence(2); n <= 100; n++ {
		if i := next(t, slow); i.Event == nil || i.Event.Sequence != n {
			t.Fatalf("slow: %+v; want event %d", i, n)
		}
	}
	if i := next(t, slow); i.Delta == nil || i.Delta.After != 100 {
		t.Errorf("slow: %+v; want the delta behind event 100", i)
	}
	nothing(t, slow)
	if fast.Dropped() != 0 || slow.Dropped() != 99 {
		t.Errorf("dropped %d for the fast, %d for the slow; want none and 99", fast.Dropped(), slow.Dropped())
	}
}

// TestFeed_S11_3_MemoryIsBounded by items and by bytes, whoever reads or not.
func TestFeed_S11_3_MemoryIsBounded(t *testing.T) {
	f, d := feed.New("s"), &table{}
	f.Subscribe(0, d.history) // and never reads
	for n := range 20_000 {
		f.Delta(delta(0, "r", int64(4*n), "text"))
		if items, _, room := f.Size(); items > 4096 || room > 4*4096 {
			t.Fatalf("after %d deltas: %d items, room for %d", n, items, room)
		}
	}
	for range 200 {
		f.Event(d.add("", 100_000))
		if items, bytes, _ := f.Size(); bytes > 4<<20+200_000 || items < 1 {
			t.Fatalf("%d items of %d bytes", items, bytes)
		}
	}
	f.Event(d.add("", 8<<20)) // larger than all: it alone
	if items, _, _ := f.Size(); items != 1 {
		t.Errorf("%d items; want the newest alone", items)
	}
}

// TestItem_JSON_S11_3_IsEncodedOnce for all subscribers.
func TestItem_JSON_S11_3_IsEncodedOnce(t *testing.T) {
	f, d := feed.New("s"), &table{}
	a, b := f.Subscribe(0, d.history), f.Subscribe(0, d.history)
	nothing(t, a)
	nothing(t, b)
	f.Event(d.add("r1", 0))
	f.Delta(delta(1, "r2", 0, "0000"))
	f.State(feed.State{})
	for _, want := range []string{`"durability":"durable"`, `"durability":"ephemeral"`, ""} {
		x, y := next(t, a).JSON(), next(t, b).JSON()
		if !strings.Contains(string(x), want) || (want == "") != (x == nil) {
			t.Errorf("JSON = %s; want %s", x, want)
		}
		if x != nil && &x[0] != &y[0] {
			t.Error("one item was encoded twice")
		}
	}
}

// TestFeed_CL_03_CL_04_ManyReadersAtOnce runs under the race detector: readers
// of different starts and speeds, over a ring that is far too small.
func TestFeed_CL_03_CL_04_ManyReadersAtOnce(t *testing.T) {
	const events, readers = 2000, 8
	f, d := feed.NewBounded("s", 16, 1<<20), &table{}
	turns := make(chan struct{}, 1) // readers that wait let the publisher run ahead
	var wg sync.WaitGroup
	for n := range readers {
		start := protocol.Sequence(0)
		if n%2 == 1 {
			start = protocol.Sequence(n * 100)
			for len(d.events) < int(start) {
				f.Event(d.add("", 0))
			}
		}
		s := f.Subscribe(start, d.history)
		wg.Go(func() {
			last, ended := start, false
			for last < events || !ended {
				item, err := s.Next(t.Context())
				if err != nil {
					t.Errorf("reader %d after %d: %v", n, last, err)
					return
				}
				switch {
				case item.Event != nil:
					if item.Event.Sequence != last+1 {
						t.Errorf("reader %d: event %d after %d", n, item.Event.Sequence, last)
						return
					}
					last++
					item.JSON()
				case item.Delta != nil && item.Delta.After != last:
					t.Errorf("reader %d: delta after %d behind event %d", n, item.Delta.After, last)
					return
				case item.State != nil:
					ended = item.State.State == protocol.StateIdle
				}
				if n > readers/2 {
					<-turns
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := len(d.events); seq < events; seq++ {
			run := protocol.RunID(fmt.Sprint("r", seq))
			f.Delta(delta(protocol.Sequence(seq), run, 0, "0000"))
			f.Delta(delta(protocol.Sequence(seq), run, 4, "0004"))
			f.Event(d.add(run, 0))
			if seq%500 == 0 {
				f.State(feed.State{State: protocol.StateRunning, Sequence: protocol.Sequence(seq + 1)})
			}
		}
		f.State(feed.State{State: protocol.StateIdle, Sequence: events})
	}()
	stop := make(chan struct{})
	go func() { // the slow ones' pace
		for {
			select {
			case turns <- struct{}{}:
			case <-stop:
				close(turns)
				return
			}
		}
	}()
	wg.Wait()
	<-done
	close(stop)
}

func BenchmarkFeed(b *testing.B) {
	for _, readers := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(readers, " readers"), func(b *testing.B) {
			f, d := feed.New("s"), &table{}
			var subs []*feed.Subscription
			for range readers {
				subs = append(subs, f.Subscribe(0, d.history))
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				f.Delta(delta(0, "r", int64(4*n), "text"))
				for _, s := range subs {
					if _, ok, err := s.TryNext(b.Context()); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			}
		})
	}
}
