package feed_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"agentos/actors/feed"
	"agentos/protocol"
)

// TestFeed_S5_3_S11_3 drives a feed with subscribers of every speed and start
// against a twin: the list of all that was published and a database that is a
// slice. Things are stored and published in the middle of reads of the database,
// too, which is where a gap or a double would come from.
func TestFeed_S5_3_S11_3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 12).Draw(t, "ring"), rapid.SampledFrom([]int{1 << 20, 1500}).Draw(t, "bytes"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(w.readers) == 0 || rapid.IntRange(0, 7).Draw(t, "subscribes") == 0 {
				w.subscribe()
			}
			for range rapid.IntRange(0, 6).Draw(t, "published") {
				w.publish()
			}
			r := rapid.SampledFrom(w.readers).Draw(t, "reader")
			for range rapid.IntRange(0, 8).Draw(t, "reads") {
				if !r.read() {
					break
				}
			}
		}
		w.mute = true // what was stored and not published is found with the next event
		w.event("")
		for _, r := range w.readers {
			for r.read() {
			}
			r.finished()
		}
	})
}

// world is the twin.
type world struct {
	t       *rapid.T
	feed    *feed.Feed
	stored  []protocol.Event
	readers []*reader
	mute    bool // nothing is published in the middle of a read

	soft   int64            // deltas and states published
	number map[string]int64 // of a delta or state among them, from 1
	state  int              // number of the newest state
	runs   int
	run    protocol.RunID // open, "" if none
	offset int64
}

func newWorld(t *rapid.T, items, bytes int) *world {
	return &world{t: t, feed: feed.NewBounded("s", items, bytes), number: map[string]int64{}}
}

func (w *world) publish() {
	switch rapid.SampledFrom([]string{"event", "event", "lost", "delta", "delta", "delta", "delta", "end", "end", "state"}).Draw(w.t, "publish") {
	case "event": // of a side kind: the run goes on
		w.event("")
	case "lost": // stored, and the session failed before it was published
		w.store("")
	case "delta":
		w.delta()
	case "end":
		w.event(w.run)
		w.run = ""
	case "state":
		w.state++
		w.count(fmt.Sprint("state ", w.state))
		w.feed.State(feed.State{Prompt: protocol.PromptID(fmt.Sprint(w.state)), Sequence: w.latest()})
	}
}

func (w *world) latest() protocol.Sequence { return protocol.Sequence(len(w.stored)) }

func (w *world) store(run protocol.RunID) protocol.Event {
	e := protocol.Event{Sequence: w.latest() + 1, Payload: []byte(`{"sessionUpdate":"x"}`)}
	w.stored = append(w.stored, e)
	e.Run = run
	return e
}

func (w *world) event(run protocol.RunID) { w.feed.Event(w.store(run)) }

func (w *world) delta() {
	if w.run == "" {
		w.runs++
		w.run, w.offset = protocol.RunID(fmt.Sprint("r", w.runs)), 0
	}
	text := fmt.Sprintf("%04d", w.offset)
	w.feed.Delta(delta(w.latest(), w.run, w.offset, text))
	w.count(fmt.Sprint(w.run, "+", w.offset))
	w.offset += int64(len(text))
}

func (w *world) count(name string) {
	w.soft++
	w.number[name] = w.soft
}

func delta(after protocol.Sequence, run protocol.RunID, offset int64, text string) protocol.Delta {
	return protocol.Delta{After: after, Run: run, Offset: offset, ACP: 1,
		Payload: []byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)}
}

// reader is one subscription with what it may see next.
type reader struct {
	w      *world
	sub    *feed.Subscription
	last   protocol.Sequence
	seen   map[int64]bool // deltas and states, by number
	soft   int64          // published before it subscribed
	state  int
	states int // the newest when it subscribed
	run    protocol.RunID
	offset int64
}

func (w *world) subscribe() {
	r := &reader{w: w, soft: w.soft, states: w.state, seen: map[int64]bool{}}
	r.last = protocol.Sequence(rapid.IntRange(0, len(w.stored)).Draw(w.t, "after"))
	r.sub = w.feed.Subscribe(r.last, r.history)
	w.readers = append(w.readers, r)
}

// history reads the twin's database, slowly.
func (r *reader) history(_ context.Context, after protocol.Sequence, limit int) ([]protocol.Event, error) {
	w := r.w
	meanwhile := func(what string) {
		if w.mute {
			return
		}
		for range rapid.IntRange(0, 4).Draw(w.t, what) {
			w.publish()
		}
	}
	meanwhile("before the read")
	limit = min(limit, rapid.IntRange(1, 4).Draw(w.t, "page"))
	page := append([]protocol.Event(nil), w.stored[after:min(int(after)+limit, len(w.stored))]...)
	meanwhile("after the read")
	return page, nil
}

// read takes one item and holds it to the rules.
func (r *reader) read() bool {
	t := r.w.t
	item, ok, err := r.sub.TryNext(context.Background())
	if err != nil {
		t.Fatalf("TryNext: %v", err)
	}
	switch {
	case !ok:
		return false
	case item.Event != nil:
		if item.Event.Sequence != r.last+1 {
			t.Fatalf("event %d after %d", item.Event.Sequence, r.last)
		}
		r.last++
	case item.Delta != nil:
		r.piece(*item.Delta)
	case item.State != nil:
		var n int
		if _, err := fmt.Sscan(string(item.State.Prompt), &n); err != nil || n <= r.state || item.State.Sequence > r.last {
			t.Fatalf("state %s at %d after state %d, event %d", item.State.Prompt, item.State.Sequence, r.state, r.last)
		}
		r.state = n
		r.seen[r.w.number[fmt.Sprint("state ", n)]] = true
	default:
		t.Fatalf("an empty item")
	}
	return true
}

// piece holds a delta: it comes right behind the event that it says, it is of a
// run that has not ended, and no byte is shown twice.
func (r *reader) piece(d protocol.Delta) {
	t := r.w.t
	if d.After != r.last {
		t.Fatalf("delta after %d came behind event %d", d.After, r.last)
	}
	if d.Run != r.run {
		if d.Run <= r.run && len(d.Run) <= len(r.run) {
			t.Fatalf("delta of run %s after one of run %s", d.Run, r.run)
		}
		r.run, r.offset = d.Run, 0
	}
	if d.Offset < r.offset {
		t.Fatalf("run %s: delta at %d, and %d bytes were shown", d.Run, d.Offset, r.offset)
	}
	r.offset = d.Offset
	for text := textOf(d); text != ""; text = text[4:] {
		if text[:4] != fmt.Sprintf("%04d", r.offset) {
			t.Fatalf("run %s: %q at %d", d.Run, text, r.offset)
		}
		r.seen[r.w.number[fmt.Sprint(d.Run, "+", r.offset)]] = true
		r.offset += 4
	}
}

func textOf(d protocol.Delta) string {
	s := string(d.Payload[len(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`):])
	return s[:len(s)-len(`"}}`)]
}

// finished holds what must be true of a reader that has caught up: it has every
// event, the newest state, and the rest was counted.
func (r *reader) finished() {
	t := r.w.t
	if r.last != r.w.latest() {
		t.Fatalf("events up to %d of %d were seen", r.last, r.w.latest())
	}
	if r.w.state > r.states && r.state != r.w.state {
		t.Fatalf("the newest state is %d, %d was seen", r.w.state, r.state)
	}
	var missed int64
	for n := r.soft + 1; n <= r.w.soft; n++ {
		if !r.seen[n] {
			missed++
		}
	}
	if got := r.sub.Dropped(); got != missed {
		t.Fatalf("%d deltas and states were missed and %d counted", missed, got)
	}
}
