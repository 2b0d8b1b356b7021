package restore_test

import (
	"testing"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/restore"
)

// What agents advertise (acp.md, peers.md 2.3) and whether theirs was prompted.
var (
	both       = restore.Situation{Stored: true, Prompted: true, Resume: true, Load: true}
	bothFresh  = restore.Situation{Stored: true, Resume: true, Load: true}
	loadOnly   = restore.Situation{Stored: true, Prompted: true, Load: true}
	loadFresh  = restore.Situation{Stored: true, Load: true}
	resumeOnly = restore.Situation{Stored: true, Prompted: true, Resume: true}
	neither    = restore.Situation{Stored: true, Prompted: true}
	nothing    = restore.Situation{Resume: true, Load: true}
)

func TestFirst_S10_1(t *testing.T) {
	for name, c := range map[string]struct {
		s    restore.Situation
		want restore.Step
	}{
		"nothing stored":      {nothing, restore.New},
		"resume before load":  {both, restore.Resume},
		"resume only (LR-01)": {resumeOnly, restore.Resume},
		"load only":           {loadOnly, restore.Load},
		"neither":             {neither, restore.New},
		// Whether it was written is the agent's to say: it may have been.
		"never prompted": {bothFresh, restore.Resume},
	} {
		if got := restore.First(c.s); got != c.want {
			t.Errorf("%s: First = %v; want %v", name, got, c.want)
		}
	}
}

// TestAfter_S10_2 walks the whole ladder with the answers that were observed of
// real agents: each list is what the agent answers, step by step and then with
// a fresh process; want is what the runtime does about each.
func TestAfter_S10_2(t *testing.T) {
	const (
		again = "again"
		fail  = "fail"
	)
	for name, c := range map[string]struct {
		s       restore.Situation
		answers []int64
		want    []string
	}{
		// Gone: the next step, at once.
		"claude, unknown id":                   {both, []int64{-32002, -32002}, []string{"session/load", "session/new"}},
		"claude, older: legacy code":           {both, []int64{-32001}, []string{"session/load"}},
		"zed-codex, qwen, copilot: load only":  {loadOnly, []int64{-32002}, []string{"session/new"}},
		"pi: load of an unknown id":            {loadOnly, []int64{-32602}, []string{"session/new"}},
		"opencode: prompt code for an unknown": {both, []int64{-32602, -32602}, []string{"session/load", "session/new"}},
		"openclaw: resume by a new bridge":     {both, []int64{-32002, -32002}, []string{"session/load", "session/new"}},
		// Not there: the next step, the capability is forgotten.
		"nanocoder: advertised, answers not there": {both, []int64{-32601}, []string{"session/load"}},
		"neither is there":                         {both, []int64{-32601, -32601}, []string{"session/load", "session/new"}},
		// Never prompted: claude, codex and qwen write at the first prompt.
		"claude, never prompted":                {bothFresh, []int64{-32603, -32603}, []string{"session/load", "session/new"}},
		"codex, never prompted":                 {bothFresh, []int64{-32603}, []string{"session/load"}},
		"gemini, never prompted, its HTTP code": {loadFresh, []int64{400}, []string{"session/new"}},
		// Ambiguous: once more with a fresh process, then the next step.
		"gemini: its own load destroyed it": {loadOnly, []int64{-32603, -32603}, []string{again, "session/new"}},
		"codex, opencode: unknown id":       {both, []int64{-32603, -32603}, []string{again, "session/load"}},
		"resume of its own process (LR-02)": {both, []int64{-32603, -32603}, []string{again, "session/load"}},
		"HTTP status as a code":             {loadOnly, []int64{400, 400}, []string{again, "session/new"}},
		"request cancelled":                 {both, []int64{-32800}, []string{again}},
		"invalid request":                   {both, []int64{-32600}, []string{again}},
		"ambiguous, then gone":              {both, []int64{-32603, -32002}, []string{again, "session/load"}},
		"resume only, ambiguous":            {resumeOnly, []int64{-32603, -32603}, []string{again, "session/new"}},
		// Auth: the id is kept (LR-04), prompted or not, first or second time.
		"auth at resume":                {both, []int64{-32000}, []string{fail}},
		"auth at load, never prompted":  {loadFresh, []int64{-32000}, []string{fail}},
		"ambiguous, then auth":          {both, []int64{-32603, -32000}, []string{again, fail}},
		"gone, then auth":               {both, []int64{-32002, -32000}, []string{"session/load", fail}},
		"everything gone, new fails":    {both, []int64{-32002, -32002, -32603}, []string{"session/load", "session/new", fail}},
		"nothing stored, new fails":     {nothing, []int64{-32602}, []string{fail}},
		"nothing stored, new not there": {nothing, []int64{-32601}, []string{fail}},
	} {
		t.Run(name, func(t *testing.T) {
			step, tried := restore.First(c.s), false
			for i, code := range c.answers {
				decision, next := restore.After(c.s, step, code, tried)
				got := next.Method()
				switch decision {
				case restore.Again:
					got, tried = again, true
					if next != step {
						t.Errorf("answer %d: again with %s; want the same step", i, next.Method())
					}
				case restore.Fail:
					got = fail
				case restore.Next:
					if next <= step {
						t.Fatalf("answer %d: %s after %s leads nowhere", i, next.Method(), step.Method())
					}
				}
				if got != c.want[i] {
					t.Fatalf("answer %d, %d to %s: %s; want %s", i, code, step.Method(), got, c.want[i])
				}
				step = next
			}
		})
	}
}

// TestAfter_S10_2_Ends tries every situation, step and code: the ladder ends
// after at most one more process, never uses what the adapter does not have, and
// never gives an id up for auth.
func TestAfter_S10_2_Ends(t *testing.T) {
	codes := []int64{-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32022, -32800, 400, 0, 1}
	for bits := range 16 {
		s := restore.Situation{Stored: bits&1 != 0, Prompted: bits&2 != 0, Resume: bits&4 != 0, Load: bits&8 != 0}
		for _, code := range codes {
			step, tried := restore.First(s), false
			for n := 0; ; n++ {
				if n > 4 {
					t.Fatalf("%+v, always %d: no end", s, code)
				}
				if step == restore.Resume && !(s.Stored && s.Resume) || step == restore.Load && !(s.Stored && s.Load) {
					t.Fatalf("%+v: step %s", s, step.Method())
				}
				decision, next := restore.After(s, step, code, tried)
				if code == acp.CodeAuthRequired && decision != restore.Fail {
					t.Fatalf("%+v: auth is followed by %v", s, decision)
				}
				if decision == restore.Fail {
					break
				}
				if decision == restore.Again {
					if tried || !s.Prompted {
						t.Fatalf("%+v, %d: again, though tried %t", s, code, tried)
					}
					tried = true
				}
				step = next
			}
		}
	}
}

func TestStep_S6_6_S10_1_Names(t *testing.T) {
	for step, want := range map[restore.Step]struct {
		method string
		by     protocol.RestoredBy
	}{
		restore.Resume: {"session/resume", protocol.RestoredResume},
		restore.Load:   {"session/load", protocol.RestoredLoad},
		restore.New:    {"session/new", protocol.RestoredNew},
	} {
		if step.Method() != want.method || step.By() != want.by {
			t.Errorf("step %d = %s, %s; want %s, %s", step, step.Method(), step.By(), want.method, want.by)
		}
	}
}
