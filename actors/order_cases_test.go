package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
)

// TestSN03_BannersEverywhere: ten thousand banners and blank lines between
// messages harm nothing, and leave neither the log nor the database longer.
func TestSN03_BannersEverywhere(t *testing.T) {
	const banners = 10_000
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for n := range banners / 100 {
				w.put(strings.Repeat("Welcome back\n\n\n", 100))
				w.update("w", textUpdate("m", fmt.Sprint(n, " ")))
			}
			return endTurn
		})
	})
	before := r.logs.Len()
	r.mustPrompt("hello")
	if got := r.payloads("main"); len(got) != 1 {
		t.Errorf("%d events; want the one message", len(got))
	}
	if n, reports := r.diagnosed("main", jsonrpc.Junk); n < banners/2 || reports > 24 {
		t.Errorf("%d lines in %d reports; want about %d in a handful", n, reports, banners)
	}
	if n := r.logs.Len() - before; n > 100 {
		t.Errorf("%d lines of log; want a handful", n)
	}
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	if n, _ := r.diagnosed("main", jsonrpc.Junk); n != banners {
		t.Errorf("%d lines were counted in the end; want every one of %d", n, banners)
	}
}

// said is one thing that an agent says, as the order of a history is compared.
func said(e []byte) (token string, side bool) {
	u, err := acp.ParseUpdate(e)
	switch {
	case err != nil:
		return fmt.Sprint("no update: ", err), false
	case u.IsText:
		return u.MessageID + ":" + u.Text(), false
	}
	return string(e), u.Side()
}

// joined puts pieces of one message that follow each other together: where a run
// is cut is not what is compared.
func joined(payloads []string) (order, sides []string) {
	last := ""
	for _, p := range payloads {
		token, side := said([]byte(p))
		id, text, isText := strings.Cut(token, ":")
		switch {
		case side:
			sides = append(sides, token)
			continue
		case isText && id == last && !strings.HasPrefix(token, "{"):
			order[len(order)-1] += text
			continue
		case strings.HasPrefix(token, "{"):
			id = ""
		}
		order, last = append(order, token), id
	}
	return order, sides
}

// TestTC01_StoredOrderIsWireOrder: numbered words of every size, messages, tool
// calls, unknown updates and side kinds, from two agents at once. What is stored
// of each is in the order in which it was said, but for the side kinds in a run,
// which have an order of their own (S7.2).
func TestTC01_StoredOrderIsWireOrder(t *testing.T) {
	const words = 2000
	wire := func(id protocol.SessionID) (all []string) {
		for n := range words {
			size := 10 + n*n*37%400
			if n%100 == 99 {
				size = 50_000
			}
			switch {
			case n%97 == 0:
				all = append(all, fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"call_0","n":%d}`, n))
			case n%89 == 0:
				all = append(all, fmt.Sprintf(`{"sessionUpdate":"hologram_update","n":%d}`, n))
			case n%31 == 0:
				all = append(all, fmt.Sprintf(`{"sessionUpdate":"usage_update","used":%d}`, n))
			}
			all = append(all, textUpdate(fmt.Sprintf("m%d", n/11%3), fmt.Sprintf("%s%d%s ", id, n, strings.Repeat("x", size))))
		}
		return all
	}
	r := newWireRig(t, 0, func(id protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for _, u := range wire(id) {
				w.update("w", u)
			}
			return endTurn
		})
	})
	var both sync.WaitGroup
	for _, id := range []protocol.SessionID{"a", "b"} {
		both.Go(func() {
			if _, err := r.promptIn(id, "go"); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for _, id := range []protocol.SessionID{"a", "b"} {
		wantOrder, wantSides := joined(wire(id))
		order, sides := joined(r.payloads(id))
		if !slices.Equal(order, wantOrder) {
			n := 0
			for n < len(order) && n < len(wantOrder) && order[n] == wantOrder[n] {
				n++
			}
			t.Errorf("%s: %d pieces in order, want %d; they differ at %d", id, len(order), len(wantOrder), n)
		}
		if diff := cmp.Diff(wantSides, sides); diff != "" {
			t.Errorf("%s: side kinds: -want +got\n%s", id, diff)
		}
	}
	r.check()
}

// TestID02_NothingIsReplaced: opening what exists gives it or a conflict, and no id of
// a life of the runtime comes again in the next, if its clock stands still and its
// process has the number that the one before had.
func TestID02_NothingIsReplaced(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string { w.update("w", textUpdate("m", "hi")); return endTurn })
	}, func(r *rig) {
		still := protocol.TimeMS(1_800_000_000_000).Time()
		r.config.Clock = func() time.Time { return still }
	})
	prompts, runs, messages := map[protocol.PromptID]bool{}, map[protocol.RunID]int{}, map[string]bool{}
	const lives = 4
	for life := range lives {
		w := r.watch("main", 0)
		for range 2 {
			a := r.mustPrompt("hello")
			prompts[a.Prompt] = true
		}
		stored := r.history("main")
		w.until(t, "the end", func(i feed.Item) bool { return i.State != nil && int(i.State.Sequence) == len(stored) })
		for _, i := range w.all() {
			if i.Delta == nil { // a reader that is slow may have missed it
				continue
			}
			if before, twice := runs[i.Delta.Run]; twice && before != life {
				t.Errorf("life %d has run %s of life %d", life, i.Delta.Run, before)
			}
			runs[i.Delta.Run] = life
		}
		open := actors.OpenSession{Session: "main", Spec: spec()}
		if err := r.vm.Open(r.ctx(), open); err != nil {
			t.Errorf("open what exists: %v", err)
		}
		open.Spec.Cwd, open.Given = "/other", sessions.FieldCwd
		if err := r.vm.Open(r.ctx(), open); protocol.CodeOf(err) != protocol.CodeSessionConflict {
			t.Errorf("open what exists otherwise: %v; want session_conflict", err)
		}
		if diff := cmp.Diff(stored, r.history("main")); diff != "" {
			t.Errorf("opening again has changed the history:\n%s", diff)
		}
		r.restart()
	}
	for _, e := range r.history("main") {
		if kindOf(e) == "user_message_chunk" {
			u, err := acp.ParseUpdate(e.Payload)
			if err != nil {
				t.Fatal(err)
			}
			messages[u.MessageID] = true
		}
	}
	if len(prompts) != 2*lives || len(messages) != 2*lives || len(runs) == 0 {
		t.Errorf("%d prompt ids, %d message ids, %d runs; want %d, as many, and some", len(prompts), len(messages), len(runs), 2*lives)
	}
	r.check()
}

// TestID03_ManyOpenOneSession: twenty callers open and prompt a session at once,
// while its agent takes its time and has a new id for everybody who asks. There is
// one session/new, everybody has the same turn, and what the agent said before
// its session was known is not lost.
func TestID03_ManyOpenOneSession(t *testing.T) {
	const callers = 20
	var called sync.WaitGroup
	called.Add(callers)
	var mu sync.Mutex
	news := 0
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		session := ""
		for {
			c, ok := w.next()
			if !ok {
				return
			}
			switch c.Method {
			case "initialize":
				w.answer(c, `{"protocolVersion":1,"agentCapabilities":{}}`)
			case "session/new":
				mu.Lock()
				news++
				session = fmt.Sprint("w", news)
				mu.Unlock()
				called.Wait()
				w.update(session, `{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
				w.answer(c, `{"sessionId":"`+session+`"}`)
			case "session/prompt":
				w.update(session, textUpdate("m", "for all"))
				w.answer(c, endTurn)
			}
		}
	})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			open := actors.OpenSession{Session: "k", Spec: spec()}
			if err := r.vm.Open(r.ctx(), open); err != nil {
				t.Error(err)
			}
			called.Done()
			a, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "k", Content: text("hello"), Key: "same", Open: &open})
			if err != nil || messageText(a.Message) != "for all" {
				t.Errorf("prompt = %+v, %v", a, err)
			}
		})
	}
	all.Wait()
	if n, prompts := len(r.wire.of("session/new")), len(r.wire.of("session/prompt")); n != 1 || prompts != 1 {
		t.Errorf("%d session/new and %d session/prompt for %d callers; want one of each", n, prompts, callers)
	}
	if got := r.payloads("k"); len(got) != 2 || !strings.Contains(got[0], "available_commands_update") {
		t.Errorf("history = %q; want what was said before the session was known, and the answer", got)
	}
	r.check()
}

// TestAP03_UpdatesBeforeTheSessionIsKnown: those of the session that comes are kept, those
// of another are dropped and logged.
func TestAP03_UpdatesBeforeTheSessionIsKnown(t *testing.T) {
	early := []string{
		`{"sessionUpdate":"available_commands_update","availableCommands":[]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[]}`,
		`{"sessionUpdate":"usage_update","used":1,"size":2}`,
	}
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		for {
			c, ok := w.next()
			if !ok {
				return
			}
			switch c.Method {
			case "initialize":
				w.answer(c, `{"protocolVersion":1,"agentCapabilities":{}}`)
			case "session/new":
				for _, u := range early {
					w.update("s9", u)
					w.update("never", u)
				}
				w.answer(c, `{"sessionId":"s9"}`)
			default:
				w.answer(c, endTurn)
			}
		}
	})
	r.mustPrompt("hello")
	if diff := cmp.Diff(early, r.payloads("main")); diff != "" {
		t.Errorf("history: -want +got\n%s", diff)
	}
	if n := r.logs.FilterMessage("strange message").Len(); n != len(early) {
		t.Errorf("%d updates of an unknown session are in the log; want %d", n, len(early))
	}
}
