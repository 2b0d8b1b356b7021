package actors_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
)

// keyed is a prompt with an idempotency key.
func keyed(key, s string) actors.Prompt {
	return actors.Prompt{
		Session: "main", Content: text(s), Key: key, Open: &actors.OpenSession{Session: "main", Spec: spec()},
	}
}

// The same key sent by many at once runs once, and all get the one result; so do
// those who come later, also after a restart.
func TestS6_8_OneTurnForAKey(t *testing.T) {
	r := newRig(t).start()
	var wg sync.WaitGroup
	got := make([]*protocol.Answer, 10)
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a, err := r.vm.Prompt(r.ctx(), keyed("k", "once #tag [[chunks 5]] [[calls 3]] [[think]]"))
			if err != nil {
				t.Error(err)
			}
			got[i] = a
		}()
	}
	wg.Wait()
	r.restart()
	late, err := r.vm.Prompt(r.ctx(), keyed("k", "once #tag [[chunks 5]] [[calls 3]] [[think]]"))
	if err != nil || !late.Recalled {
		t.Fatalf("after a restart: %+v, %v; want what was stored", late, err)
	}
	for _, a := range got {
		if a == nil {
			t.Fatal("no answer")
		}
		a.Recalled = true // those who came late
		if d := cmp.Diff(late, a); d != "" {
			t.Errorf("two answers for one key:\n%s", d)
		}
	}
	if !strings.Contains(messageText(late.Message), "#tag") {
		t.Errorf("message = %q", messageText(late.Message))
	}
	for line, n := range r.agents.sent() {
		if n != 1 {
			t.Errorf("%s was sent %d times", line, n)
		}
	}
	if _, err := r.vm.Prompt(r.ctx(), keyed("k", "other")); protocol.CodeOf(err) != protocol.CodeIdempotencyConflict {
		t.Errorf("other content: %v; want idempotency_conflict", err)
	}
	r.check()
}

// Who chose the id of a prompt can ask what became of it.
func TestRecall(t *testing.T) {
	r := newRig(t).start()
	p := keyed("", "hello #tag")
	p.ID = "chosen"
	a, err := r.vm.Prompt(r.ctx(), p)
	if err != nil || a.Prompt != "chosen" {
		t.Fatalf("Prompt = %+v, %v", a, err)
	}
	back, found, err := r.vm.Recall(r.ctx(), "main", "chosen")
	if err != nil || !found {
		t.Fatalf("Recall = %v, %v", found, err)
	}
	a.Recalled = true
	if d := cmp.Diff(a, back); d != "" {
		t.Error(d)
	}
	if _, found, err := r.vm.Recall(r.ctx(), "main", "another"); found || err != nil {
		t.Errorf("Recall of nothing = %v, %v", found, err)
	}
	p.ID, p.Content = "fails", text("[[exit 3]]")
	if _, err := r.vm.Prompt(r.ctx(), p); protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Fatal(err)
	}
	if _, found, err := r.vm.Recall(r.ctx(), "main", "fails"); !found || protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Errorf("Recall of a failed prompt = %v, %v", found, err)
	}
	r.check()
}

// A queue runs in its order, survives the end of its owner, pauses behind the turn
// that was lost with it, and goes on when a person says so.
func TestS6_9_QueueOverARestart(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	first := make(chan error, 1)
	go func() {
		_, err := r.vm.Prompt(r.ctx(), keyed("", "zero [[hang]]"))
		first <- err
	}()
	w.until(t, "running", func(i feed.Item) bool { return i.State != nil && i.State.State == protocol.StateRunning })
	for _, s := range []string{"one", "two", "three"} {
		if q, _, err := r.vm.Enqueue(r.ctx(), keyed("", s)); err != nil || q == nil {
			t.Fatalf("Enqueue = %v, %v", q, err)
		}
	}
	queue, err := r.vm.Queue(r.ctx(), "main")
	if err != nil || len(queue) != 3 {
		t.Fatalf("Queue = %d, %v; want 3", len(queue), err)
	}
	if err := r.vm.QueueEdit(r.ctx(), "main", queue[1].ID, text("zwei")); err != nil {
		t.Error(err)
	}
	r.restart()
	if err := <-first; err == nil {
		t.Error("a turn ended well that never ended")
	}
	if _, err := r.prompt("passes"); protocol.CodeOf(err) != protocol.CodeSessionBusy {
		t.Errorf("a direct prompt: %v; want session_busy", err)
	}
	if queue, err := r.vm.Queue(r.ctx(), "main"); err != nil || len(queue) != 3 {
		t.Fatalf("Queue after a restart = %d, %v; want 3", len(queue), err)
	}
	w = r.watch("main", 0)
	if err := r.vm.QueueResume(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the end of the last", func(i feed.Item) bool {
		return i.Event != nil && strings.Contains(string(i.Event.Payload), "You said: three")
	})
	w.until(t, "idle", func(i feed.Item) bool { return i.State != nil && i.State.State == protocol.StateIdle })
	var said []string
	for _, e := range r.history("main") {
		if kindOf(e) == "user_message_chunk" {
			said = append(said, chunkText(t, e.Payload))
		}
	}
	if d := cmp.Diff([]string{"zero [[hang]]", "one", "zwei", "three"}, said); d != "" {
		t.Errorf("the turns that ran:\n%s", d)
	}
	r.check()
}
