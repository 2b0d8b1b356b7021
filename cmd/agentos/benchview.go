package main

import (
	"fmt"
	"slices"
	"time"

	"agentos/actors/bench"
	"agentos/cmd/agentos/transcript"
)

// benchView shows how far the measuring is, and its rows.
type benchView struct {
	app   *app
	json  bool
	leave func() // ends the measuring; may be nil
	about string // facts of the machine
	rows  []bench.Row

	step  bench.Step // the last one
	shown time.Time  // when the progress was last shown
}

func (v *benchView) facts(f bench.Facts) {
	v.about = f.String()
	if v.json {
		v.app.note("bench: " + v.about)
	}
}

// eraseLine takes away the line that the cursor stands in. Progress leaves it at the
// beginning, so that whatever else is printed begins a line.
const eraseLine = "\r\x1b[K"

// progress says where it is: often where the line can be erased again.
func (v *benchView) progress(s bench.Step) {
	pause, erases := 5*time.Second, v.app.notes.Erases
	if erases {
		pause = 100 * time.Millisecond
	}
	if s.Name == v.step.Name && time.Since(v.shown) < pause {
		return
	}
	v.step, v.shown = s, time.Now()
	text := fmt.Sprintf("bench: %d/%d %s", s.Number, s.Of, s.Name)
	switch {
	case s.Round >= 0:
		text += fmt.Sprintf(", round %d", s.Round+1)
	case erases:
		text += ", preparing"
	}
	if erases {
		fmt.Fprint(v.app.err, eraseLine+v.app.notes.Dim(text)+"\r")
		return
	}
	fmt.Fprintln(v.app.err, v.app.notes.Dim(text))
}

// clear takes the progress away.
func (v *benchView) clear() {
	if v.app.notes.Erases {
		fmt.Fprint(v.app.err, eraseLine)
	}
}

func (v *benchView) row(r bench.Row) {
	v.rows = append(v.rows, r)
	if !v.json {
		return
	}
	v.clear()
	if err := r.WriteJSON(v.app.out); err != nil {
		v.app.note(err.Error())
	}
	if v.app.out.gone() && v.leave != nil {
		v.leave()
	}
}

// end shows the table of what was measured.
func (v *benchView) end() {
	v.clear()
	if v.json || len(v.rows) == 0 {
		return
	}
	style := v.app.style
	t := table{head: []string{"WORK", "OURS", "RATIO", "TARGET", "HOLDS", "AGAINST"}}
	targets, hold := 0, 0
	for _, r := range v.rows {
		target := r.Target.String()
		if r.Unmeasured != "" {
			t.add(cell{text: r.Work}, cell{text: "-"}, cell{text: "-"}, cell{text: target}, cell{"-", style.Pending},
				cell{text: "not measured: " + transcript.Line(r.Unmeasured, 200)})
			continue
		}
		holds := cell{"no", style.Bad}
		if r.Holds {
			holds = cell{"yes", style.Good}
			hold++
		}
		targets++
		t.add(cell{text: r.Work}, cell{text: r.Figure()}, cell{text: fmt.Sprintf("%.3f", r.Ratio)}, cell{text: target}, holds, cell{text: r.Against})
	}
	t.print(v.app.out, style)
	fmt.Fprintf(v.app.out, "\n%d of %d targets hold", hold, targets)
	if missing := len(v.rows) - targets; missing > 0 {
		fmt.Fprintf(v.app.out, ", %d rows were not measured", missing)
	}
	fmt.Fprintf(v.app.out, "; %s\n", v.about)
}

// allHold reports whether every row was measured and holds.
func (v *benchView) allHold() bool {
	return !slices.ContainsFunc(v.rows, func(r bench.Row) bool { return !r.Holds || r.Unmeasured != "" })
}
