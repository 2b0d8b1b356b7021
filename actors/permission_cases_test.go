package actors_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
)

const (
	selectedYes = `{"outcome":{"outcome":"selected","optionId":"yes-1"}}`
	selectedNo  = `{"outcome":{"outcome":"selected","optionId":"no-1"}}`
	askedInVain = `{"outcome":{"outcome":"cancelled"}}`
	yesAndNo    = `{"optionId":"yes-1","name":"Yes","kind":"allow_once"},{"optionId":"no-1","name":"No","kind":"reject_once"}`
)

// ask writes a permission request under an id of the agent's.
func (w *wireAgent) ask(session, id, options string) {
	w.put(`{"jsonrpc":"2.0","id":"` + id + `","method":"session/request_permission","params":{"sessionId":"` + session +
		`","toolCall":{"toolCallId":"t"},"options":[` + options + "]}}\n")
}

// until reads the runtime's lines up to one with that method, or, for "", up to an
// answer; false if there is none.
func (w *wireAgent) until(method string) bool {
	for {
		if c, ok := w.next(); !ok || c.Method == method {
			return ok
		}
	}
}

// answers are the results that the agents got for the request of that id.
func (l *wireLog) answers(id string) (results []string) {
	for _, c := range l.of("") {
		if string(c.ID) == `"`+id+`"` {
			results = append(results, string(c.Result))
		}
	}
	return results
}

// question waits for the n-th permission request, from 1, that is shown.
func (w *watcher) question(tb testing.TB, n int) protocol.RequestID {
	tb.Helper()
	return w.until(tb, fmt.Sprint("question ", n), func(i feed.Item) bool {
		if i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest {
			n--
		}
		return n == 0
	}).Event.Request
}

// prompting prompts main in a goroutine.
func (r *rig) prompting(s string) <-chan string {
	end := make(chan string, 1)
	go func() { a, err := r.prompt(s); end <- endOf(a, err) }()
	return end
}

// refused fails the test unless an answer came too late, for that reason.
func refused(t *testing.T, a protocol.PermissionAnswer, err error, why protocol.Reason) {
	t.Helper()
	if want := (protocol.PermissionAnswer{Status: protocol.OutcomeNotPending, Reason: why}); err != nil || a != want {
		t.Errorf("answer = %+v, %v; want %+v", a, err, want)
	}
}

// TestPR01_CancelReleasesAQuestion: a cancel answers what is asked, ends the turn,
// and the next prompt does not wait for anything.
func TestPR01_CancelReleasesAQuestion(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			if strings.Contains(c.line, "second") {
				return endTurn
			}
			w.ask("w", "q", yesAndNo)
			if cancel, answer := w.until("session/cancel"), len(w.lines.answers("q")) > 0 || w.until(""); !cancel || !answer {
				return ""
			}
			return `{"stopReason":"cancelled"}`
		})
	})
	w := r.watch("main", 0)
	end := r.prompting("first")
	w.question(t, 1)
	if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
		t.Error(err)
	}
	if a := r.promptBehind("second"); a.StopReason != "end_turn" {
		t.Errorf("second prompt = %+v", a)
	}
	if got := <-end; got != "completed cancelled" {
		t.Errorf("first prompt: %s", got)
	}
	if d := cmp.Diff([]string{askedInVain}, r.wire.answers("q")); d != "" {
		t.Errorf("the agent was answered: -want +got\n%s", d)
	}
	var kinds []string
	for _, e := range r.history("main") {
		kinds = append(kinds, kindOf(e))
	}
	if d := cmp.Diff([]string{"user_message_chunk", "permission_request", "permission_response", "user_message_chunk"}, kinds); d != "" {
		t.Errorf("history: -want +got\n%s", d)
	}
	r.check()
}

// promptBehind prompts main behind whatever runs.
func (r *rig) promptBehind(s string) *protocol.Answer {
	r.tb.Helper()
	a, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "main", Content: text(s), Queue: true})
	if err != nil {
		r.tb.Fatalf("prompt %q: %v", s, err)
	}
	return a
}

// TestPR02_AuthorityEndsWithTheTurn: a question of a turn that has ended, in each
// way, cannot be allowed any more, and nothing of the answer reaches the agent. The
// question of the turn that runs can.
func TestPR02_AuthorityEndsWithTheTurn(t *testing.T) {
	for _, way := range []string{"end_turn", "cancel", "deadline"} {
		t.Run(way, func(t *testing.T) {
			var clock leap
			shown := make(chan struct{})
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(c wireCall) string {
					switch {
					case strings.Contains(c.line, "second"):
						w.ask("w", "new", yesAndNo)
						w.until("")
					case way == "deadline":
						w.ask("w", "old", yesAndNo)
						return ""
					case way == "cancel":
						w.ask("w", "old", yesAndNo)
						w.until("session/cancel")
					default:
						w.ask("w", "old", yesAndNo)
						<-shown
					}
					return endTurn
				})
			}, func(r *rig) { r.config.Clock = clock.now })
			w := r.watch("main", 0)
			end := r.prompting("first")
			old := w.question(t, 1)
			close(shown)
			if way != "end_turn" {
				clock.on.Store(way == "deadline")
				if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
					t.Error(err)
				}
			}
			<-end
			clock.on.Store(false)
			a, err := r.vm.Permit(r.ctx(), "main", old, "yes-1")
			refused(t, a, err, protocol.ReasonPromptCancelled)

			end = r.prompting("second")
			live := w.question(t, 2)
			a, err = r.vm.Permit(r.ctx(), "main", old, "yes-1")
			refused(t, a, err, protocol.ReasonPromptCancelled)
			if a, err := r.vm.Permit(r.ctx(), "main", live, "yes-1"); err != nil || a.Status != protocol.OutcomeAccepted {
				t.Errorf("the question of the turn that runs: %+v, %v", a, err)
			}
			if got := <-end; got != "completed end_turn" {
				t.Errorf("second prompt: %s", got)
			}
			for _, got := range r.wire.answers("old") {
				if got != askedInVain {
					t.Errorf("the agent was answered %s", got)
				}
			}
			if d := cmp.Diff([]string{selectedYes}, r.wire.answers("new")); d != "" {
				t.Errorf("new question: -want +got\n%s", d)
			}
			r.check()
		})
	}
}

// TestPR04_QuestionAcrossReaders: a reader that was away and one that comes later
// see the same pending question; of two answers at once one is stored and sent, once,
// and the loser is told. (Readers and callers of one runtime; not clients of another
// process.)
func TestPR04_QuestionAcrossReaders(t *testing.T) {
	gone := make(chan struct{})
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			w.update("w", `{"sessionUpdate":"tool_call","toolCallId":"t"}`)
			<-gone
			w.ask("w", "q", yesAndNo)
			w.until("")
			return endTurn
		})
	})
	one := r.watch("main", 0)
	end := r.prompting("go")
	seen := one.until(t, "tool call", func(i feed.Item) bool { return i.Event != nil && kindOf(*i.Event) == "tool_call" }).Event.Sequence
	one.stop()
	<-one.done
	close(gone)
	two := r.watch("main", 0)
	q := two.question(t, 1)
	one = r.watch("main", seen)
	if other := one.question(t, 1); other != q {
		t.Errorf("one question has two ids: %s and %s", q, other)
	}
	var both sync.WaitGroup
	var mu sync.Mutex
	got := map[protocol.PermissionAnswer]string{}
	for option, result := range map[string]string{"yes-1": selectedYes, "no-1": selectedNo} {
		both.Go(func() {
			a, err := r.vm.Permit(r.ctx(), "main", q, option)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[a] = result
		})
	}
	both.Wait()
	if got := <-end; got != "completed end_turn" {
		t.Errorf("prompt: %s", got)
	}
	won := got[protocol.PermissionAnswer{Status: protocol.OutcomeAccepted}]
	if lost := got[protocol.PermissionAnswer{Status: protocol.OutcomeNotPending, Reason: protocol.ReasonAlreadyResolved}]; won == "" || lost == "" {
		t.Errorf("answers = %v; want one accepted and one already resolved", got)
	}
	if d := cmp.Diff([]string{won}, r.wire.answers("q")); d != "" {
		t.Errorf("the agent was answered: -want +got\n%s", d)
	}
	for _, w := range []*watcher{one, two} {
		w.until(t, "resolution", func(i feed.Item) bool {
			return i.Event != nil && i.Event.Kind == protocol.KindPermissionResponse && string(i.Event.Payload) == won
		})
	}
	r.check()
}

// TestPR05_AnyCallerMayAnswer: who answers need not be who was shown the question,
// and an answer that goes nowhere is never taken.
func TestPR05_AnyCallerMayAnswer(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			if !strings.Contains(c.line, "other") {
				w.ask("w", "q", yesAndNo)
				w.until("")
			}
			return endTurn
		})
	})
	if _, err := r.promptIn("other", "other"); err != nil {
		t.Fatal(err)
	}
	w := r.watch("main", 0)
	end := r.prompting("go")
	q := w.question(t, 1)
	if a, err := r.vm.Permit(r.ctx(), "other", q, "yes-1"); protocol.CodeOf(err) != protocol.CodeRequestNotFound {
		t.Errorf("in another session while it is pending: %+v, %v; want request_not_found", a, err)
	}
	if a, err := r.vm.Permit(r.ctx(), "main", q, "yes-1"); err != nil || a.Status != protocol.OutcomeAccepted {
		t.Errorf("first answer = %+v, %v", a, err)
	}
	a, err := r.vm.Permit(r.ctx(), "main", q, "yes-1")
	refused(t, a, err, protocol.ReasonAlreadyResolved)
	for session, id := range map[protocol.SessionID]protocol.RequestID{"main": "never", "other": q} {
		if a, err := r.vm.Permit(r.ctx(), session, id, "yes-1"); protocol.CodeOf(err) != protocol.CodeRequestNotFound {
			t.Errorf("%s in %s: %+v, %v; want request_not_found", id, session, a, err)
		}
	}
	if a, err := r.vm.Permit(r.ctx(), "nobody", q, "yes-1"); err == nil {
		t.Errorf("in a session that is not there: %+v; want an error", a)
	}
	if got := <-end; got != "completed end_turn" {
		t.Errorf("prompt: %s", got)
	}
	if d := cmp.Diff([]string{selectedYes}, r.wire.answers("q")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestPR07_NoAnswerAllowsByMistake: what an agent is answered by a policy or a
// person, to each set of options; a denial is never an allow, and an allow is the
// smallest there is.
func TestPR07_NoAnswerAllowsByMistake(t *testing.T) {
	options := func(kinds ...string) string {
		var all []string
		for n, k := range kinds {
			if k != "" {
				k = `,"kind":"` + k + `"`
			}
			all = append(all, fmt.Sprintf(`{"optionId":"o%d","name":"n"%s}`, n, k))
		}
		return strings.Join(all, ",")
	}
	selected := func(n int) string {
		return fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":"o%d"}}`, n)
	}
	for _, c := range []struct {
		policy  protocol.Policy
		person  string
		options string
		want    string
	}{
		{protocol.PolicyRejectAll, "", options("allow_always", "allow_once"), askedInVain},
		{protocol.PolicyRejectAll, "", options("allow_always", "allow_once", "reject_always"), selected(2)},
		{protocol.PolicyRejectAll, "", options("allow_always", "reject_always", "reject_once"), selected(2)},
		{protocol.PolicyRejectAll, "", options(), askedInVain},
		{protocol.PolicyRejectAll, "", options("", ""), askedInVain},
		{protocol.PolicyAllowAll, "", options("allow_always", "allow_once"), selected(1)},
		{protocol.PolicyAllowAll, "", options("reject_once", "allow_always"), selected(1)},
		{protocol.PolicyAllowAll, "", options("reject_once"), askedInVain},
		{protocol.PolicyAllowAll, "", options(), askedInVain},
		{protocol.PolicyAllowAll, "", options("", ""), askedInVain},
		{protocol.PolicyAsk, "o1", options("allow_once", "reject_once"), selected(1)},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.policy, c.options), func(t *testing.T) {
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(wireCall) string {
					w.ask("w", "q", c.options)
					w.until("")
					return endTurn
				})
			})
			s := spec()
			s.Policy = c.policy
			w := r.watch("main", 0)
			end := make(chan error, 1)
			go func() {
				_, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "main", Content: text("go"), Open: &actors.OpenSession{Session: "main", Spec: s}})
				end <- err
			}()
			if c.person != "" {
				if _, err := r.vm.Permit(r.ctx(), "main", w.question(t, 1), c.person); err != nil {
					t.Error(err)
				}
			}
			if err := <-end; err != nil && protocol.CodeOf(err) != protocol.CodePolicyUnsatisfied {
				t.Errorf("prompt: %v", err)
			}
			if d := cmp.Diff([]string{c.want}, r.wire.answers("q")); d != "" {
				t.Errorf("the agent was answered: -want +got\n%s", d)
			}
		})
	}
}

// TestPR08_OnlyWhatWasOffered: an answer is one of the options, byte for byte; any
// other leaves the question pending.
func TestPR08_OnlyWhatWasOffered(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string { w.ask("w", "q", yesAndNo); w.until(""); return endTurn })
	})
	w := r.watch("main", 0)
	end := r.prompting("go")
	q := w.question(t, 1)
	for _, option := range []string{"allow_everything", "", "yes-1 ", "allow_once", "YES-1"} {
		if a, err := r.vm.Permit(r.ctx(), "main", q, option); protocol.CodeOf(err) != protocol.CodeInvalidPermissionOption {
			t.Errorf("%q: %+v, %v; want invalid_permission_option", option, a, err)
		}
		if s := r.info("main").State; s != protocol.StateWaiting {
			t.Errorf("behind %q the session is %s; want waiting", option, s)
		}
	}
	if a, err := r.vm.Permit(r.ctx(), "main", q, "yes-1"); err != nil || a.Status != protocol.OutcomeAccepted {
		t.Errorf("yes-1: %+v, %v", a, err)
	}
	if got := <-end; got != "completed end_turn" {
		t.Errorf("prompt: %s", got)
	}
	if d := cmp.Diff([]string{selectedYes}, r.wire.answers("q")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
