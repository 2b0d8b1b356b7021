package sessions_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

// stream runs one turn of an answer in so many chunks and returns the batches
// that it took and the text that was stored.
func stream(tb testing.TB, chunks int, raw func(n int) string) (batches int, text string) {
	tb.Helper()
	s := sessions.New("s", sessions.Config{Limits: protocol.DefaultLimits(), Name: "a"})
	carry := func(in sessions.Input) {
		if err := s.Step(in); err != nil {
			tb.Fatal(err)
		}
		rd := s.Ready()
		if rd.Batch != nil {
			batches++
			for _, c := range rd.Batch.Changes {
				if e, ok := c.(protocol.EventAppended); ok && strings.Contains(string(e.Event.Payload), "agent_message_chunk") {
					text += textOf(tb, e.Event.Payload)
				}
			}
		}
		for _, e := range rd.AfterCommit {
			if d, ok := e.(sessions.Dispatch); ok && !s.Dispatch(d.Prompt) {
				tb.Fatal("the prompt was not dispatched")
			}
		}
	}
	carry(sessions.Open{Spec: spec})
	carry(sessions.Prompt{ID: "p", Message: "u", Blocks: [][]byte{acp.TextBlock("hi")}})
	carry(sessions.RouteUp{Route: 1, Binding: sessions.Binding{ACP: 1, ACPSession: "acp-1", RestoredBy: protocol.RestoredNew}})
	for n := range chunks {
		u, err := acp.ParseUpdate([]byte(raw(n)))
		if err != nil {
			tb.Fatal(err)
		}
		carry(sessions.Update{Route: 1, Update: u})
	}
	carry(sessions.Answered{Route: 1, Prompt: "p", StopReason: "end_turn"})
	return batches, text
}

func thirtyBytes(n int) string {
	return fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"%030d"}}`, n)
}

// TestSession_S7_3_CC_04_AnswerInManyChunks: one reply in 20,000 pieces of 30
// bytes is one event, and twice as many cost about twice as much.
func TestSession_S7_3_CC_04_AnswerInManyChunks(t *testing.T) {
	cost := func(chunks int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		batches, text := stream(t, chunks, thirtyBytes)
		runtime.ReadMemStats(&after)
		if batches != 3 || len(text) != 30*chunks {
			t.Errorf("%d chunks took %d writes with %d bytes of text; want 3 writes (open, prompt, end) with %d", chunks, batches, len(text), 30*chunks)
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if once, twice := cost(20_000), cost(40_000); twice > 2.5*once {
		t.Errorf("20,000 chunks cost %.0f bytes, 40,000 cost %.0f; want at most 2.5 times as much", once, twice)
	}
}

// TestSession_S7_1_TC_01_StoredOrderIsWireOrder: numbered words of every size, of
// several messages, with tool calls and side kinds in between.
func TestSession_S7_1_TC_01_StoredOrderIsWireOrder(t *testing.T) {
	var want strings.Builder
	_, got := stream(t, 2000, func(n int) string {
		switch {
		case n%97 == 0:
			return `{"sessionUpdate":"tool_call","toolCallId":"t"}`
		case n%31 == 0:
			return `{"sessionUpdate":"usage_update","used":1,"size":2}`
		}
		word := fmt.Sprintf("%d%s ", n, strings.Repeat("x", n*n%700))
		want.WriteString(word)
		return fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","messageId":"m%d","content":{"type":"text","text":"%s"}}`, n/11%3, word)
	})
	if got != want.String() {
		t.Errorf("%d bytes were stored, %d were said, and they are not the same", len(got), want.Len())
	}
}

func BenchmarkSession(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(20_000 * 30)
	for b.Loop() {
		stream(b, 20_000, thirtyBytes)
	}
}
