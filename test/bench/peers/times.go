package main

import (
	"slices"
	"time"
)

// times are the durations of one contender's work, one a round.
type times []time.Duration

// quantile returns the time that a share of q, 0 to 1, does not exceed. There must
// be one.
func (ts times) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(ts))
	return sorted[int(q*float64(len(sorted)-1))]
}

func (ts times) median() time.Duration { return ts.quantile(0.5) }

// ms is a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
