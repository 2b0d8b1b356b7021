package bench

import (
	"slices"
	"testing"
	"time"
)

// trial is one run of a benchmark's body: by go test -bench, or by the test that
// runs every body once.
type trial struct {
	testing.TB
	again  func() bool // whether there is another round
	report func(value float64, unit string)
	quick  bool // one round, of the least work that is still all of it
}

// measured runs body as a benchmark. The time of a round is that of all sides
// together and says nothing, so it is not shown.
func measured(b *testing.B, body func(*trial)) {
	body(&trial{TB: b, again: b.Loop, report: b.ReportMetric})
	b.ReportMetric(0, "ns/op")
}

// either returns n, or the number for a quick trial.
func (t *trial) either(n, quick int) int {
	if t.quick {
		return quick
	}
	return n
}

// side is one side of a comparison. It does one round of its work and returns
// how long the part that counts has taken.
type side func() time.Duration

// rounds measures the sides in turn and returns the times of each, round by
// round. warm rounds come first and are not counted: they grow the logs to their
// full size, so that what is measured overwrites and does not extend them.
func (t *trial) rounds(warm int, sides ...side) []times {
	for range warm {
		for _, s := range sides {
			s()
		}
	}
	out := make([]times, len(sides))
	for round := 0; t.again(); round++ {
		for i := range sides {
			i = (i + round) % len(sides)
			out[i] = append(out[i], sides[i]())
		}
	}
	return out
}

// clock returns how long f takes.
func clock(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// times are the durations of one side.
type times []time.Duration

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
	return ratios[len(ratios)/2]
}

// micros reports a duration in microseconds.
func (t *trial) micros(d time.Duration, what string) {
	t.report(float64(d.Nanoseconds())/1000, "µs-"+what)
}

// rate reports events a second.
func (t *trial) rate(events int, d time.Duration, what string) {
	t.report(float64(events)/d.Seconds(), "events/s-"+what)
}

func (t *trial) must(err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
