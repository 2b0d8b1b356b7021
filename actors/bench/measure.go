package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Work is a row before it is measured.
type Work struct {
	Name   string // as in Row
	Unit   string
	Target Target
	About  string // what the row means, in a sentence or two
}

// Measure is what finds the figures of one or more rows.
type Measure struct {
	Name  string // what is shown while it runs; names of works begin with it
	Works []Work
	run   func(*trial) ([]figure, error) // one for each of Works, in order
}

// figure is what a row is made of beside its Work.
type figure struct {
	value, ratio float64
	against      string
}

// Measures are all, in the order of their rows.
var Measures = []Measure{
	commitMeasure, groupMeasure(8), groupMeasure(64), groupMeasure(512),
	turnMeasure("chunk", "[[chunks 1]]", 2), turnMeasure("100-chunks", "[[chunks 100]]", 0), turnMeasure("20-calls", "[[calls 20]]", 0),
	pageMeasure(200), pageMeasure(1000),
	bytesMeasure,
	wakeMeasure,
	deleteMeasure,
}

// Names returns the names of all rows, in order.
func Names() (names []string) {
	for _, m := range Measures {
		for _, w := range m.Works {
			names = append(names, w.Name)
		}
	}
	return names
}

// Matches reports whether the row called name is meant by wanted: its name, or
// what it begins with up to a dash. "group" means group-8, group-64 and group-512.
func Matches(name, wanted string) bool {
	return name == wanted || strings.HasPrefix(name, wanted+"-")
}

// Run measures, and returns a row for each of Works in order. What went wrong
// stands in the rows. A context that ends leaves them unmeasured.
func (m Measure) Run(ctx context.Context, c Config, p Pace) []Row {
	figures, err := m.figures(ctx, c, p)
	rows := make([]Row, len(m.Works))
	for i, w := range m.Works {
		rows[i] = Row{Work: w.Name, Unit: w.Unit, Target: w.Target}
		if err != nil {
			rows[i].Unmeasured = reason(err)
			continue
		}
		f := figures[i]
		rows[i].Value, rows[i].Against, rows[i].Ratio, rows[i].Holds = f.value, f.against, f.ratio, w.Target.Holds(f.ratio)
	}
	return rows
}

// outOfTime is what is said of what the deadline cut off.
const outOfTime = "the time was up"

func reason(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return outOfTime
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return err.Error()
}

func (m Measure) figures(ctx context.Context, c Config, p Pace) (figures []figure, err error) {
	dir, err := os.MkdirTemp(c.Dir, m.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	t := &trial{ctx: ctx, config: c, pace: p, dir: dir}
	t.atEnd(func() error { return os.RemoveAll(dir) })
	defer func() { err = errors.Join(err, t.end()) }()
	return m.run(t)
}

// trial is one run of a measure.
type trial struct {
	ctx    context.Context
	config Config
	pace   Pace
	dir    string // its own
	ends   []func() error
}

// atEnd has f called when the trial ends, before what came earlier.
func (t *trial) atEnd(f func() error) { t.ends = append(t.ends, f) }

func (t *trial) end() error {
	var errs []error
	for _, f := range slices.Backward(t.ends) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// mkdir makes a directory of the trial's.
func (t *trial) mkdir() (string, error) {
	dir, err := os.MkdirTemp(t.dir, "")
	if err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	return dir, nil
}
