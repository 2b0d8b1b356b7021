package sessions_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestLP03_ALongUpdateCostsLinear: an update ten times as long, in one piece or in a
// thousand, costs about ten times as much from the wire to the batch.
func TestLP03_ALongUpdateCostsLinear(t *testing.T) {
	for name, chunks := range map[string]int{"in one piece": 1, "in a thousand": 1000} {
		t.Run(name, func(t *testing.T) {
			cost := func(size int) float64 {
				line := thirtyBytes(0)
				line = strings.Replace(line, fmt.Sprintf("%030d", 0), strings.Repeat("x", size/chunks), 1)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, text := stream(t, chunks, func(int) string { return line })
				runtime.ReadMemStats(&after)
				if want := size / chunks * chunks; len(text) != want {
					t.Errorf("%d bytes are stored; want %d", len(text), want)
				}
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			const short, long = 32 << 20 / 10, 32 << 20
			if once, ten := cost(short), cost(long); ten > 15*once {
				t.Errorf("%d bytes cost %.0f, %d cost %.0f; want about ten times as much", short, once, long, ten)
			}
		})
	}
}
