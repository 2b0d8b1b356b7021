package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

func TestRow_JSON(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want string
	}{{
		Row{Work: "commit", Value: 203.31234, Unit: "µs", Against: "bare driver, 167 µs", Ratio: 1.2174567, Target: Target{AtMost: 1.25}, Holds: true},
		`{"work":"commit","value":203.31,"unit":"µs","against":"bare driver, 167 µs","ratio":1.2175,"target":"<= 1.25","holds":true}`,
	}, {
		Row{Work: "group-8", Value: 123456.7, Unit: "events/s", Against: "bare", Ratio: 0.5, Target: Target{AtLeast: 0.8}},
		`{"work":"group-8","value":123460,"unit":"events/s","against":"bare","ratio":0.5,"target":">= 0.8","holds":false}`,
	}, {
		Row{Work: "wake", Unit: "µs", Target: Target{AtMost: 2}, Unmeasured: "the time was up"},
		`{"work":"wake","value":null,"unit":"µs","against":"","ratio":null,"target":"<= 2","holds":null,"unmeasured":"the time was up"}`,
	}} {
		var out bytes.Buffer
		if err := c.row.WriteJSON(&out); err != nil || out.String() != c.want+"\n" {
			t.Errorf("WriteJSON = %s, %v; want %s", out.String(), err, c.want)
		}
		var back map[string]any
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Errorf("%s: %v", out.String(), err)
		}
	}
	if err := (Row{Work: "x", Ratio: math.NaN()}).WriteJSON(&bytes.Buffer{}); err == nil {
		t.Error("a ratio that is no number was written")
	}
}

func TestRow_String(t *testing.T) {
	for want, row := range map[string]Row{
		"commit: 203 µs, 1.217 of bare driver (<= 1.25, holds)":  {Work: "commit", Value: 203.3, Unit: "µs", Against: "bare driver", Ratio: 1.217, Target: Target{AtMost: 1.25}, Holds: true},
		"group-8: 12.3 events/s, 0.493 of bare (>= 0.8, missed)": {Work: "group-8", Value: 12.345, Unit: "events/s", Against: "bare", Ratio: 0.493, Target: Target{AtLeast: 0.8}},
		"x: 1.00 ms, 3.000 of y":                                 {Work: "x", Value: 1, Unit: "ms", Against: "y", Ratio: 3},
		"wake: not measured: no such file":                       {Work: "wake", Unit: "µs", Unmeasured: "no such file"},
	} {
		if got := row.String(); got != want {
			t.Errorf("String = %q; want %q", got, want)
		}
	}
}

func TestTarget_Holds(t *testing.T) {
	for _, c := range []struct {
		target Target
		ratio  float64
		want   bool
	}{
		{Target{AtMost: 1.25}, 1.25, true}, {Target{AtMost: 1.25}, 1.2501, false}, {Target{AtMost: 1.25}, 0, true},
		{Target{AtLeast: 0.8}, 0.8, true}, {Target{AtLeast: 0.8}, 0.7999, false}, {Target{}, 7, true},
		{Target{AtMost: 1}, math.NaN(), false}, {Target{AtLeast: 1}, math.NaN(), false}, {Target{}, math.NaN(), false},
	} {
		if got := c.target.Holds(c.ratio); got != c.want {
			t.Errorf("%v.Holds(%v) = %v; want %v", c.target, c.ratio, got, c.want)
		}
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 0.4933: "0.49", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100", 25332.4: "25332", -12.34: "-12.3"} {
		if got := Digits(x); got != want {
			t.Errorf("Digits(%v) = %q; want %q", x, got, want)
		}
	}
}
