package route

import (
	"io"
	"strings"
	"testing"
	"time"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

const (
	effortLow  = `[{"id":"effort","type":"select","currentValue":"low","options":[{"value":"low"},{"value":"high"}]}]`
	effortHigh = `[{"id":"effort","type":"select","currentValue":"high","options":[{"value":"low"},{"value":"high"}]}]`
	modesA     = `{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"b"}]}`
)

func setting(option, value, mode string) sessions.SetConfig {
	set := protocol.Setting{Option: option, Mode: mode}
	if option != "" {
		set.Value = []byte(value)
	}
	return sessions.SetConfig{Route: 1, Token: 7, ACP: "a1", Setting: set}
}

// opening answers what brings a route up and gives everything else to then.
func opening(members string, then func(l line, out io.Writer) bool) func(l line, out io.Writer) bool {
	return func(l line, out io.Writer) bool {
		switch l.Method {
		case acp.MethodInitialize:
			return reply(l, out, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		case acp.MethodNew:
			return reply(l, out, `{"sessionId":"a1"`+members+`}`)
		case acp.MethodLoad:
			return reply(l, out, `{`+strings.TrimPrefix(members, ",")+`}`)
		}
		return then(l, out)
	}
}

// stored is a session that was prompted and has these settings.
func stored(options, modes string) protocol.Record {
	rec := protocol.Record{ID: "s", ACPSession: "a1", Prompted: true}
	if options != "" {
		rec.ConfigOptions = []byte(options)
	}
	if modes != "" {
		rec.Metadata = []byte(`{"modes":` + modes + `}`)
	}
	return rec
}

// Each answer to a setting, as the session hears it, behind the updates before it.
func TestSettings_S14_Answers(t *testing.T) {
	for name, c := range map[string]struct {
		set    sessions.SetConfig
		answer func(l line, out io.Writer) bool
		method string
		params string
		code   protocol.Code
		want   string // options
	}{
		"option": {setting("effort", `"high"`, ""), func(l line, out io.Writer) bool { return reply(l, out, `{"configOptions":`+effortHigh+`}`) },
			acp.MethodSetConfigOption, `{"sessionId":"a1","configId":"effort","value":"high"}`, "", effortHigh},
		"switch": {setting("fast", `true`, ""), func(l line, out io.Writer) bool { return reply(l, out, `{}`) },
			acp.MethodSetConfigOption, `{"sessionId":"a1","configId":"fast","type":"boolean","value":true}`, "", ""},
		"mode": {setting("", "", "b"), func(l line, out io.Writer) bool { return reply(l, out, `null`) },
			acp.MethodSetMode, `{"sessionId":"a1","modeId":"b"}`, "", ""},
		"bad value":  {setting("effort", `"x"`, ""), func(l line, out io.Writer) bool { return refuse(l, out, -32602) }, acp.MethodSetConfigOption, "", protocol.CodeInvalidConfigValue, ""},
		"no method":  {setting("", "", "b"), func(l line, out io.Writer) bool { return refuse(l, out, -32601) }, acp.MethodSetMode, "", protocol.CodeUnsupportedByAgent, ""},
		"signed out": {setting("", "", "b"), func(l line, out io.Writer) bool { return refuse(l, out, -32000) }, acp.MethodSetMode, "", protocol.CodeAuthRequired, ""},
		"its trouble": {setting("", "", "b"), func(l line, out io.Writer) bool { return refuse(l, out, -32603) },
			acp.MethodSetMode, "", protocol.CodeAgentError, ""},
		"unreadable": {setting("", "", "b"), func(l line, out io.Writer) bool {
			_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":`+string(l.ID)+`,"result":{]}`+"\n")
			return err == nil
		}, acp.MethodSetMode, "", protocol.CodeACPProtocolError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan line, 1)
			r := startRoute(t, Setup{}, protocol.Record{ID: "s"}, opening("", func(l line, out io.Writer) bool {
				asked <- l
				return update(out, `{"sessionUpdate":"current_mode_update","currentModeId":"x"}`) && c.answer(l, out)
			}))
			next[Up](r)
			r.tell(Configure{c.set})
			if u := next[Update](r); u.Input.Update.Kind != acp.UpdateCurrentMode {
				t.Errorf("update %+v", u)
			}
			got := next[Configured](r).Input
			if got.Route != 1 || got.Token != 7 || protocol.CodeOf(asError(got.Err)) != c.code || string(got.Options) != c.want || got.Setting.Mode != c.set.Setting.Mode {
				t.Errorf("answer %+v", got)
			}
			if l := <-asked; l.Method != c.method || c.params != "" && string(l.Params) != c.params {
				t.Errorf("asked %s %s", l.Method, l.Params)
			}
		})
	}
}

// asError keeps a nil *protocol.Error from being an error that is not nil.
func asError(err *protocol.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// An agent that does not answer is given up, and can go on.
func TestSettings_S13_Late(t *testing.T) {
	var first line
	r := startRoute(t, Setup{CallLimit: 50 * time.Millisecond}, protocol.Record{ID: "s"}, opening("", func(l line, out io.Writer) bool {
		switch {
		case l.Method == acp.MethodSetMode:
			first = l
			return true
		case l.Method == acp.MethodSetConfigOption: // the late answer, and the one to this
			return reply(first, out, `{}`) && reply(l, out, `{"configOptions":[]}`)
		}
		return true
	}))
	next[Up](r)
	r.tell(Configure{setting("", "", "b")})
	if got := next[Configured](r).Input; protocol.CodeOf(asError(got.Err)) != protocol.CodeACPTimeout || got.Setting.Mode != "b" {
		t.Fatalf("answer %+v", got)
	}
	r.tell(Configure{setting("effort", `"low"`, "")})
	if got := next[Configured](r).Input; got.Err != nil || got.Setting.Option != "effort" {
		t.Errorf("answer %+v", got)
	}
}

// An agent that goes without an answer: the route's end is the answer.
func TestSettings_TheAgentGoes(t *testing.T) {
	r := startRoute(t, Setup{}, protocol.Record{ID: "s"}, opening("", func(line, io.Writer) bool { return false }))
	next[Up](r)
	r.tell(Configure{setting("", "", "b")})
	if d := next[Down](r); d.Cause.Code != protocol.CodeAdapterExited {
		t.Errorf("cause %v", d.Cause)
	}
}

// What is stored is set again before the route is up, only where it differs, in
// order; what the agent says meanwhile is heard, and what it is set to is told.
func TestSetAgain_S10_4(t *testing.T) {
	const both = `,"configOptions":` + effortLow + `,"modes":` + modesA
	for name, c := range map[string]struct {
		rec     protocol.Record
		members string
		refuse  map[string]int // by method
		asked   string
		options string
		modes   string
		notice  string
	}{
		"as it was":     {rec: stored(effortLow, modesA), members: both, options: effortLow, modes: modesA},
		"never set":     {rec: protocol.Record{ID: "s"}, members: both, options: effortLow, modes: modesA},
		"both differ":   {rec: stored(effortHigh, `{"currentModeId":"b"}`), members: both, asked: "option mode", options: effortHigh, modes: strings.Replace(modesA, `"a"`, `"b"`, 1)},
		"a new session": {rec: protocol.Record{ID: "s", ConfigOptions: []byte(effortHigh)}, members: both, asked: "option", options: effortHigh, modes: modesA},
		"refused": {rec: stored(effortHigh, `{"currentModeId":"b"}`), members: both, refuse: map[string]int{acp.MethodSetConfigOption: -32602},
			asked: "option mode", options: effortLow, modes: strings.Replace(modesA, `"a"`, `"b"`, 1),
			notice: `the agent did not take back "effort" = "high" (error -32602)`},
		"nothing said": {rec: stored(effortHigh, modesA), members: "", asked: "option mode", options: effortHigh, modes: `{"currentModeId":"a","availableModes":[]}`},
		"not offered": {rec: stored(`[{"id":"speed","currentValue":"x\u001b[2J"}]`, `{"currentModeId":"c"}`), members: both, options: effortLow, modes: modesA,
			notice: `the agent did not take back "speed" = "x\x1b[2J" (not offered any more), mode "c" (not offered any more)`},
		"method gone": {rec: stored(`[{"id":"effort","currentValue":"high"},{"id":"speed","currentValue":true}]`, ""),
			members: `,"configOptions":[{"id":"effort","currentValue":"low"},{"id":"speed","type":"boolean","currentValue":false}]`,
			refuse:  map[string]int{acp.MethodSetConfigOption: -32601}, asked: "option",
			options: `[{"id":"effort","currentValue":"low"},{"id":"speed","type":"boolean","currentValue":false}]`,
			notice:  `the agent did not take back "effort" = "high" (error -32601), "speed" = true (no session/set_config_option)`},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string // the adapter's goroutine; read behind Up
			r := startRoute(t, Setup{}, c.rec, opening(c.members, func(l line, out io.Writer) bool {
				switch {
				case c.refuse[l.Method] != 0:
					asked = append(asked, map[string]string{acp.MethodSetMode: "mode", acp.MethodSetConfigOption: "option"}[l.Method])
					return refuse(l, out, c.refuse[l.Method])
				case l.Method == acp.MethodSetMode:
					asked = append(asked, "mode")
					return reply(l, out, `{}`)
				case l.Method == acp.MethodSetConfigOption:
					asked = append(asked, "option")
					return update(out, `{"sessionUpdate":"usage_update"}`) && reply(l, out, `{"configOptions":`+effortHigh+`}`)
				}
				return true
			}))
			var up Up
			updates := 0
			for up.Route == 0 {
				switch m := next[any](r).(type) {
				case Update:
					updates++
				case Up:
					up = m
				default:
					t.Fatalf("%T %+v", m, m)
				}
			}
			if got := strings.Join(asked, " "); got != c.asked || string(up.Binding.ConfigOptions) != c.options || string(up.Binding.Modes) != c.modes {
				t.Errorf("asked %q; bound %s, %s", got, up.Binding.ConfigOptions, up.Binding.Modes)
			}
			if taken := strings.Contains(c.asked, "option") && c.refuse == nil; (updates == 1) != taken {
				t.Errorf("%d updates were heard", updates)
			}
			var notice string
			select {
			case notice = <-r.notices:
			default:
			}
			if notice != c.notice {
				t.Errorf("notice %s", notice)
			}
		})
	}
}

// What the agent says of itself behind the answer to a step is news, and before it
// an older word or a replay: however close they are on the wire.
func TestSetAgain_S10_3_NewsAndReplays(t *testing.T) {
	const (
		low   = `{"sessionUpdate":"config_option_update","configOptions":` + effortLow + `}`
		high  = `{"sessionUpdate":"config_option_update","configOptions":` + effortHigh + `}`
		modeB = `{"sessionUpdate":"current_mode_update","currentModeId":"b"}`
	)
	wire := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":` + u + "}}\n"
	}
	answer := func(l line, members string) string {
		return `{"jsonrpc":"2.0","id":` + string(l.ID) + `,"result":{` + members + "}}\n"
	}
	for name, c := range map[string]struct {
		rec     protocol.Record
		written func(l line) string
		options string
		modes   string
	}{
		"new, behind": {protocol.Record{ID: "s"}, func(l line) string {
			return wire(high) + answer(l, `"sessionId":"a1","modes":`+modesA+`,"configOptions":`+effortLow) + wire(high) + wire(modeB)
		}, effortHigh, strings.Replace(modesA, `"a"`, `"b"`, 1)},
		"new, before": {protocol.Record{ID: "s"}, func(l line) string {
			return wire(high) + wire(modeB) + answer(l, `"sessionId":"a1","modes":`+modesA+`,"configOptions":`+effortLow)
		}, effortLow, modesA},
		"new, before and not again": {protocol.Record{ID: "s"}, func(l line) string {
			return wire(high) + wire(modeB) + answer(l, `"sessionId":"a1"`)
		}, effortHigh, `{"currentModeId":"b","availableModes":[]}`},
		"new, of another session": {protocol.Record{ID: "s"}, func(l line) string {
			return wire(high) + answer(l, `"sessionId":"a2"`) + wire(modeB)
		}, "", ""},
		"restored, behind": {stored(effortHigh, modesA), func(l line) string {
			return wire(modeB) + answer(l, `"modes":`+modesA+`,"configOptions":`+effortLow) + wire(high)
		}, effortHigh, modesA},
		"restored, replay": {stored(effortLow, modesA), func(l line) string {
			return wire(high) + wire(modeB) + wire(low) + wire(high) + answer(l, `"modes":`+modesA+`,"configOptions":`+effortLow)
		}, effortLow, modesA},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRoute(t, Setup{}, c.rec, func(l line, out io.Writer) bool {
				switch l.Method {
				case acp.MethodInitialize:
					return reply(l, out, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
				case acp.MethodNew, acp.MethodLoad: // in one write, so that it is read at once
					_, err := io.WriteString(out, c.written(l))
					return err == nil
				}
				t.Errorf("the agent was asked %s %s", l.Method, l.Params)
				return true
			})
			var up Up
			for up.Route == 0 {
				up, _ = next[any](r).(Up)
			}
			// What is read behind the end of it all is the session's to hear.
			options, modes := up.Binding.ConfigOptions, up.Binding.Modes
			for string(options) != c.options || string(modes) != c.modes {
				t.Logf("so far %s, %s", options, modes)
				raw := next[Update](r).Input.Update.Raw
				if mode, ok := acp.ParseCurrentMode(raw); ok {
					modes = acp.WithCurrentMode(modes, mode)
				} else {
					options = acp.ParseConfigOptions(raw)
				}
			}
		})
	}
}

// An agent that does not answer keeps nobody waiting for long: it is prompted as it
// is.
func TestSetAgain_S10_4_IsBounded(t *testing.T) {
	r := startRoute(t, Setup{CallLimit: 50 * time.Millisecond}, stored(effortHigh, `{"currentModeId":"b"}`),
		opening(`,"configOptions":`+effortLow+`,"modes":`+modesA, func(line, io.Writer) bool { return true }))
	if up := next[Up](r); string(up.Binding.ConfigOptions) != effortLow || string(up.Binding.Modes) != modesA {
		t.Errorf("bound %+v", up.Binding)
	}
	const want = `the agent did not take back "effort" = "high" (it did not answer in time), mode "b" (it did not answer in time)`
	if got := <-r.notices; got != want {
		t.Errorf("notice %s", got)
	}
}

// A route that is stopped in the middle of it ends at once.
func TestSetAgain_StopsWhenTold(t *testing.T) {
	asked := make(chan struct{}, 1)
	r := startRoute(t, Setup{}, stored(effortHigh, ""), opening(`,"configOptions":`+effortLow, func(l line, _ io.Writer) bool {
		if l.Method == acp.MethodSetConfigOption {
			asked <- struct{}{}
		}
		return true
	}))
	<-asked
	r.tell(Stop{})
	if d := next[Down](r); d.Cause.Code != protocol.CodeShuttingDown {
		t.Errorf("cause %v", d.Cause)
	}
}
