package actors_test

import (
	"strings"
	"testing"

	"agentos/protocol"
)

// TestUM01_AP03_StrangeUpdatesAreDiagnosed: an update without a kind, and one of a
// session that nobody knows, are told to whoever hears of diagnostics, as lines
// that are no messages are; only then does agentos prompt mention them.
func TestUM01_AP03_StrangeUpdatesAreDiagnosed(t *testing.T) {
	for name, line := range map[string]string{
		"no kind":         updateLine("w", `{"x":1}`),
		"no update":       updateLine("w", `null`),
		"another session": updateLine("other", `{"sessionUpdate":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(wireCall) string { w.put(line); return endTurn })
			})
			r.mustPrompt("hello")
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.diagnostics["main"]) == 0 {
				t.Error("nobody was told")
			}
		})
	}
}

// TestSN03_StrangeMessagesDoNotFillTheLog: what is a message, and of no use, is logged as
// seldom as what is none.
func TestSN03_StrangeMessagesDoNotFillTheLog(t *testing.T) {
	const strange = 10_000
	for name, line := range map[string]string{
		"no kind":         updateLine("w", `{"x":1}`),
		"another session": updateLine("other", `{"sessionUpdate":"x"}`),
		"notification":    `{"jsonrpc":"2.0","method":"log","params":{}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(wireCall) string {
					for range strange / 100 {
						w.put(strings.Repeat(line, 100))
					}
					return endTurn
				})
			})
			before := r.logs.Len()
			r.mustPrompt("hello")
			if n := r.logs.Len() - before; n > 100 {
				t.Errorf("%d lines of log; want a handful", n)
			}
		})
	}
}
