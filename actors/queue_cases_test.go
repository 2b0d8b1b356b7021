package actors_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors/feed"
	"agentos/protocol"
)

// heard returns which of the texts agents were prompted with, in order.
func (l *wireLog) heard(texts ...string) (got []string) {
	for _, c := range l.of("session/prompt") {
		for _, s := range texts {
			if strings.Contains(c.line, `"`+s+`"`) {
				got = append(got, s)
			}
		}
	}
	return got
}

// TestPW01_PromptsQueueInOrder: behind a turn that runs, prompts wait in their order;
// one that is taken out ends without having reached the agent.
func TestPW01_PromptsQueueInOrder(t *testing.T) {
	goOn := make(chan struct{})
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			w.update("w", textUpdate("m", "x"))
			<-goOn
			return endTurn
		})
	})
	errs := startTurn(t, r.rig, "main", "p1")
	if _, err := r.prompt("direct"); protocol.CodeOf(err) != protocol.CodeSessionBusy {
		t.Errorf("a prompt that does not queue: %v; want session_busy", err)
	}
	waiting := map[string]chan string{"p2": make(chan string, 1), "p3": make(chan string, 1)}
	for n, s := range []string{"p2", "p3"} {
		go func() {
			p := keyed("", s)
			p.ID, p.Queue = protocol.PromptID(s), true
			a, err := r.vm.Prompt(r.ctx(), p)
			waiting[s] <- endOf(a, err)
		}()
		r.becomes(s+" in the queue", func() bool {
			queue, err := r.vm.Queue(r.ctx(), "main")
			return err == nil && len(queue) == n+1
		})
	}
	if err := r.vm.QueueRemove(r.ctx(), "main", "p2"); err != nil {
		t.Error(err)
	}
	if got := <-waiting["p2"]; got != "completed cancelled" {
		t.Errorf("p2: %s; want cancelled", got)
	}
	close(goOn)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	if got := <-waiting["p3"]; got != "completed end_turn" {
		t.Errorf("p3: %s", got)
	}
	if d := cmp.Diff([]string{"p1", "p3"}, r.wire.heard("p1", "p2", "p3", "direct")); d != "" {
		t.Errorf("the agent was prompted with: -want +got\n%s", d)
	}
	r.check()
}

// TestPW02_OnePromptAtATime: an agent that would take more is given the next prompt
// when it has answered the one before, and what it says belongs to that.
func TestPW02_OnePromptAtATime(t *testing.T) {
	queued := make(chan struct{})
	var early atomic.Int64
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			said := "second"
			if strings.Contains(c.line, `"p1"`) {
				said = "first"
				w.update("w", textUpdate("m-"+said, "a "))
				<-queued
			}
			w.update("w", textUpdate("m-"+said, said))
			early.Add(int64(len(w.lines.of("session/prompt"))) << (8 * len(w.lines.heard("p2"))))
			return endTurn
		})
	})
	w := r.watch("main", 0)
	answers := [2]chan *protocol.Answer{make(chan *protocol.Answer, 1), make(chan *protocol.Answer, 1)}
	for n, s := range []string{"p1", "p2"} {
		go func() {
			p := keyed("", s)
			p.Queue = true
			a, err := r.vm.Prompt(r.ctx(), p)
			if err != nil {
				t.Error(err)
			}
			answers[n] <- a
		}()
		if n == 0 {
			w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
		}
	}
	r.becomes("a queue", func() bool { q, err := r.vm.Queue(r.ctx(), "main"); return err == nil && len(q) == 1 })
	close(queued)
	for n, want := range []string{"a first", "second"} {
		if a := <-answers[n]; a == nil || messageText(a.Message) != want {
			t.Errorf("answer %d = %+v; want %q", n, a, want)
		}
	}
	if got := early.Load(); got != 1+2<<8 { // one prompt at the end of the first turn, two at that of the second
		t.Errorf("prompts seen at the ends of the turns: %#x", got)
	}
	r.check()
}

// TestIR01_RetryAfterAnError: an agent that has done something and then fails: the
// same key gives the failure again, a new one does it again, and nobody else does.
func TestIR01_RetryAfterAnError(t *testing.T) {
	var counter atomic.Int64
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			counter.Add(1)
			w.update("w", `{"sessionUpdate":"tool_call","toolCallId":"count"}`)
			w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32603,"message":"broken"}}` + "\n")
			return ""
		})
	})
	var first string
	for n, c := range []struct {
		key  string
		want int64
	}{{"k1", 1}, {"k1", 1}, {"restart", 1}, {"k1", 1}, {"k2", 2}, {"k1", 2}} {
		if c.key == "restart" {
			r.restart()
			continue
		}
		_, err := r.vm.Prompt(r.ctx(), keyed(c.key, "count"))
		if n == 0 {
			first = err.Error()
		}
		if protocol.CodeOf(err) != protocol.CodeAgentError || err.Error() != first || counter.Load() != c.want {
			t.Errorf("try %d with %s: %v, counter %d; want %q, %d", n, c.key, err, counter.Load(), first, c.want)
		}
	}
	r.check()
}

// TestIR02_KeyWithAnotherBody: what a key means in a run, behind it, with other
// content, in another session; and what is no key.
func TestIR02_KeyWithAnotherBody(t *testing.T) {
	goOn := make(chan struct{})
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			w.update("w", textUpdate("m", "x"))
			<-goOn
			return endTurn
		})
	})
	prompt := func(session protocol.SessionID, key, s string) (*protocol.Answer, error) {
		p := keyed(key, s)
		p.Session, p.Open.Session = session, session
		return r.vm.Prompt(r.ctx(), p)
	}
	w := r.watch("main", 0)
	answers := make(chan *protocol.Answer, 2)
	run := func() {
		a, err := prompt("main", "K", "a")
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}
	go run()
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
	go run() // joins, or comes behind the end: the same
	if _, err := prompt("main", "K", "b"); protocol.CodeOf(err) != protocol.CodeIdempotencyConflict {
		t.Errorf("other content during the run: %v; want idempotency_conflict", err)
	}
	close(goOn)
	one, two := <-answers, <-answers
	after, err := prompt("main", "K", "a")
	if err != nil || one == nil || two == nil || one.Prompt != two.Prompt || after.Prompt != one.Prompt {
		t.Errorf("one key: %+v, %+v, %+v, %v; want one prompt", one, two, after, err)
	}
	if _, err := prompt("main", "K", "b"); protocol.CodeOf(err) != protocol.CodeIdempotencyConflict {
		t.Errorf("other content: %v; want idempotency_conflict", err)
	}
	if a, err := prompt("other", "K", "b"); err != nil || a.Recalled {
		t.Errorf("in another session: %+v, %v; want a turn", a, err)
	}
	if _, err := prompt("main", strings.Repeat("k", 300), "a"); protocol.CodeOf(err) != protocol.CodeInvalidArgument {
		t.Errorf("300 bytes: %v; want invalid_argument", err)
	}
	before := len(r.wire.of("session/prompt"))
	for range 2 { // no key: each runs
		if a, err := prompt("main", "", "a"); err != nil || a.Recalled {
			t.Errorf("no key: %+v, %v", a, err)
		}
	}
	if n := len(r.wire.of("session/prompt")); before != 2 || n != 4 {
		t.Errorf("%d prompts before those without a key, %d in all; want 2 and 4", before, n)
	}
	r.check()
}
