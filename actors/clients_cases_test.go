package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
)

// TestCL01_EverythingGoesToItsSession: two sessions that are told the same names by
// agents with one session id, which speak in turns: updates, questions, answers,
// queued prompts and ends go to the one that they belong to.
func TestCL01_EverythingGoesToItsSession(t *testing.T) {
	const words = 100
	turn := map[protocol.SessionID]chan struct{}{"a": make(chan struct{}, 1), "b": make(chan struct{}, 1)}
	other := map[protocol.SessionID]protocol.SessionID{"a": "b", "b": "a"}
	r := newWireRig(t, 0, func(id protocol.SessionID, w *wireAgent) {
		w.serve("same", func(c wireCall) string {
			if strings.Contains(c.line, "queued") {
				w.update("same", textUpdate("m2", "queued of "+string(id)))
				return endTurn
			}
			w.ask("same", "q", `{"optionId":"of-`+string(id)+`","kind":"allow_once"}`)
			answer, ok := w.next()
			if !ok || !strings.Contains(answer.line, "of-"+string(id)) {
				w.update("same", textUpdate("m", "the answer of another"))
			}
			for n := range words {
				<-turn[id]
				w.update("same", fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t","of":"%s","n":%d}`, id, n))
				turn[other[id]] <- struct{}{}
			}
			return endTurn
		})
	})
	turn["a"] <- struct{}{}
	var all sync.WaitGroup
	watchers := map[protocol.SessionID]*watcher{}
	prompt := func(id protocol.SessionID, s string) {
		all.Go(func() {
			p := keyed("", s)
			p.Session, p.Open.Session, p.Queue = id, id, true
			if a, err := r.vm.Prompt(r.ctx(), p); err != nil || a.Session != id {
				t.Errorf("%s: %+v, %v", id, a, err)
			}
		})
	}
	for id := range turn {
		watchers[id] = r.watch(id, 0)
		prompt(id, "go")
	}
	questions := map[protocol.SessionID]protocol.RequestID{"a": watchers["a"].question(t, 1), "b": watchers["b"].question(t, 1)}
	prompt("a", "queued")
	r.becomes("a queue of a", func() bool { q, err := r.vm.Queue(r.ctx(), "a"); return err == nil && len(q) == 1 })
	for id, q := range questions {
		if _, err := r.vm.Permit(r.ctx(), id, q, "of-"+string(id)); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	for id, w := range watchers {
		var want []string
		for n := range words {
			want = append(want, fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t","of":"%s","n":%d}`, id, n))
		}
		if id == "a" {
			want = append(want, textUpdate("m2", "queued of a"))
		}
		events := r.history(id)
		var got []string
		for _, e := range events {
			if k := kindOf(e); k == "tool_call" || k == "agent_message_chunk" {
				got = append(got, string(e.Payload))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", id, d)
		}
		w.until(t, "the last", func(i feed.Item) bool { return i.State != nil && int(i.State.Sequence) == len(events) })
		sameAsFeed(t, w.all(), events)
	}
	r.check()
}

// TestCL03_HistoryThenLiveWithoutAGap: readers that come at any moment of a fast
// stream, from any event, go away and come again behind their last, see each
// event once and in order.
func TestCL03_HistoryThenLiveWithoutAGap(t *testing.T) {
	const updates, readers = 500, 50
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for n := range updates {
				w.update("w", fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t","n":%d}`, n))
			}
			return endTurn
		})
	})
	const last = protocol.Sequence(1 + updates)
	random := rand.New(rand.NewPCG(1, 2))
	w := r.watch("main", 0)
	end := r.prompting("go")
	var all sync.WaitGroup
	for range readers {
		after := protocol.Sequence(1 + random.IntN(updates/2)) // as soon as that is there
		stay := 1 + random.IntN(200)
		w.until(t, "the start of a reader", func(i feed.Item) bool { return i.Event != nil && i.Event.Sequence >= after })
		all.Go(func() {
			for at := after; at < last; {
				var err error
				if at, err = r.read(at, stay, last); err != nil {
					t.Errorf("reader from %d: %v", after, err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := <-end; got != "completed end_turn" {
		t.Errorf("prompt: %s", got)
	}
	r.check()
}

// read subscribes behind at and leaves behind so many events, or the last; it
// returns the last that it saw.
func (r *rig) read(at protocol.Sequence, events int, last protocol.Sequence) (protocol.Sequence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sub, err := r.vm.Watch(ctx, "main", at)
	for err == nil && events > 0 && at < last {
		var item feed.Item
		if item, err = sub.Next(ctx); err == nil && item.Event != nil {
			if item.Event.Sequence != at+1 {
				return at, fmt.Errorf("event %d after %d", item.Event.Sequence, at)
			}
			at++
			events--
		}
	}
	return at, err
}

// TestCL04_SlowReader: one that reads nothing until the turn is over delays nobody
// and still gets every event.
func TestCL04_SlowReader(t *testing.T) {
	const updates = 8_000
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			var b strings.Builder
			for n := range updates {
				b.WriteString(updateLine("w", fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t","n":%d}`, n)))
			}
			w.put(b.String())
			return endTurn
		})
	})
	if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: spec()}); err != nil {
		t.Fatal(err)
	}
	slow, err := r.vm.Watch(r.ctx(), "main", 0)
	if err != nil {
		t.Fatal(err)
	}
	fast := r.watch("main", 0)
	r.mustPrompt("go")
	fast.until(t, "the last", func(i feed.Item) bool { return i.Event != nil && i.Event.Sequence == 1+updates })
	for want := protocol.Sequence(1); want <= 1+updates; {
		item, err := slow.Next(r.ctx())
		if err != nil {
			t.Fatalf("slow reader before %d: %v", want, err)
		}
		if item.Event == nil {
			continue
		}
		if item.Event.Sequence != want {
			t.Fatalf("slow reader: event %d; want %d", item.Event.Sequence, want)
		}
		want++
	}
}
