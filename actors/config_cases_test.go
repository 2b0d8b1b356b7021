package actors_test

import (
	"strings"
	"testing"
	"time"

	"agentos/actors"
	"agentos/protocol"
	"agentos/sessions"
)

const fieldAgent = sessions.FieldAgent

// serveConfig is serve for an agent whose answer to session/new and load has these
// members as well, and whose answers to settings are set's: "" for none, an error
// if it begins with "error ".
func (w *wireAgent) serveConfig(session, members string, set func(c wireCall) string) {
	for {
		c, ok := w.next()
		if !ok {
			return
		}
		switch c.Method {
		case "initialize":
			w.answer(c, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		case "session/new":
			w.answer(c, `{"sessionId":"`+session+`",`+members+`}`)
		case "session/load":
			w.answer(c, `{`+members+`}`)
		case "session/prompt":
			w.answer(c, endTurn)
		case "session/set_mode", "session/set_config_option":
			result := set(c)
			if code, failed := strings.CutPrefix(result, "error "); failed {
				w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":` + code + `,"message":"no"}}` + "\n")
			} else if result != "" {
				w.answer(c, result)
			}
		}
	}
}

// await waits until the agent has read n lines of a method.
func (w *wireRig) await(t *testing.T, method string, n int) {
	t.Helper()
	for end := time.Now().Add(patience); len(w.wire.of(method)) < n; pause(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the agent has read %d %s; want %d", len(w.wire.of(method)), method, n)
		}
	}
}

// methods are those of the lines that agents have read, but initialize.
func (w *wireRig) methods() string {
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	var names []string
	for _, c := range w.wire.calls {
		if c.Method != "" && c.Method != "initialize" {
			names = append(names, strings.TrimPrefix(c.Method, "session/"))
		}
	}
	return strings.Join(names, " ")
}

const (
	lr13Modes   = `"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}`
	lr13Options = `"configOptions":[{"id":"effort","type":"select","currentValue":"low","options":[{"value":"low"},{"value":"high"}]}]`
)

// TestConfig_S10_4_LR13: the mode was set, and after a restart the agent is in
// another one. It takes the mode back before the next prompt; that it has no
// session/set_config_option any more is a warning.
func TestConfig_S10_4_LR13(t *testing.T) {
	var told notices
	lives := 0
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		lives++ // one agent at a time
		upgraded := lives > 1
		w.serveConfig("m1", lr13Modes+","+lr13Options, func(c wireCall) string {
			switch {
			case c.Method == "session/set_mode":
				return `{}`
			case upgraded:
				return "error -32601"
			}
			return `{` + strings.Replace(lr13Options, `"low"`, `"high"`, 1) + `}`
		})
	}, told.hear)
	r.mustPrompt("hi")
	r.mustConfigure(option("effort", `"high"`))
	r.mustConfigure(actors.Setting{Mode: "plan"})
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	if a := r.mustPrompt("again"); a.RestoredBy != protocol.RestoredLoad {
		t.Errorf("restored by %s", a.RestoredBy)
	}
	const want = "new prompt set_config_option set_mode load set_config_option set_mode prompt"
	if got := r.methods(); got != want {
		t.Errorf("the agents were asked\n%s; want\n%s", got, want)
	}
	if got := setTo(r.configOf()); got != `effort="low" plan` { // the truth, not the wish
		t.Errorf("stored is %s", got)
	}
	if got := told.all(); len(got) != 1 || got[0] != `the agent did not take back "effort" = "high" (error -32601)` {
		t.Errorf("notices: %q", got)
	}
	// Once the wish is gone it is not repeated.
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	r.mustPrompt("and again")
	if got := r.methods(); got != want+" load set_mode prompt" || len(told.all()) != 1 {
		t.Errorf("then %s, notices %q", got, told.all())
	}
}

// An agent that goes in the middle of it is one that could not be restored; the
// settings stay, and the next try has them.
func TestConfig_S10_4_TheAgentGoesMeanwhile(t *testing.T) {
	lives := 0
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		lives++
		dies := lives == 2
		left := false
		w.serveConfig("m1", lr13Modes, func(wireCall) string {
			if dies && !left {
				left = true
				w.in.Reset(strings.NewReader("")) // the end of its input, so to speak
				return ""
			}
			return `{}`
		})
	})
	r.mustPrompt("hi")
	r.mustConfigure(actors.Setting{Mode: "plan"})
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.prompt("again"); protocol.CodeOf(err) != protocol.CodeSessionRestoreFailed {
		t.Errorf("the agent went: %v", err)
	}
	if got := setTo(r.configOf()); got != "plan" {
		t.Errorf("stored is %q", got)
	}
	r.mustPrompt("and again")
	if got := r.methods(); got != "new prompt set_mode load set_mode load set_mode prompt" || setTo(r.configOf()) != "plan" {
		t.Errorf("asked %s; stored is %s", got, setTo(r.configOf()))
	}
	r.host.calms(t)
}

// What an agent says of itself right behind an answer is newer than the answer,
// and what it said before a setting was answered is older.
func TestConfig_WireOrder(t *testing.T) {
	const (
		low  = `[{"id":"effort","type":"select","currentValue":"low","options":[{"value":"low"},{"value":"high"}]}]`
		high = `[{"id":"effort","type":"select","currentValue":"high","options":[{"value":"low"},{"value":"high"}]}]`
	)
	now := func(options string) string {
		return updateLine("m1", `{"sessionUpdate":"config_option_update","configOptions":`+options+`}`)
	}
	lives, sets := 0, 0
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		lives++
		restored := lives > 1
		for {
			c, ok := w.next()
			if !ok {
				return
			}
			result := func(members string) string {
				return `{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":{` + members + "}}\n"
			}
			switch c.Method {
			case "initialize":
				w.put(result(`"protocolVersion":1,"agentCapabilities":{"loadSession":true}`))
			case "session/new": // in one write, so that they are read at once
				w.put(now(low) + result(`"sessionId":"m1","configOptions":`+low) + now(high))
			case "session/load":
				w.put(now(high) + result(`"configOptions":`+low))
			case "session/set_config_option":
				if sets++; restored || sets > 1 {
					w.put(now(low) + result(`"configOptions":`+high))
				} else {
					w.put(result(`"configOptions":`+high) + now(low))
				}
			case "session/prompt":
				w.put(result(`"stopReason":"end_turn"`))
			}
		}
	})
	is := func(when, want string) {
		t.Helper()
		if got := setTo(r.configOf()); got != `effort="`+want+`" ` {
			t.Errorf("%s: %s; want %s", when, got, want)
		}
	}
	r.mustPrompt("hi")
	is("behind the answer to session/new", "high")
	if info := r.mustConfigure(option("effort", `"high"`)); setTo(info) != `effort="high" ` {
		t.Errorf("the answer to the setting: %s", setTo(info))
	}
	r.mustPrompt("hi") // behind the update
	is("behind the answer to the setting", "low")
	r.mustConfigure(option("effort", `"high"`))
	is("before the answer to the setting", "high")
	if err := r.vm.Unload(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	// The replay says high and the answer low: low it is, and is set to high again.
	r.mustPrompt("hi")
	is("set again", "high")
	if n := len(r.wire.of("session/set_config_option")); n != 3 {
		t.Errorf("the agent was asked %d times; want 3, once for the restored session", n)
	}
}
