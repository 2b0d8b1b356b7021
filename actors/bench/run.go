package bench

import (
	"context"
	"slices"
	"time"
)

// Plan is which rows are measured, and for how long.
type Plan struct {
	Only   []string // names as Matches takes them; nil means all
	Rounds int      // exactly that many that count; 0 means as many as there is time for
	Quick  bool     // everything within QuickLimit
	// Progress, if not nil, hears where Run is. It must not block.
	Progress func(Step)
}

// QuickLimit is what a quick plan keeps, the making of databases included.
const QuickLimit = 45 * time.Second

// Bounds of time. A quick plan ends its rounds well before its limit, because
// what is under way has to end too.
const (
	usualTime   = 8 * time.Second // of the rounds of one measure
	quickTime   = 3 * time.Second
	quickRounds = QuickLimit - 10*time.Second // after the start the last rounds begin
	quickEnd    = QuickLimit - 5*time.Second  // after the start everything is cut off
)

// Step is where Run is.
type Step struct {
	Number, Of int    // of the measure, from 1
	Name       string // of the measure
	// Round is how many rounds that count are done; -1 while it prepares and warms
	// up.
	Round int
}

// Run measures what the plan says and shows each row to emit as soon as it is
// there. It returns the context's error if that ended, else nil: a row that could
// not be measured says so.
func Run(ctx context.Context, c Config, p Plan, emit func(Row)) error {
	begin, limited := time.Now(), ctx
	if p.Quick {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, begin.Add(quickEnd))
		defer cancel()
	}
	chosen := p.measures()
	for i, m := range chosen {
		step := Step{Number: i + 1, Of: len(chosen), Name: m.Name, Round: -1}
		progress := func(done int) {
			if step.Round = done; p.Progress != nil {
				p.Progress(step)
			}
		}
		progress(-1)
		for _, row := range m.Run(limited, c, Pace{Rounds: p.Rounds, Time: p.time(begin, len(chosen)-i), Round: progress}) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if p.wants(row.Work) {
				emit(row)
			}
		}
	}
	return ctx.Err()
}

// time is what the rounds of the next measure may take, if that many are left.
func (p Plan) time(begin time.Time, left int) time.Duration {
	switch {
	case p.Quick:
		rest := time.Until(begin.Add(quickRounds))
		return max(min(quickTime, rest/time.Duration(left)), time.Millisecond)
	case p.Rounds > 0:
		return 0
	}
	return usualTime
}

// wants reports whether the row called name is part of the plan.
func (p Plan) wants(name string) bool {
	return p.Only == nil || slices.ContainsFunc(p.Only, func(wanted string) bool { return Matches(name, wanted) })
}

// measures are those with a row that is wanted.
func (p Plan) measures() (chosen []Measure) {
	for _, m := range Measures {
		if slices.ContainsFunc(m.Works, func(w Work) bool { return p.wants(w.Name) }) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}
