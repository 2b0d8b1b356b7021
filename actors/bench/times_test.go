package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTimes(t *testing.T) {
	ts := times{50, 10, 40, 20, 30}
	for q, want := range map[float64]time.Duration{0: 10, 0.25: 20, 0.5: 30, 0.99: 40, 1: 50} {
		if got := ts.quantile(q); got != want {
			t.Errorf("quantile(%v) = %d; want %d", q, got, want)
		}
	}
	if ts[0] != 50 {
		t.Error("the median has sorted what it was asked of")
	}
	if got := (times{7}).median(); got != 7 {
		t.Errorf("median of one = %d; want 7", got)
	}
	// Round by round the ratios are 2, 2, 9: the medians alone would say 1.
	a, b := times{20, 60, 90}, times{10, 30, 10}
	if got := a.over(b); got != 2 {
		t.Errorf("over = %v; want 2", got)
	}
	if got := a[1:].over(b[1:]); got != 5.5 {
		t.Errorf("over two rounds = %v; want 5.5, between both", got)
	}
	if got := a.plus(b); !slices.Equal(got, times{30, 90, 100}) {
		t.Errorf("plus = %v", got)
	}
}

// A machine that is slower by another factor in every round changes no ratio.
func TestTimes_DriftCancels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratio := rapid.IntRange(1, 50).Draw(t, "ratio")
		var a, b times
		for _, drift := range rapid.SliceOfN(rapid.IntRange(1, 1000), 1, 20).Draw(t, "drift") {
			a, b = append(a, time.Duration(drift*ratio)), append(b, time.Duration(drift))
		}
		if got := a.over(b); got != float64(ratio) {
			t.Fatalf("over = %v; want %d", got, ratio)
		}
	})
}

// recorder are sides that write down that they ran.
func recorder(names string, log *[]byte) (sides []side) {
	for _, name := range []byte(names) {
		sides = append(sides, func() (time.Duration, error) {
			*log = append(*log, name)
			return time.Duration(name), nil
		})
	}
	return sides
}

func TestRounds(t *testing.T) {
	again := func(n int) func() bool { return func() bool { n--; return n >= 0 } }
	for _, c := range []struct {
		name, order string
		pace        Pace
		warm, want  int
	}{
		{"every side begins in turn, the warm ones do not count", "abcabc" + "abcbcacababc", Pace{Rounds: 4}, 2, 4},
		{"not more warm ones than rounds", "abc" + "abc", Pace{Rounds: 1}, 400, 1},
		{"as often as asked for", "abc" + "abcbca", Pace{Again: again(2)}, 1, 2},
		{"a few whatever they take", "abcbcacab", Pace{Time: time.Nanosecond}, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []byte
			tr := &trial{ctx: t.Context(), pace: c.pace}
			out, err := tr.rounds(c.warm, recorder("abc", &log)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.order, string(log)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			for i, ts := range out {
				if len(ts) != c.want || ts.median() != time.Duration('a'+i) {
					t.Errorf("side %d: times %v; want %d of its own", i, ts, c.want)
				}
			}
		})
	}
}

// Time bounds the rounds before those that count, too.
func TestRounds_WarmTime(t *testing.T) {
	var warm, counted int
	tr := &trial{ctx: t.Context(), pace: Pace{Time: 30 * time.Millisecond, Round: func(done int) {
		if done < 0 {
			warm++
		} else {
			counted++
		}
	}}}
	slow := func() (time.Duration, error) {
		return clock(func() error { <-time.After(4 * time.Millisecond); return nil })
	}
	if _, err := tr.rounds(1000, slow); err != nil {
		t.Fatal(err)
	}
	if warm > 4 || counted < fewest || counted > 10 {
		t.Errorf("%d rounds to warm up, %d counted; want a third of the time for the first", warm, counted)
	}
}

func TestRounds_Ends(t *testing.T) {
	broken := errors.New("broken")
	tr := &trial{ctx: t.Context()}
	if _, err := tr.rounds(0, func() (time.Duration, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("err = %v; want that of the side", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	tr = &trial{ctx: ctx}
	_, err := tr.rounds(0, func() (time.Duration, error) {
		if n++; n == 5 {
			cancel()
		}
		return 1, nil
	})
	if !errors.Is(err, context.Canceled) || n != 5 {
		t.Errorf("err = %v after %d rounds; want the context's after 5", err, n)
	}
}
