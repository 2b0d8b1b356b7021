//go:build linux

package adapters

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"agentos/protocol"
)

func TestS13_Patience(t *testing.T) {
	const s = time.Second
	tests := map[string]struct {
		p              Patience
		waited, silent time.Duration
		next           time.Duration
		over           string
	}{
		"none":                         {Patience{}, 100 * s, 100 * s, 0, ""},
		"fresh":                        {Patience{60 * s, 600 * s}, 0, 0, 60 * s, ""},
		"silent before the question":   {Patience{60 * s, 600 * s}, 10 * s, 500 * s, 50 * s, ""},
		"said something":               {Patience{60 * s, 600 * s}, 300 * s, 5 * s, 55 * s, ""},
		"silent":                       {Patience{60 * s, 600 * s}, 300 * s, 60 * s, 0, "and was silent for 1m0s"},
		"talks for ever":               {Patience{60 * s, 600 * s}, 600 * s, 1 * s, 0, "in 10m0s"},
		"near the end":                 {Patience{60 * s, 600 * s}, 590 * s, 1 * s, 10 * s, ""},
		"no bound on silence":          {Patience{0, 120 * s}, 100 * s, 100 * s, 20 * s, ""},
		"no bound on the whole":        {Patience{60 * s, 0}, 1000 * s, 10 * s, 50 * s, ""},
		"no bound on silence, over":    {Patience{0, 120 * s}, 120 * s, 120 * s, 0, "in 2m0s"},
		"silent and the whole at once": {Patience{60 * s, 60 * s}, 60 * s, 60 * s, 0, "in 1m0s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			next, over := tt.p.next(tt.waited, tt.silent)
			if next != tt.next || over != tt.over {
				t.Errorf("next = %v, %q; want %v, %q", next, over, tt.next, tt.over)
			}
		})
	}
}

// Whoever waits as long as next says, and asks again, is over at the first
// moment at which a bound is reached, whenever the adapter says something.
func TestPatienceAgainstTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Patience{Silence: time.Duration(rapid.IntRange(1, 20).Draw(t, "silence")), Max: time.Duration(rapid.IntRange(1, 60).Draw(t, "max"))}
		signs := rapid.SliceOfN(rapid.IntRange(1, 80), 0, 20).Draw(t, "signs of life")
		lastBefore := func(now time.Duration) time.Duration {
			var last time.Duration
			for _, at := range signs {
				if d := time.Duration(at); d <= now && d > last {
					last = d
				}
			}
			return last
		}
		want := p.Max
		for now := time.Duration(0); now < p.Max; now++ {
			if now-lastBefore(now) >= p.Silence {
				want = now
				break
			}
		}
		var now time.Duration
		for range 1000 {
			next, over := p.next(now, now-lastBefore(now))
			if over != "" {
				break
			}
			if next <= 0 {
				t.Fatalf("at %d: told to wait %d", now, next)
			}
			now += next
		}
		if now != want {
			t.Fatalf("over at %d; want %d", now, want)
		}
	})
}

func TestS13_SilenceAndTheWhole(t *testing.T) {
	t.Parallel()
	t.Run("silent", func(t *testing.T) {
		a := start(t, "mute")
		_, err := a.Request(t.Context(), "session/new", nil, Patience{Silence: 20 * time.Millisecond, Max: time.Hour})
		e := wantError(t, err, protocol.CodeACPTimeout, "session/new", "silent for 20ms")
		if e.Details["method"] != "session/new" {
			t.Errorf("details = %v; want the method", e.Details)
		}
	})
	t.Run("never in all", func(t *testing.T) {
		a := start(t, "chatty", "1000000")
		_, err := a.Request(t.Context(), "initialize", nil, Patience{Silence: time.Hour, Max: 100 * time.Millisecond})
		wantError(t, err, protocol.CodeACPTimeout, "initialize", "in 100ms")
	})
	t.Run("AD-03 slow but alive", func(t *testing.T) {
		a := start(t, "chatty", "130") // at least 1.3 s
		if _, err := a.Request(t.Context(), "initialize", nil, Patience{Silence: time.Second}); err != nil {
			t.Errorf("Request = %v; stderr is a sign of life", err)
		}
	})
}
