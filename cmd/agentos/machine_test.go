package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/actors/gateway/http/client"
	"agentos/persistence/core"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/sessions"
)

// machinePatience bounds every wait of these tests.
const machinePatience = 30 * time.Second

// stand is one VM, had in one of the two ways, and the runtime behind it.
type stand struct {
	machine
	tb  testing.TB
	own *owner
	ctx context.Context
}

// stands are the ways to have a VM: each must do the same.
var stands = map[string]func(testing.TB, *owner, place) machine{
	"own": func(_ testing.TB, o *owner, _ place) machine { return ownVM{o.vm} },
	"far": func(tb testing.TB, _ *owner, p place) machine {
		h, held := sqlitefile.HolderOf(p.path)
		vm, how := knock(tb.Context(), p, h)
		if !held || how != reached {
			tb.Fatalf("nobody answers at the door of %+v: %d", h, how)
		}
		tb.Cleanup(vm.Close)
		return farVM{vm}
	},
}

// both runs a test of the conformance suite against both.
func both(t *testing.T, test func(*stand)) {
	t.Parallel()
	alone(t, test)
}

// alone is both for a test that runs beside no other, and leaves no goroutine.
func alone(t *testing.T, test func(*stand)) {
	for name, have := range stands {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(t.Name(), "Close") {
				leaks := goleak.IgnoreCurrent()
				t.Cleanup(func() {
					throttle := goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")
					goleak.VerifyNone(t, leaks, throttle)
				})
			} else {
				t.Parallel()
			}
			dir, err := os.MkdirTemp("", "vm-") // t.TempDir has names that are too long for sockets
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			p := place{name: "a strange/../name", path: filepath.Join(dir, "vm.db")}
			ctx, cancel := context.WithTimeout(context.Background(), machinePatience)
			t.Cleanup(cancel)
			a := &app{console: newConsole(), umask: 0o022, logLevel: "off"}
			o, err := a.own(ctx, "prompt", p, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := o.close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			test(&stand{machine: have(t, o, p), tb: t, own: o, ctx: ctx})
		})
	}
}

func spec() protocol.Spec {
	return protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk, Env: map[string]string{"GORACE": raceOptions}}
}

func words(s string) []byte { return append(append([]byte{'['}, acp.TextBlock(s)...), ']') }

func promptOf(id protocol.SessionID, s string) actors.Prompt {
	return actors.Prompt{Session: id, Content: words(s), Open: &actors.OpenSession{Session: id, Spec: spec()}}
}

func (s *stand) run(id protocol.SessionID, text string) *protocol.Answer {
	s.tb.Helper()
	a, err := s.Prompt(s.ctx, promptOf(id, text))
	if err != nil {
		s.tb.Fatal(err)
	}
	return a
}

func (s *stand) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

// fails checks an error's code, and that its exit code and details came with it.
func (s *stand) fails(err error, code protocol.Code, details ...string) {
	s.tb.Helper()
	if protocol.CodeOf(err) != code {
		s.tb.Fatalf("error = %v; want %s", err, code)
	}
	pe := asError(err)
	if pe.Message == "" || pe.Code.Info().Exit == 0 {
		s.tb.Errorf("error %+v has no message or exit code", pe)
	}
	for _, name := range details {
		if pe.Details[name] == nil {
			s.tb.Errorf("error %+v has no detail %q", pe, name)
		}
	}
}

// begin starts a prompt and returns what waits for its end.
func (s *stand) begin(p actors.Prompt) func() (*protocol.Answer, error) {
	var answer *protocol.Answer
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		answer, err = s.Prompt(s.ctx, p)
	}()
	s.tb.Cleanup(func() { <-ended })
	return func() (*protocol.Answer, error) {
		<-ended
		return answer, err
	}
}

// until reads a subscription up to an item that is wanted, and returns all.
func (s *stand) until(sub subscription, wanted func(feed.Item) bool) (items []feed.Item) {
	s.tb.Helper()
	for {
		i, err := sub.Next(s.ctx)
		if err != nil {
			s.tb.Fatalf("%v behind %d items", err, len(items))
		}
		if items = append(items, i); wanted(i) {
			return items
		}
	}
}

func (s *stand) watch(id protocol.SessionID, after protocol.Sequence) subscription {
	s.tb.Helper()
	sub, err := s.Watch(s.ctx, id, after)
	s.must(err)
	s.tb.Cleanup(sub.Close)
	return sub
}

func idle(i feed.Item) bool  { return i.State != nil && i.State.State == protocol.StateIdle }
func delta(i feed.Item) bool { return i.Delta != nil }
func asks(i feed.Item) bool {
	return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest
}

func TestMachine_S6_TurnAnswerAndHistory(t *testing.T) {
	both(t, func(s *stand) {
		id := protocol.SessionID(`odd /?#%.. ü"\`)
		a := s.run(id, "remember #one")
		text := fmt.Sprintf("%s", a.Message.Content)
		if a.Session != id || a.StopReason != "end_turn" || a.RestoredBy != protocol.RestoredNew || a.Recalled {
			t.Errorf("answer = %+v of %s", a, text)
		}
		page, err := s.History(s.ctx, id, core.PageRequest{})
		s.must(err)
		want, err := s.own.vm.History(s.ctx, id, core.PageRequest{})
		s.must(err)
		if diff := cmp.Diff(lines(id, want), lines(id, page)); diff != "" || len(page.Events) != 2 {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if page.Latest != want.Latest || page.OldestRetained != want.OldestRetained || page.HasMoreAfter || page.HasMoreBefore {
			t.Errorf("page = %+v; want %+v", page, want)
		}
		one, two, far := protocol.Sequence(1), protocol.Sequence(2), protocol.Sequence(99)
		page, err = s.History(s.ctx, id, core.PageRequest{After: &one, Limit: 1})
		s.must(err)
		if len(page.Events) != 1 || page.Events[0].Sequence != 2 || !page.HasMoreBefore || page.HasMoreAfter {
			t.Errorf("page after 1 = %+v", page)
		}
		page, err = s.History(s.ctx, id, core.PageRequest{Before: &two})
		s.must(err)
		if len(page.Events) != 1 || page.Events[0].Sequence != 1 || !page.HasMoreAfter {
			t.Errorf("page before 2 = %+v", page)
		}
		_, err = s.History(s.ctx, id, core.PageRequest{After: &far})
		s.fails(err, protocol.CodeInvalidHistoryCursor, "latestSequence")
		_, err = s.History(s.ctx, id, core.PageRequest{Limit: 1 << 30})
		s.fails(err, protocol.CodeHistoryLimit)
		_, err = s.History(s.ctx, "nobody", core.PageRequest{})
		s.fails(err, protocol.CodeSessionNotFound)
	})
}

func lines(id protocol.SessionID, p core.Page) (all []string) {
	for _, e := range p.Events {
		all = append(all, string(public.AppendEvent(nil, id, e)))
	}
	return all
}

func TestMachine_S11_1_Sessions(t *testing.T) {
	both(t, func(s *stand) {
		for _, id := range []protocol.SessionID{"a", "b", ".."} {
			s.must(s.Open(s.ctx, actors.OpenSession{Session: id, Spec: spec(), Given: sessions.FieldAgent | sessions.FieldCwd}))
		}
		var got []protocol.SessionInfo
		for cursor, more := "", true; more; more = cursor != "" {
			list, next, err := s.Sessions(s.ctx, cursor, 2)
			s.must(err)
			got, cursor = append(got, list...), next
		}
		want, _, err := s.own.vm.Sessions(s.ctx, "", 10)
		s.must(err)
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 3 {
			t.Errorf("sessions (-want +got):\n%s", diff)
		}
		info, err := s.Session(s.ctx, "..")
		s.must(err)
		if info.ID != ".." || info.State != protocol.StateIdle || info.Cwd != "/" {
			t.Errorf("session = %+v", info)
		}
		_, _, err = s.Sessions(s.ctx, "nonsense", 2)
		s.fails(err, protocol.CodeInvalidSessionCursor)
		_, _, err = s.Sessions(s.ctx, "", 1<<30)
		s.fails(err, protocol.CodeSessionListLimit)
		other := actors.OpenSession{Session: "a", Spec: spec(), Given: sessions.FieldCwd}
		other.Spec.Cwd = "/tmp"
		s.fails(s.Open(s.ctx, other), protocol.CodeSessionConflict)
		other.Given = 0
		s.must(s.Open(s.ctx, other)) // what is not given is not compared (S6.1)
		s.fails(s.Open(s.ctx, actors.OpenSession{Session: "\x00", Spec: spec()}), protocol.CodeInvalidSessionID)
		s.must(s.Delete(s.ctx, "b"))
		_, err = s.Session(s.ctx, "b")
		s.fails(err, protocol.CodeSessionNotFound)
		found, err := s.Check(s.ctx)
		if err != nil || len(found) != 0 {
			t.Errorf("Check = %v, %v", found, err)
		}
	})
}

// A subscriber that joins in the middle of a run gets all of it; what each is shown
// is byte for byte the same.
func TestMachine_S5_2_S11_3_WatchCatchesUpAndJoins(t *testing.T) {
	both(t, func(s *stand) {
		s.run("main", "before")
		first := s.watch("main", 0)
		end := s.begin(promptOf("main", "[[slow 40 5]]"))
		s.until(first, delta)
		joined := s.watch("main", 2)
		inside, err := s.own.vm.Watch(s.ctx, "main", 2)
		s.must(err)
		var in []feed.Item
		read := make(chan struct{})
		go func() {
			defer close(read)
			for len(in) == 0 || !idle(in[len(in)-1]) {
				i, err := inside.Next(s.ctx)
				if err != nil {
					return
				}
				in = append(in, i)
			}
		}()
		all := s.until(joined, idle)
		<-read
		if _, err := end(); err != nil {
			t.Fatal(err)
		}
		if i := slicesIndex(all, delta); i < 0 || all[i].Delta.Offset != 0 {
			t.Errorf("who joined in the run got no first piece of offset 0")
		}
		if diff := cmp.Diff(events(in), events(all)); diff != "" || len(in) < 3 {
			t.Errorf("what is seen inside and here (-want +got):\n%s", diff)
		}
		for _, i := range all {
			if i.State == nil && string(i.Line()) != string(i.JSON()) || len(i.Line()) == 0 {
				t.Errorf("line of %+v = %s", i, i.Line())
			}
			if i.Event != nil && string(public.AppendEvent(nil, "main", *i.Event)) != string(i.JSON()) {
				t.Errorf("event %+v is not that of its line %s", i.Event, i.JSON())
			}
			if i.Delta != nil && string(public.AppendDelta(nil, "main", *i.Delta)) != string(i.JSON()) {
				t.Errorf("delta %+v is not that of its line %s", i.Delta, i.JSON())
			}
		}
		sub := s.watch("main", 99)
		_, err = sub.Next(s.ctx)
		s.fails(err, protocol.CodeInvalidHistoryCursor, "latestSequence")
	})
}

func slicesIndex(items []feed.Item, is func(feed.Item) bool) int {
	for n, i := range items {
		if is(i) {
			return n
		}
	}
	return -1
}

func events(items []feed.Item) (all []string) {
	for _, i := range items {
		if i.Event != nil {
			all = append(all, string(i.JSON()))
		}
	}
	return all
}

func TestMachine_S8_3_Permissions(t *testing.T) {
	both(t, func(s *stand) {
		sub := s.watch("main", 0)
		end := s.begin(promptOf("main", "[[ask]]"))
		items := s.until(sub, asks)
		request := items[len(items)-1].Event.Request
		_, err := s.Permit(s.ctx, "main", request, "never")
		s.fails(err, protocol.CodeInvalidPermissionOption)
		a, err := s.Permit(s.ctx, "main", request, "reject")
		if err != nil || a.Status != protocol.OutcomeAccepted || a.Reason != "" {
			t.Errorf("Permit = %+v, %v", a, err)
		}
		a, err = s.Permit(s.ctx, "main", request, "allow")
		if err != nil || a.Status != protocol.OutcomeNotPending || a.Reason != protocol.ReasonAlreadyResolved {
			t.Errorf("late Permit = %+v, %v", a, err)
		}
		_, err = s.Permit(s.ctx, "main", "unknown", "allow")
		s.fails(err, protocol.CodeRequestNotFound)
		_, err = end()
		s.must(err)
		p := promptOf("main", "[[ask]]")
		p.IfAsked = sessions.EndTurn
		_, err = s.Prompt(s.ctx, p)
		s.fails(err, protocol.CodePermissionRequired, "requestId")
	})
}

func TestMachine_S9_CancelAndUnload(t *testing.T) {
	both(t, func(s *stand) {
		p := promptOf("main", "[[slow 1000 20]]")
		p.ID = "chosen"
		sub := s.watch("main", 0)
		end := s.begin(p)
		s.until(sub, delta)
		_, err := s.Prompt(s.ctx, promptOf("main", "no"))
		s.fails(err, protocol.CodeSessionBusy, "promptId")
		_, found, err := s.Recall(s.ctx, "main", "chosen")
		if s.fails(err, protocol.CodeSessionBusy); !found {
			t.Error("a prompt that runs was not found")
		}
		s.must(s.Cancel(s.ctx, "main", "another"))
		s.must(s.Cancel(s.ctx, "main", "chosen"))
		a, err := end()
		if err != nil || a.Prompt != "chosen" || a.StopReason != protocol.StopCancelled {
			t.Errorf("answer = %+v, %v", a, err)
		}
		got, found, err := s.Recall(s.ctx, "main", "chosen")
		if err != nil || !found || !got.Recalled {
			t.Fatalf("Recall = %+v, %v, %v", got, found, err)
		}
		got.Recalled = false
		if diff := cmp.Diff(a, got); diff != "" {
			t.Errorf("recalled (-want +got):\n%s", diff)
		}
		if got, found, err := s.Recall(s.ctx, "main", "never"); got != nil || found || err != nil {
			t.Errorf("Recall of no prompt = %+v, %v, %v", got, found, err)
		}
		end = s.begin(promptOf("main", "[[slow 1000 20]]"))
		s.until(sub, delta)
		s.must(s.Unload(s.ctx, "main"))
		_, err = end()
		s.fails(err, protocol.CodePromptInterrupted)
		s.must(s.Unload(s.ctx, "main"))
	})
}

func TestMachine_S6_8_Keys(t *testing.T) {
	both(t, func(s *stand) {
		p := promptOf("main", "once")
		p.Key = "k"
		first, err := s.Prompt(s.ctx, p)
		s.must(err)
		again, err := s.Prompt(s.ctx, p)
		s.must(err)
		if !again.Recalled || first.Recalled {
			t.Errorf("recalled = %v, then %v", first.Recalled, again.Recalled)
		}
		again.Recalled = false
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
		p.Content = words("other")
		_, err = s.Prompt(s.ctx, p)
		s.fails(err, protocol.CodeIdempotencyConflict)
	})
}

func TestMachine_S6_9_Queue(t *testing.T) {
	both(t, func(s *stand) {
		sub := s.watch("main", 0)
		end := s.begin(promptOf("main", "[[slow 1000 20]]"))
		s.until(sub, delta)
		p := promptOf("main", `{"odd":  1}`)
		p.Key, p.ID = "key", "waits"
		q, a, err := s.Enqueue(s.ctx, p)
		if err != nil || a != nil || q.ID != "waits" || q.Position != 1 || q.Key != "key" {
			t.Fatalf("Enqueue = %+v, %+v, %v", q, a, err)
		}
		edited := []byte(`[ {"type" : "text","text":"<&>"} ]`)
		s.must(s.QueueEdit(s.ctx, "main", "waits", edited))
		list, err := s.Queue(s.ctx, "main")
		s.must(err)
		want, err := s.own.vm.Queue(s.ctx, "main")
		s.must(err)
		if diff := cmp.Diff(want, list); diff != "" || len(list) != 1 {
			t.Errorf("queue (-want +got):\n%s", diff)
		}
		s.fails(s.QueueEdit(s.ctx, "main", "waits", []byte(`[]`)), protocol.CodeInvalidPrompt)
		s.fails(s.QueueEdit(s.ctx, "main", "nothing", edited), protocol.CodeRequestNotFound)
		s.must(s.QueueRemove(s.ctx, "main", "waits"))
		s.fails(s.QueueRemove(s.ctx, "main", "waits"), protocol.CodeRequestNotFound)
		s.must(s.QueueResume(s.ctx, "main"))
		s.must(s.Cancel(s.ctx, "main", ""))
		_, err = end()
		s.must(err)
	})
}

func TestMachine_S10_4_Config(t *testing.T) {
	both(t, func(s *stand) {
		s.run("main", "hello")
		before, err := s.Config(s.ctx, "main")
		s.must(err)
		after, err := s.Configure(s.ctx, "main", actors.Setting{Option: "verbosity", Value: []byte(`"long"`)})
		s.must(err)
		if after.Revision <= before.Revision || len(before.Options) == 0 {
			t.Errorf("config = %+v, then %+v", before, after)
		}
		_, err = s.Configure(s.ctx, "main", actors.Setting{Mode: "plan"})
		s.must(err)
		got, err := s.Config(s.ctx, "main")
		s.must(err)
		want, err := s.own.vm.Config(s.ctx, "main")
		s.must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("config (-want +got):\n%s", diff)
		}
		_, err = s.Configure(s.ctx, "main", actors.Setting{Option: "verbosity", Value: []byte(`"loud"`)})
		s.fails(err, protocol.CodeInvalidConfigValue)
	})
}

func TestMachine_S6_5_FailuresOfAgents(t *testing.T) {
	both(t, func(s *stand) {
		for text, code := range map[string]protocol.Code{
			"[[error -32000]]": protocol.CodeAuthRequired,
			"[[error -32603]]": protocol.CodeAgentError,
			"[[exit 3]]":       protocol.CodeAdapterExited,
		} {
			_, err := s.Prompt(s.ctx, promptOf("main", text))
			s.fails(err, code)
		}
		for _, content := range []string{``, `[]`, `{}`, `[1]`, `[`, "[\"\xff\"]", `"text"`} {
			p := promptOf("main", "")
			p.Content = []byte(content)
			_, err := s.Prompt(s.ctx, p)
			s.fails(err, protocol.CodeInvalidPrompt)
		}
	})
}

// A caller who leaves takes nothing with it.
func TestMachine_CallersLeaveTurnsStay(t *testing.T) {
	both(t, func(s *stand) {
		sub := s.watch("main", 0)
		ctx, leave := context.WithCancel(s.ctx)
		left := make(chan error, 1)
		go func() {
			_, err := s.Prompt(ctx, promptOf("main", "[[slow 20 20]]"))
			left <- err
		}()
		s.until(sub, delta)
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left was told %v", err)
		}
		items := s.until(sub, idle)
		if texts := events(items); len(texts) == 0 {
			t.Error("the turn had no end")
		}
	})
}

// A reader that does not read delays no turn, and has every event in the end.
func TestMachine_S11_3_SlowReaders(t *testing.T) {
	both(t, func(s *stand) {
		sub := s.watch("main", 0)
		s.run("main", "[[calls 300]] [[chunks 6000]] [[big 3000000]]")
		items := s.until(sub, idle)
		page, err := s.History(s.ctx, "main", core.PageRequest{Limit: 1000})
		s.must(err)
		var got, want []protocol.Sequence
		for _, i := range items {
			if i.Event != nil {
				got = append(got, i.Event.Sequence)
			}
		}
		for _, e := range page.Events {
			want = append(want, e.Sequence)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 300 {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// Behind a close everything is refused, and the far end is told that it has gone.
func TestMachine_Close(t *testing.T) {
	alone(t, func(s *stand) {
		sub := s.watch("main", 0)
		end := s.begin(promptOf("main", "[[slow 1000 20]]"))
		s.until(sub, delta)
		s.must(s.own.close(context.Background()))
		_, err := end()
		s.fails(err, protocol.CodePromptInterrupted)
		for err == nil || !errors.Is(err, feed.ErrClosed) {
			if _, err = sub.Next(s.ctx); err != nil && !errors.Is(err, feed.ErrClosed) {
				t.Fatalf("the stream ended with %v", err)
			}
		}
		_, err = s.Session(s.ctx, "main")
		if _, far := s.machine.(farVM); far != errors.Is(err, client.ErrGone) || err == nil {
			t.Errorf("a closed VM says %v", err)
		}
	})
}
