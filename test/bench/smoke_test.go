package bench

import (
	"fmt"
	"testing"
)

// TestBenchmarks runs the body of every benchmark for one round, so that none of
// them rots between two runs of make bench.
func TestBenchmarks(t *testing.T) {
	bodies := map[string]func(*trial){"commit": commit, "wake": wake}
	for _, size := range []int{8, 64, 512} {
		bodies[fmt.Sprint("group-", size)] = group(size)
	}
	for _, size := range []int{200, 1000} {
		bodies[fmt.Sprint("page-", size)] = page(size)
	}
	for _, c := range turns {
		bodies["turn-"+c.name] = turn(c.prompt)
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			rounds, ratio := 0, false
			body(&trial{
				TB: t, quick: true,
				again:  func() bool { rounds++; return rounds == 1 },
				report: func(value float64, unit string) { ratio = ratio || unit[:2] == "x-" && value > 0 },
			})
			if !ratio {
				t.Error("no ratio was reported")
			}
		})
	}
}
