package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
)

// leap is a clock which, while on, is past any grace at each look: an agent that has
// time until then has none left when its owner looks again.
type leap struct {
	on   atomic.Bool
	past atomic.Int64
}

func (l *leap) now() time.Time {
	past := l.past.Load()
	if l.on.Load() {
		past = l.past.Add(int64(time.Minute))
	}
	return time.Now().Add(time.Duration(past))
}

// TestCA01_CancelWhileTheAgentComesUp: a prompt that is cancelled while its agent is
// being started ends cancelled, always, and the agent never sees it.
func TestCA01_CancelWhileTheAgentComesUp(t *testing.T) {
	starting, cancelled := make(chan struct{}), make(chan struct{})
	r := newRig(t)
	launch := r.agents.launch
	r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
		starting <- struct{}{}
		<-cancelled
		return launch(ctx, rec, h)
	}
	r.start()
	for n := range 200 {
		id := protocol.SessionID(fmt.Sprint("s", n))
		end := make(chan string, 1)
		go func() { a, err := r.promptIn(id, "never"); end <- endOf(a, err) }()
		<-starting
		if err := r.vm.Cancel(r.ctx(), id, ""); err != nil {
			t.Error(err)
		}
		cancelled <- struct{}{}
		if got := <-end; got != "completed cancelled" {
			t.Fatalf("%s: %s; want cancelled", id, got)
		}
		if err := r.vm.Unload(r.ctx(), id); err != nil {
			t.Error(err)
		}
	}
	if sent := r.agents.sent(); len(sent) != 0 {
		t.Errorf("agents got %v; want nothing", sent)
	}
	r.check()
}

// TestCA01_StaleCancel: the cancel of a turn that is over does not hit the next.
func TestCA01_StaleCancel(t *testing.T) {
	goOn := make(chan struct{})
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			w.update("w", textUpdate("m", "x"))
			if strings.Contains(c.line, "first") {
				w.until("session/cancel")
				return `{"stopReason":"cancelled"}`
			}
			<-goOn
			return endTurn
		})
	})
	w := r.watch("main", 0)
	prompt := func(id protocol.PromptID, s string) <-chan string {
		end := make(chan string, 1)
		go func() {
			p := keyed("", s)
			p.ID = id
			a, err := r.vm.Prompt(r.ctx(), p)
			end <- endOf(a, err)
		}()
		w.until(t, "running of "+s, func(i feed.Item) bool {
			return i.State != nil && i.State.Prompt == id && i.State.State == protocol.StateRunning
		})
		return end
	}
	cancel := func(id protocol.PromptID) {
		if err := r.vm.Cancel(r.ctx(), "main", id); err != nil {
			t.Error(err)
		}
	}
	end := prompt("one", "first")
	cancel("one")
	if got := <-end; got != "completed cancelled" {
		t.Errorf("first: %s", got)
	}
	end = prompt("two", "second")
	cancel("one")
	close(goOn)
	if got := <-end; got != "completed end_turn" {
		t.Errorf("second: %s; want end_turn", got)
	}
	if n := len(r.wire.of("session/cancel")); n != 1 {
		t.Errorf("%d cancels were sent; want that of the first turn", n)
	}
	r.check()
}

// TestCA03_CancelAgainstTheResult: an agent whose result crosses the cancel, and one
// that says nothing at all on a cancel: the turn has one end, in bounded time.
func TestCA03_CancelAgainstTheResult(t *testing.T) {
	t.Run("result at once", func(t *testing.T) {
		r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
			w.serve("w", func(wireCall) string {
				w.update("w", textUpdate("m", "x"))
				w.until("session/cancel")
				return endTurn
			})
		})
		for range 30 {
			errs := startTurn(t, r.rig, "main", "go")
			if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
				t.Error(err)
			}
			if err := <-errs; err != nil {
				t.Errorf("prompt: %v", err)
			}
			if s := r.info("main").State; s != protocol.StateIdle {
				t.Errorf("state = %s; want idle", s)
			}
		}
		r.check()
	})
	t.Run("result and cancel at once", func(t *testing.T) {
		results := make(chan struct{})
		r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
			w.serve("w", func(wireCall) string {
				w.update("w", textUpdate("m", "x"))
				<-results
				return endTurn
			})
		})
		for range 30 {
			errs := startTurn(t, r.rig, "main", "go")
			go func() { results <- struct{}{} }()
			if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
				t.Error(err)
			}
			if err := <-errs; err != nil {
				t.Errorf("prompt: %v", err)
			}
		}
		r.check()
	})
	t.Run("silence", func(t *testing.T) {
		var clock leap
		r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
			w.serve("w", func(wireCall) string { w.update("w", textUpdate("m", "x")); return "" })
		}, func(r *rig) { r.config.Clock = clock.now })
		w := r.watch("main", 0)
		end := r.prompting("go")
		w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
		clock.on.Store(true)
		if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
			t.Error(err)
		}
		if got := <-end; got != "completed cancelled" {
			t.Errorf("prompt: %s; want cancelled", got)
		}
		r.check()
	})
}

// TestCA04_CancelWhenIdle: cancels of nothing do not hit what comes next.
func TestCA04_CancelWhenIdle(t *testing.T) {
	r := newRig(t).start()
	r.mustPrompt("before")
	for range 2 {
		if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
			t.Error(err)
		}
	}
	if a := r.mustPrompt("hi"); a.StopReason != "end_turn" || !strings.Contains(messageText(a.Message), "hi") {
		t.Errorf("answer = %+v; want that of any prompt", a)
	}
	r.check()
}

// TestCA06_CancelHitsItsSession: of two sessions that run, the one that is cancelled
// ends so, and the other does not hear of it.
func TestCA06_CancelHitsItsSession(t *testing.T) {
	bMayEnd, bHasEnded := make(chan struct{}), make(chan struct{})
	r := newWireRig(t, 0, func(id protocol.SessionID, w *wireAgent) {
		w.serve("w-"+string(id), func(wireCall) string {
			w.update("w-"+string(id), textUpdate("m", "x"))
			if id == "b" {
				<-bMayEnd
				return endTurn
			}
			w.until("session/cancel")
			close(bMayEnd)
			<-bHasEnded
			return `{"stopReason":"cancelled"}`
		})
	})
	end := func(id protocol.SessionID) <-chan string {
		w := r.watch(id, 0)
		end := make(chan string, 1)
		go func() { a, err := r.promptIn(id, "go"); end <- endOf(a, err) }()
		w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
		return end
	}
	a, b := end("a"), end("b")
	if err := r.vm.Cancel(r.ctx(), "a", ""); err != nil {
		t.Error(err)
	}
	if got := <-b; got != "completed end_turn" {
		t.Errorf("b: %s", got)
	}
	close(bHasEnded)
	if got := <-a; got != "completed cancelled" {
		t.Errorf("a: %s", got)
	}
	var told []string
	for _, c := range r.wire.of("session/cancel") {
		told = append(told, string(c.Params))
	}
	if d := cmp.Diff([]string{`{"sessionId":"w-a"}`}, told); d != "" {
		t.Errorf("cancels: -want +got\n%s", d)
	}
	r.check()
}

// TestCA07_AgentThatIgnoresCancel: past the grace it is stopped, the turn says so,
// the next prompt brings its session back, and what was queued meanwhile runs.
func TestCA07_AgentThatIgnoresCancel(t *testing.T) {
	var clock leap
	r := newRig(t, func(r *rig) { r.config.Clock = clock.now }).start()
	w := r.watch("main", 0)
	type end struct {
		*protocol.Answer
		err error
	}
	var ends []chan end
	prompt := func(s string) {
		c := make(chan end, 1)
		ends = append(ends, c)
		go func() {
			p := keyed("", s)
			p.Queue = true
			a, err := r.vm.Prompt(r.ctx(), p)
			c <- end{a, err}
		}()
	}
	prompt("zero [[chunks 1]] [[hang]]")
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
	for n, s := range []string{"one", "two"} {
		prompt(s)
		r.becomes(fmt.Sprint(s, " in the queue"), func() bool {
			queue, err := r.vm.Queue(r.ctx(), "main")
			return err == nil && len(queue) == n+1
		})
	}
	clock.on.Store(true)
	if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
		t.Error(err)
	}
	first := <-ends[0]
	clock.on.Store(false)
	if first.err != nil || first.StopReason != protocol.StopCancelled || !first.Forced {
		t.Fatalf("cancelled turn = %+v, %v; want cancelled by force", first.Answer, first.err)
	}
	for n, c := range ends[1:] {
		e := <-c
		want := []protocol.RestoredBy{protocol.RestoredResume, protocol.RestoredLive}[n]
		if e.err != nil || e.StopReason != "end_turn" || e.RestoredBy != want {
			t.Errorf("queued prompt %d = %+v, %v; want end_turn of an agent that is %s", n, e.Answer, e.err, want)
		}
	}
	if _, started := r.agents.counts(); started != 2 {
		t.Errorf("%d agents were started; want 2", started)
	}
	r.check()
}

// becomes asks until something is so.
func (r *rig) becomes(what string, so func() bool) {
	r.tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !so(); {
		select {
		case <-tick.C:
		case <-end:
			r.tb.Fatalf("never: %s", what)
		}
	}
}
