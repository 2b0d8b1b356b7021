package actors_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// TestFR01_SN01_NoiseBeforeAndBetweenMessages: an agent that prints what is no
// message, everywhere, and ends its lines as Windows does, is an agent.
func TestFR01_SN01_NoiseBeforeAndBetweenMessages(t *testing.T) {
	noise := strings.Join([]string{"null", "[]", "7", `"hi"`, "true", // FR-01
		"[20:18:05] Using config", `{"level":"info"}`, "\x1b]0;title\x07", ""}, "\r\n")
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		for {
			c, ok := w.next()
			if !ok {
				return
			}
			if c.Method != "" { // an array is a batch, which is refused: no noise about that
				w.put(noise)
			}
			switch c.Method {
			case "initialize":
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":{"protocolVersion":1,"agentCapabilities":{}}}` + "\r\n")
			case "session/new":
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":{"sessionId":"w"}}` + "\r\n")
			case "session/prompt":
				w.update("w", textUpdate("m", "heard"))
				w.put(noise)
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":` + endTurn + "}\r\n")
			}
		}
	})
	for range 2 {
		if a := r.mustPrompt("hello"); messageText(a.Message) != "heard" {
			t.Errorf("answer = %q; want what the agent said", messageText(a.Message))
		}
	}
	if err := r.vm.Unload(r.ctx(), "main"); err != nil { // then the counts are complete
		t.Fatal(err)
	}
	for kind, each := range map[jsonrpc.DiagnosticKind]int64{jsonrpc.NotMessage: 5, jsonrpc.Batch: 1, jsonrpc.Junk: 2} {
		if n, _ := r.diagnosed("main", kind); n != 6*each {
			t.Errorf("%d lines were %v; want %d", n, kind, 6*each)
		}
	}
	r.check()
}

// TestFR03_PermissionIDsKeepTheirType: "1", 1 and "a-1" are three requests of an
// agent; each is answered under its own id as it was spelled.
func TestFR03_PermissionIDsKeepTheirType(t *testing.T) {
	ids := []string{`"a-1"`, `1`, `"1"`, `"\u0061"`, `-0`}
	answers := make(chan map[string]string, 1)
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for n, id := range ids {
				w.put(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"w",`+
					`"toolCall":{"toolCallId":"t"},"options":[{"optionId":"o%d","kind":"allow_once"}]}}`+"\n", id, n))
			}
			got := map[string]string{}
			for range ids {
				c, ok := w.next()
				if !ok {
					return ""
				}
				got[string(c.ID)] = string(c.Result)
			}
			answers <- got
			return endTurn
		})
	})
	w := r.watch("main", 0)
	errs := make(chan error, 1)
	go func() { _, err := r.prompt("ask"); errs <- err }()
	for n := range slices.Backward(ids) { // answered in another order than asked
		option := fmt.Sprintf("o%d", n)
		request := w.until(t, "request "+option, func(i feed.Item) bool {
			return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest && bytes.Contains(i.Event.Payload, []byte(option))
		}).Event.Request
		if _, err := r.vm.Permit(r.ctx(), "main", request, option); err != nil {
			t.Error(err)
		}
	}
	if err := <-errs; err != nil {
		t.Error(err)
	}
	want := map[string]string{}
	for n, id := range ids {
		want[id] = fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":"o%d"}}`, n)
	}
	if diff := cmp.Diff(want, <-answers); diff != "" {
		t.Errorf("answers by id: -want +got\n%s", diff)
	}
	r.check()
}

// TestFR04_CancelIsANotification: what is written to the agent has no id, and
// nothing is asked for an answer.
func TestFR04_CancelIsANotification(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			w.update("w", textUpdate("m", "working"))
			for {
				if c, ok := w.next(); !ok || c.Method == "session/cancel" {
					return `{"stopReason":"cancelled"}`
				}
			}
		})
	})
	errs := startTurn(t, r.rig, "main", "hello")
	if err := r.vm.Cancel(r.ctx(), "main", ""); err != nil {
		t.Error(err)
	}
	if err := <-errs; err != nil {
		t.Error(err)
	}
	want := []string{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"w"}}`}
	var got []string
	for _, c := range r.wire.of("session/cancel") {
		got = append(got, c.line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	r.check()
}

// TestFR06_LP02_AnswerOfAPromptThatIsLost: a prompt whose answer came and could
// not be read fails and says so; nothing else is harmed, and the agent goes on
// being used.
func TestFR06_LP02_AnswerOfAPromptThatIsLost(t *testing.T) {
	const limit = 4096
	for name, broken := range map[string]string{
		"torn by another line": `{"jsonrpc":"2.0","id":ID,"result":{"stop` + `{"jsonrpc":"2.0","method":"x"}` + "\n" + `Reason":"end_turn"}}` + "\n",
		"cut off":              `{"jsonrpc":"2.0","id":ID,"result":{"stopReason":"end_t` + "\n",
		"too long":             `{"jsonrpc":"2.0","id":ID,"result":{"stopReason":"end_turn","x":"` + strings.Repeat("x", limit) + `"}}` + "\n",
		"too long, id behind":  `{"jsonrpc":"2.0","result":{"stopReason":"end_turn","x":"` + strings.Repeat("x", limit) + `"},"id":ID}` + "\n",
		"too deep":             `{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}\n",
		"without its meaning":  `{"jsonrpc":"2.0","id":ID,"result":{"stopReason":7}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			turns := 0
			r := newWireRig(t, limit, func(_ protocol.SessionID, w *wireAgent) {
				w.serve("w", func(c wireCall) string {
					w.update("w", textUpdate("m", "said"))
					if turns++; turns > 1 {
						return endTurn
					}
					w.put(strings.ReplaceAll(broken, "ID", string(c.ID)))
					return ""
				})
			})
			if _, err := r.prompt("first"); protocol.CodeOf(err) != protocol.CodeACPProtocolError {
				t.Errorf("prompt = %v; want acp_protocol_error", err)
			}
			if got := r.payloads("main"); len(got) != 1 || !strings.Contains(got[0], "said") {
				t.Errorf("history = %q; want what was said", got)
			}
			if a := r.mustPrompt("second"); a.RestoredBy != protocol.RestoredLive {
				t.Errorf("restoredBy = %q; want live: one lost line is not the end of an agent", a.RestoredBy)
			}
			r.check()
		})
	}
}

// TestFR07_InitializeComesFirst: an agent that refuses everything before
// initialize, and a second one, is satisfied in each of its lives.
func TestFR07_InitializeComesFirst(t *testing.T) {
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		ready := false
		for {
			c, ok := w.next()
			switch {
			case !ok:
				return
			case ready == (c.Method == "initialize"):
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32002,"message":"initialize must be called first, and once"}}` + "\n")
			case c.Method == "initialize":
				ready = true
				w.answer(c, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
			case c.Method == "session/new":
				w.answer(c, `{"sessionId":"w"}`)
			case c.Method == "session/load":
				w.answer(c, `{}`)
			default:
				w.update("w", textUpdate("m", "hi"))
				w.answer(c, endTurn)
			}
		}
	})
	const lives = 3
	for n := range lives {
		if a := r.mustPrompt("hello"); (a.RestoredBy == protocol.RestoredNew) != (n == 0) {
			t.Errorf("life %d: restoredBy = %q", n, a.RestoredBy)
		}
		if err := r.vm.Unload(r.ctx(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.wire.of("initialize")); n != lives {
		t.Errorf("initialize was sent %d times to %d processes", n, lives)
	}
	r.check()
}

// TestLP02_LP03_HalfALineHurtsNobodyElse: while one agent is in the middle of a
// line without an end, the other sessions of the VM work; the line is dropped
// when it ends, told of its session, and that session works too.
func TestLP02_LP03_HalfALineHurtsNobodyElse(t *testing.T) {
	const limit = 16 << 20
	half, finish := make(chan struct{}), make(chan struct{})
	r := newWireRig(t, limit, func(id protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			if id == "a" {
				piece := strings.Repeat("x", 4<<10)
				w.put(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"w","update":{"sessionUpdate":"x","x":"`)
				for range 20 << 20 / len(piece) {
					w.put(piece)
				}
				close(half)
				<-finish
				w.put(`"}}}` + "\n")
			}
			w.update("w", textUpdate("m", "after "+string(id)))
			return endTurn
		})
	})
	errs := make(chan error, 1)
	go func() { _, err := r.promptIn("a", "hello"); errs <- err }()
	<-half
	for range 3 {
		if a, err := r.promptIn("b", "hello"); err != nil || messageText(a.Message) != "after b" {
			t.Errorf("the other session: %v, %v", a, err)
		}
	}
	close(finish)
	if err := <-errs; err != nil {
		t.Errorf("the session of the long line: %v", err)
	}
	if got := r.payloads("a"); len(got) != 1 || !strings.Contains(got[0], "after a") {
		t.Errorf("history has %d events; want what came behind the long line", len(got))
	}
	if n, _ := r.diagnosed("a", jsonrpc.TooLong); n != 1 {
		t.Errorf("%d lines of a were too long; want 1", n)
	}
	if n, _ := r.diagnosed("b", jsonrpc.TooLong); n != 0 {
		t.Errorf("%d lines of b were too long; want none", n)
	}
	r.check()
}

// TestLP05_PromptThatIsTooLarge: it is refused with the limit in the error, costs
// no more than a small multiple of itself, and the next prompt works.
func TestLP05_PromptThatIsTooLarge(t *testing.T) {
	const limit = 8 << 20
	r := newRig(t, func(r *rig) {
		r.config.Limits = protocol.DefaultLimits()
		r.config.Limits.PromptBytes = limit
	}).start()
	r.mustPrompt("hello")
	before := len(r.history("main"))
	content := slices.Concat([]byte(`[{"type":"image","mimeType":"image/png","data":"`), bytes.Repeat([]byte("A"), limit+limit/4), []byte(`"}]`))
	var err error
	cost := allocated(func() {
		_, err = r.vm.Prompt(r.ctx(), actors.Prompt{Session: "main", Content: content})
	})
	pe, _ := err.(*protocol.Error)
	if pe == nil || pe.Code != protocol.CodePromptBytesLimit || fmt.Sprint(pe.Details["limit"]) != fmt.Sprint(limit) {
		t.Fatalf("prompt = %v; want acp_prompt_bytes_limit with the limit in its details", err)
	}
	t.Logf("%d bytes were refused at the cost of %d", len(content), cost)
	if cost > 4*limit {
		t.Errorf("refusing %d bytes cost %d; want at most four times the limit of %d", len(content), cost, limit)
	}
	if after := len(r.history("main")); after != before {
		t.Errorf("%d events were stored of a prompt that was refused", after-before)
	}
	r.mustPrompt("works")
	r.check()
}
