package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/adapters"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/sessions"
)

func TestTurn_S6_2_StoresThenShowsThenAnswers(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	answer := r.mustPrompt("hello #one")
	if answer.StopReason != "end_turn" || !strings.Contains(messageText(answer.Message), "#one") {
		t.Errorf("answer = %q %q; want end_turn and a text that names #one", answer.StopReason, messageText(answer.Message))
	}
	if answer.RestoredBy != protocol.RestoredNew {
		t.Errorf("restoredBy = %q; want new", answer.RestoredBy)
	}
	w.until(t, "idle state", func(i feed.Item) bool { return i.State != nil && i.State.State == protocol.StateIdle })
	events := r.history("main")
	sameAsFeed(t, w.all(), events)
	for i, e := range events {
		if e.Sequence != protocol.Sequence(i+1) {
			t.Errorf("event %d has sequence %d", i, e.Sequence)
		}
	}
	if again := r.mustPrompt("again #two"); again.RestoredBy != protocol.RestoredLive ||
		!strings.Contains(messageText(again.Message), "#one") {
		t.Errorf("second answer = %q %q; want live, with #one", again.RestoredBy, messageText(again.Message))
	}
	r.check()
}

// sameAsFeed checks that a subscriber saw every event exactly once, in order,
// and that the deltas of each run add up to its event.
func sameAsFeed(t *testing.T, items []feed.Item, events []protocol.Event) {
	t.Helper()
	var last protocol.Sequence
	streamed := map[protocol.RunID]int64{}
	for _, i := range items {
		switch {
		case i.Delta != nil:
			if i.Delta.After < last {
				t.Errorf("delta after %d came behind event %d", i.Delta.After, last)
			}
			if i.Delta.Offset != streamed[i.Delta.Run] {
				t.Errorf("run %s: delta at %d after %d bytes", i.Delta.Run, i.Delta.Offset, streamed[i.Delta.Run])
			}
			streamed[i.Delta.Run] += int64(len(chunkText(t, i.Delta.Payload)))
		case i.Event != nil:
			if i.Event.Sequence != last+1 {
				t.Errorf("event %d after %d", i.Event.Sequence, last)
			}
			last = i.Event.Sequence
			if n, ok := streamed[i.Event.Run]; ok && n != int64(len(chunkText(t, i.Event.Payload))) {
				t.Errorf("run %s: %d bytes streamed, %d stored", i.Event.Run, n, len(chunkText(t, i.Event.Payload)))
			}
			stored := events[last-1]
			if string(stored.Payload) != string(i.Event.Payload) {
				t.Errorf("event %d: shown %s, stored %s", last, i.Event.Payload, stored.Payload)
			}
		}
	}
	if int(last) != len(events) {
		t.Errorf("shown up to %d, stored up to %d", last, len(events))
	}
}

func TestTurn_S6_7_SessionsRunAtTheSameTimeAndOnePromptEach(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("slow", 0)
	slow := make(chan error, 1)
	go func() {
		_, err := r.promptIn("slow", "[[wait]]")
		slow <- err
	}()
	w.until(t, "running state", func(i feed.Item) bool { return i.State != nil && i.State.State == protocol.StateRunning })
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			if _, err := r.promptIn(protocol.SessionID(fmt.Sprint("s", n)), "hi"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := r.promptIn("slow", "second"); protocol.CodeOf(err) != protocol.CodeSessionBusy {
		t.Errorf("second prompt: %v; want session_busy", err)
	}
	if err := r.vm.Cancel(r.ctx(), "slow", ""); err != nil {
		t.Error(err)
	}
	if err := <-slow; err != nil {
		t.Errorf("cancelled turn: %v; want an answer", err)
	}
	r.check()
}

func TestRestart_S10_ContextComesBack(t *testing.T) {
	for name, flags := range map[string][]string{
		"resume": nil,
		"load":   {"--no-resume"},
		"new":    {"--no-resume", "--no-load"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(r *rig) { r.agents.flags = flags }).start()
			r.mustPrompt("first #one")
			before := len(r.history("main"))
			r.restart()
			if running, _ := r.agents.counts(); running != 0 {
				t.Errorf("%d agents run after the node was closed", running)
			}
			a := r.mustPrompt("second #two")
			if string(a.RestoredBy) != name {
				t.Errorf("restoredBy = %q; want %q", a.RestoredBy, name)
			}
			if has := strings.Contains(messageText(a.Message), "#one"); has != (name != "new") {
				t.Errorf("context: %q", messageText(a.Message))
			}
			// What a restored session replays is history already (S10.3).
			for _, e := range r.history("main")[before:] {
				if strings.Contains(string(e.Payload), "first #one") && kindOf(e) == "user_message_chunk" {
					t.Errorf("replay was stored: %s", e.Payload)
				}
			}
			r.check()
		})
	}
}

func TestCancel_S9_1(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	answers := make(chan *protocol.Answer, 1)
	go func() {
		a, err := r.prompt("[[slow 1000 20]]")
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
	if err := r.vm.Cancel(r.ctx(), "main", "stale"); err != nil { // hits nothing
		t.Error(err)
	}
	if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
		t.Error(err)
	}
	if a := <-answers; a == nil || a.StopReason != protocol.StopCancelled || a.Forced {
		t.Errorf("answer = %+v; want cancelled, not forced", a)
	}
	if s := r.info("main").State; s != protocol.StateIdle {
		t.Errorf("state = %s; want idle", s)
	}
	r.mustPrompt("works again")
	r.check()
}

func TestAdapterExit_S6_5_FailsTheTurnAndTheNextRestores(t *testing.T) {
	r := newRig(t).start()
	_, err := r.prompt("say #one [[chunks 3]] [[exit 7]]")
	if protocol.CodeOf(err) != protocol.CodeAdapterExited {
		t.Fatalf("prompt: %v; want adapter_exited", err)
	}
	info := r.info("main")
	if info.State != protocol.StateFailed || !strings.Contains(string(info.Error), "adapter_exited") {
		t.Errorf("session = %s %s; want failed, adapter_exited", info.State, info.Error)
	}
	// Everything that the agent said before it died is there.
	var said strings.Builder
	for _, e := range r.history("main") {
		if kindOf(e) == "agent_message_chunk" {
			said.WriteString(chunkText(t, e.Payload))
		}
	}
	if said.Len() == 0 {
		t.Error("nothing of the broken turn's text was stored")
	}
	if a := r.mustPrompt("again"); a.RestoredBy != protocol.RestoredResume {
		t.Errorf("restoredBy = %q; want resume", a.RestoredBy)
	}
	r.check()
}

func TestPermission_S8(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	answers := make(chan *protocol.Answer, 1)
	go func() {
		a, err := r.prompt("[[asks 2]]")
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	isAsk := func(i feed.Item) bool { return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest }
	first := w.until(t, "request", isAsk).Event.Request
	second := w.until(t, "second request", func(i feed.Item) bool { return isAsk(i) && i.Event.Request != first }).Event.Request
	if s := r.info("main").State; s != protocol.StateWaiting {
		t.Errorf("state = %s; want waiting", s)
	}
	if _, err := r.vm.Permit(r.ctx(), "main", second, "no such option"); protocol.CodeOf(err) != protocol.CodeInvalidPermissionOption {
		t.Errorf("odd option: %v; want invalid_permission_option", err)
	}
	for _, q := range []protocol.RequestID{second, first} {
		if _, err := r.vm.Permit(r.ctx(), "main", q, "allow"); err != nil {
			t.Errorf("permit: %v", err)
		}
	}
	if a := <-answers; a == nil || !strings.Contains(messageText(a.Message), "allow") {
		t.Errorf("answer = %+v; want one that says allow", a)
	}
	r.check()
}

func TestPermission_S8_4_NobodyToAsk(t *testing.T) {
	r := newRig(t).start()
	_, err := r.vm.Prompt(r.ctx(), actors.Prompt{
		Session: "main", Content: text("[[ask]]"), IfAsked: sessions.EndTurn,
		Open: &actors.OpenSession{Session: "main", Spec: spec()},
	})
	if protocol.CodeOf(err) != protocol.CodePermissionRequired {
		t.Errorf("prompt: %v; want permission_required", err)
	}
	r.check()
}

func TestOpen_S6_1(t *testing.T) {
	r := newRig(t).start()
	open := actors.OpenSession{Session: "x", Spec: spec()}
	if err := r.vm.Open(r.ctx(), open); err != nil {
		t.Fatal(err)
	}
	if _, started := r.agents.counts(); started != 0 {
		t.Errorf("open started %d agents; want none", started)
	}
	open.Spec.Cwd = "/elsewhere"
	if err := r.vm.Open(r.ctx(), open); err != nil {
		t.Errorf("what was not given explicitly is not compared: %v", err)
	}
	open.Given = sessions.FieldCwd
	var pe *protocol.Error
	if err := r.vm.Open(r.ctx(), open); !errors.As(err, &pe) || pe.Code != protocol.CodeSessionConflict || pe.Details["field"] != "cwd" {
		t.Errorf("other cwd: %v; want session_conflict naming cwd", err)
	}
	if _, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "nobody", Content: text("hi")}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Errorf("unknown session: %v; want session_not_found", err)
	}
	if _, err := r.vm.History(r.ctx(), "nobody", core.PageRequest{}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Errorf("unknown history: %v; want session_not_found", err)
	}
}

func TestPrompt_BadInput(t *testing.T) {
	r := newRig(t, func(r *rig) {
		r.config.Limits = protocol.DefaultLimits()
		r.config.Limits.PromptBytes, r.config.Limits.PromptBlocks = 100, 2
	}).start()
	for name, c := range map[string]struct {
		content string
		want    protocol.Code
	}{
		"no blocks":       {`[]`, protocol.CodeInvalidPrompt},
		"not an array":    {`{"type":"text"}`, protocol.CodeInvalidPrompt},
		"not JSON":        {`[{"type":`, protocol.CodeInvalidPrompt},
		"block is a text": {`["hi"]`, protocol.CodeInvalidPrompt},
		"too large":       {string(text(strings.Repeat("x", 101))), protocol.CodePromptBytesLimit},
		"too many":        {`[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]`, protocol.CodePromptBlocksLimit},
	} {
		_, err := r.vm.Prompt(r.ctx(), actors.Prompt{
			Session: "main", Content: []byte(c.content), Open: &actors.OpenSession{Session: "main", Spec: spec()},
		})
		if protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
	r.mustPrompt("works")
}

func TestClose_InTheMiddleOfATurn_S6_5(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	errs := make(chan error, 1)
	go func() {
		_, err := r.prompt("[[slow 1000 20]]")
		errs <- err
	}()
	w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
	if err := r.node.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-errs; protocol.CodeOf(err) != protocol.CodePromptInterrupted {
		t.Errorf("prompt: %v; want prompt_interrupted", err)
	}
	if running, _ := r.agents.counts(); running != 0 {
		t.Errorf("%d agents left", running)
	}
	r.start()
	if info := r.info("main"); info.State != protocol.StateFailed || !strings.Contains(string(info.Error), "prompt_interrupted") {
		t.Errorf("session = %s %s; want failed, prompt_interrupted", info.State, info.Error)
	}
	r.check()
}

func chunkText(t *testing.T, payload []byte) string {
	t.Helper()
	return messageText(&protocol.Message{Content: [][]byte{contentOf(payload)}})
}

func TestCancel_S9_2_TheNextAgentWaitsForTheOneThatWasStopped(t *testing.T) {
	r := newRig(t).start()
	most := 0
	launch := r.agents.launch
	r.config.Adapters = func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
		running, _ := r.agents.counts()
		most = max(most, running)
		return launch(ctx, rec, h)
	}
	r.restart()
	for range 3 {
		w := r.watch("main", 0)
		errs := make(chan error, 1)
		go func() {
			_, err := r.prompt("[[slow 1000 20]]")
			errs <- err
		}()
		w.until(t, "delta", func(i feed.Item) bool { return i.Delta != nil })
		unloaded := make(chan error, 1)
		go func() { unloaded <- r.vm.Unload(r.ctx(), "main") }()
		if err := <-errs; protocol.CodeOf(err) != protocol.CodePromptInterrupted {
			t.Errorf("prompt: %v; want prompt_interrupted", err)
		}
		r.mustPrompt("at once")
		if err := <-unloaded; err != nil {
			t.Errorf("unload: %v", err)
		}
	}
	if most != 0 {
		t.Errorf("an agent was started beside %d others of its session", most)
	}
	r.check()
}

func TestBringUp_BadAgents(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		want  protocol.Code
	}{
		"never answers initialize": {[]string{"--silent"}, protocol.CodeACPTimeout},
		"prints no JSON":           {[]string{"--garbage"}, protocol.CodeACPTimeout},
		"speaks another version":   {[]string{"--answer-version", "9"}, protocol.CodeACPProtocolError},
		"exits at once":            {[]string{"--exit-at-start", "3"}, protocol.CodeAdapterExited},
		"refuses session/new":      {[]string{"--new-error", "-32603"}, protocol.CodeAgentError},
		"wants a login":            {[]string{"--new-error", "-32000"}, protocol.CodeAuthRequired},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(r *rig) {
				r.agents.flags = c.flags
				r.config.Patience = adapters.Patience{Max: 200 * time.Millisecond}
			}).start()
			if _, err := r.prompt("hello"); protocol.CodeOf(err) != c.want {
				t.Errorf("prompt: %v; want %s", err, c.want)
			}
			if info := r.info("main"); info.State != protocol.StateIdle || info.LatestSequence != 0 {
				t.Errorf("session is %s with %d events; want idle, nothing was accepted", info.State, info.LatestSequence)
			}
			r.agents.flags = nil
			r.mustPrompt("works with a better agent")
			r.check()
		})
	}
}
