package bench

import (
	"slices"
	"time"
)

// Pace says how long a measure goes on. The zero value means until its context
// ends.
type Pace struct {
	// Rounds is how many rounds count; 0 means as many as the rest says. Never
	// more than that many are run before them, which do not count.
	Rounds int
	// Time is for all rounds together, those that do not count included; 0 means
	// no bound. A few rounds are run however long they take.
	Time time.Duration
	// Again, if not nil, is asked before every round that counts. There is one at
	// least, so the first answer MUST be true.
	Again func() bool
	// Round, if not nil, hears before every round how many of those that count
	// are done; -1 is one that does not count.
	Round func(done int)
}

// fewest is how many rounds are run however long they take: a median needs some.
const fewest = 3

// warmShare is the part of the time that goes into rounds that do not count.
const warmShare = 3

// side is one side of a comparison. It does one round of its work and returns how
// long the part that counts has taken.
type side func() (time.Duration, error)

// rounds measures the sides in turn and returns the times of each, round by
// round. warm is how many rounds come before those that count.
func (t *trial) rounds(warm int, sides ...side) ([]times, error) {
	p, begin := t.pace, time.Now()
	spent := func(share time.Duration) bool { return p.Time > 0 && time.Since(begin) > share }
	if p.Rounds > 0 {
		warm = min(warm, p.Rounds)
	}
	for n := 0; n < warm && !spent(p.Time/warmShare); n++ {
		if err := t.round(-1, 0, sides, nil); err != nil {
			return nil, err
		}
	}
	out := make([]times, len(sides))
	for n := 0; ; n++ {
		switch {
		case p.Again != nil && !p.Again(),
			p.Rounds > 0 && n >= p.Rounds,
			n >= fewest && spent(p.Time):
			return out, nil
		}
		if err := t.round(n, n, sides, out); err != nil {
			return nil, err
		}
	}
}

// round runs every side once, the one numbered first at the beginning.
func (t *trial) round(done, first int, sides []side, out []times) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if t.pace.Round != nil {
		t.pace.Round(done)
	}
	for i := range sides {
		i = (i + first) % len(sides)
		took, err := sides[i]()
		if err != nil {
			return err
		}
		if out != nil {
			out[i] = append(out[i], took)
		}
	}
	return nil
}

// clock returns how long f takes.
func clock(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// times are the durations of one side, one a round. There is at least one.
type times []time.Duration

// quantile returns the time that a share of q, 0 to 1, does not exceed.
func (ts times) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(ts))
	return sorted[int(q*float64(len(sorted)-1))]
}

func (ts times) median() time.Duration { return ts.quantile(0.5) }

// plus adds the times of two sides round by round.
func (ts times) plus(other times) times {
	sum := make(times, len(ts))
	for i := range ts {
		sum[i] = ts[i] + other[i]
	}
	return sum
}

// over returns the median of the ratios of two sides, round by round. Rounds are
// compared with themselves only, so drift of the machine cancels.
func (ts times) over(other times) float64 {
	ratios := make([]float64, len(ts))
	for i := range ts {
		ratios[i] = float64(ts[i]) / float64(other[i])
	}
	slices.Sort(ratios)
	mid := len(ratios) / 2
	if len(ratios)%2 == 0 {
		return (ratios[mid-1] + ratios[mid]) / 2
	}
	return ratios[mid]
}

// micros is a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// rate is events a second.
func rate(events int, d time.Duration) float64 { return float64(events) / d.Seconds() }
