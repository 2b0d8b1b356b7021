package kernel

import "testing"

func TestBackoff_GrowsWithACap(t *testing.T) {
	for n := 1; n < 100; n++ {
		full := min(maxDelay, firstDelay<<min(n-1, 20))
		for range 20 {
			if d := delay(n); d < full/2 || d > full {
				t.Errorf("delay(%d) = %v; want %v to %v", n, d, full/2, full)
			}
		}
	}
}
