package actors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors/feed"
	"agentos/protocol"
)

// TestAP02_StragglersOfACancelledTurn: what an agent still says of the message of a
// cancelled turn, when the next has begun, is no part of the next one's answer.
func TestAP02_StragglersOfACancelledTurn(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(c wireCall) string {
			if strings.Contains(c.line, `"one"`) {
				w.update("w", textUpdate("m1", "early "))
				w.until("session/cancel")
				return `{"stopReason":"cancelled"}`
			}
			w.update("w", textUpdate("m1", "late1 "))
			w.update("w", textUpdate("m1", "late2 "))
			w.update("w", textUpdate("m2", "the "))
			w.update("w", textUpdate("m2", "answer"))
			return endTurn
		})
	})
	errs := startTurn(t, r.rig, "main", "one")
	if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
		t.Error(err)
	}
	a := r.promptBehind("two")
	if err := <-errs; err != nil {
		t.Error(err)
	}
	if got := messageText(a.Message); got != "the answer" {
		t.Errorf("answer of the second turn = %q", got)
	}
	order, _ := joined(r.payloads("main")) // none is lost, none is mixed
	if d := cmp.Diff([]string{"m1:early late1 late2 ", "m2:the answer"}, order); d != "" {
		t.Errorf("history: -want +got\n%s", d)
	}
	r.check()
}

// TestAP05_TurnEndSignalledTwice: a notification of an extension that the turn is
// complete, before the answer or behind it, is no end of a turn; a prompt has one.
func TestAP05_TurnEndSignalledTwice(t *testing.T) {
	const complete = `{"jsonrpc":"2.0","method":"_agent/turn_complete","params":{"sessionId":"w"}}` + "\n"
	for _, order := range []string{"before", "behind"} {
		t.Run(order, func(t *testing.T) {
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(c wireCall) string {
					w.update("w", textUpdate("m", "x"))
					if order == "before" {
						w.put(complete)
						return endTurn
					}
					w.answer(c, endTurn)
					w.put(complete)
					return ""
				})
			})
			w := r.watch("main", 0)
			for range 2 {
				if a := r.mustPrompt("go"); a.StopReason != "end_turn" {
					t.Errorf("answer = %+v", a)
				}
			}
			if err := r.vm.Unload(r.ctx(), "main"); err != nil { // all that was said has been heard
				t.Error(err)
			}
			last := r.info("main").LatestSequence
			w.until(t, "the end", func(i feed.Item) bool {
				return i.State != nil && i.State.State == protocol.StateIdle && i.State.Sequence == last
			})
			ends := map[protocol.Sequence]int{}
			for _, i := range w.all() {
				if i.State != nil && i.State.State == protocol.StateIdle && i.State.Sequence > 0 {
					ends[i.State.Sequence]++
				}
			}
			if d := cmp.Diff(map[protocol.Sequence]int{2: 1, 4: 1}, ends); d != "" {
				t.Errorf("ends by sequence: -want +got\n%s", d)
			}
			r.check()
		})
	}
}

// TestAP06_WorkOfTheAgentsOwn: what an agent does unasked is stored and shown, and a
// prompt that it refuses meanwhile fails with an error that its key keeps; another
// key is another try.
func TestAP06_WorkOfTheAgentsOwn(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		busy := false
		w.serve("w", func(c wireCall) string {
			switch {
			case strings.Contains(c.line, "begin"):
				busy = true
				w.answer(c, endTurn)
				w.update("w", `{"sessionUpdate":"tool_call","toolCallId":"own"}`)
				w.update("w", textUpdate("own", "unasked"))
				w.update("w", `{"sessionUpdate":"tool_call_update","toolCallId":"own","status":"completed"}`)
				return ""
			case busy:
				busy = false
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32603,"message":"session_busy"}}` + "\n")
				return ""
			}
			return endTurn
		})
	})
	w := r.watch("main", 0)
	r.mustPrompt("begin")
	w.until(t, "the end of its own work", func(i feed.Item) bool { return i.Event != nil && kindOf(*i.Event) == "tool_call_update" })
	for range 2 {
		_, err := r.vm.Prompt(r.ctx(), keyed("k1", "go"))
		if protocol.CodeOf(err) != protocol.CodeAgentError || !strings.Contains(err.Error(), "session_busy") || !protocol.CodeAgentError.Info().Retryable {
			t.Errorf("prompt: %v; want agent_error of session_busy, which may be tried again", err)
		}
	}
	if a, err := r.vm.Prompt(r.ctx(), keyed("k2", "go")); err != nil || a.StopReason != "end_turn" {
		t.Errorf("with another key: %+v, %v", a, err)
	}
	var kinds []string
	for _, e := range r.history("main") {
		kinds = append(kinds, kindOf(e))
	}
	want := []string{"user_message_chunk", "tool_call", "agent_message_chunk", "tool_call_update", "user_message_chunk", "user_message_chunk"}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("history: -want +got\n%s", d)
	}
	r.check()
}
