package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Row is one line of the result: a figure of ours, what it is compared with, and
// whether the comparison is what it should be.
type Row struct {
	Work  string  // its name: lower case letters, digits and dashes
	Value float64 // ours, the median, in Unit
	Unit  string  // µs, events/s, bytes, or any other
	// Against says what Ratio compares Value with, and the figure of that where it
	// has one. What Ratio means is Target's: with an upper bound it is ours by the
	// other, and small is good; with a lower one it is a rate of ours by theirs.
	Against string
	Ratio   float64
	Target  Target
	Holds   bool // Ratio is what Target says
	// Unmeasured is why there is no figure; "" means there is one. Value, Ratio and
	// Holds say nothing then.
	Unmeasured string
}

// Target is what a ratio should be: at most AtMost or at least AtLeast. The other
// one is 0; if both are there is no target.
type Target struct{ AtMost, AtLeast float64 }

// String returns "<= 1.25", ">= 0.8", or "" for no target.
func (t Target) String() string {
	switch {
	case t.AtMost > 0:
		return fmt.Sprintf("<= %g", t.AtMost)
	case t.AtLeast > 0:
		return fmt.Sprintf(">= %g", t.AtLeast)
	}
	return ""
}

// Holds reports whether ratio is what it should be. NaN never is.
func (t Target) Holds(ratio float64) bool {
	switch {
	case t.AtMost > 0:
		return ratio <= t.AtMost
	case t.AtLeast > 0:
		return ratio >= t.AtLeast
	}
	return !math.IsNaN(ratio)
}

// MarshalJSON returns {"work","value","unit","against","ratio","target","holds"}.
// What was not measured has null for value, ratio and holds, and "unmeasured" with
// the reason.
func (r Row) MarshalJSON() ([]byte, error) {
	line := struct {
		Work       string   `json:"work"`
		Value      *float64 `json:"value"`
		Unit       string   `json:"unit"`
		Against    string   `json:"against"`
		Ratio      *float64 `json:"ratio"`
		Target     string   `json:"target"`
		Holds      *bool    `json:"holds"`
		Unmeasured string   `json:"unmeasured,omitempty"`
	}{Work: r.Work, Unit: r.Unit, Against: r.Against, Target: r.Target.String(), Unmeasured: r.Unmeasured}
	if r.Unmeasured == "" {
		value, ratio := rounded(r.Value), rounded(r.Ratio)
		line.Value, line.Ratio, line.Holds = &value, &ratio, &r.Holds
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // targets hold < and >
	if err := enc.Encode(line); err != nil {
		return nil, fmt.Errorf("write row %s: %w", r.Work, err)
	}
	return []byte(text.String()), nil
}

// rounded leaves the digits that a measured figure can have.
func rounded(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x // the encoder refuses what is no number
	}
	unit := math.Pow(10, 5-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// WriteJSON writes the row as a line of JSON.
func (r Row) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// String returns the row as a line for people.
func (r Row) String() string {
	if r.Unmeasured != "" {
		return r.Work + ": not measured: " + r.Unmeasured
	}
	text := fmt.Sprintf("%s: %s, %.3f of %s", r.Work, r.Figure(), r.Ratio, r.Against)
	if r.Target == (Target{}) {
		return text
	}
	verdict := "missed"
	if r.Holds {
		verdict = "holds"
	}
	return fmt.Sprintf("%s (%s, %s)", text, r.Target, verdict)
}

// Figure returns Value and Unit for people, "" if it was not measured.
func (r Row) Figure() string {
	if r.Unmeasured != "" {
		return ""
	}
	return Digits(r.Value) + " " + r.Unit
}

// Digits formats a figure with three digits that count; more would be noise.
func Digits(x float64) string {
	switch size := math.Abs(x); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
