package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Row is one line of the result: a figure, or how it compares with another.
type Row struct {
	Work  string  `json:"work"`
	Who   string  `json:"who"`
	Value float64 `json:"value"`         // the median, in Unit
	P90   float64 `json:"p90,omitempty"` // of times only
	Unit  string  `json:"unit"`          // ms, events/s or bytes
	// Ratio compares the figure with that of Against, as Sense says; 0 if with none.
	Against string  `json:"against,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	Sense   string  `json:"sense,omitempty"`
	// Target is what Ratio should be, Holds whether it is; nil without a target.
	Target string `json:"target,omitempty"`
	Holds  *bool  `json:"holds,omitempty"`
}

// What a ratio says.
const (
	asLong = "times as long" // the figure by the other
	asMuch = "times as much"
	faster = "times faster" // the other's time by ours, or our rate by the other's
)

// What the issue asks for, beside the targets of works.
const (
	targetHistory = 5  // times AgentOS' events a second
	targetRow     = 90 // bytes that an event may take beside its payload
)

// atLeast sets a target that the ratio must reach; 0 is none.
func (r Row) atLeast(target float64) Row {
	if target > 0 {
		holds := r.Ratio >= target
		r.Target, r.Holds = fmt.Sprintf(">= %g", target), &holds
	}
	return r
}

// atMost sets a target that the ratio must not exceed.
func (r Row) atMost(target float64) Row {
	holds := r.Ratio <= target
	r.Target, r.Holds = fmt.Sprintf("<= %g", target), &holds
	return r
}

// rowsOf makes the rows of what was measured.
func rowsOf(r *results) []Row {
	var rows []Row
	for _, w := range works {
		rows = append(rows, r.timeRows(w.name, w.target)...)
	}
	rows = append(rows, r.timeRows(workCreate, 0)...)
	rows = append(rows, r.timeRows(workFirst, 0)...)
	for _, size := range pageSizes {
		rows = append(rows, r.rateRows(size)...)
	}
	return append(rows, r.byteRows()...)
}

// timeRows are a row for each contender that did the work, compared with direct
// stdio, and a row for each that ours is compared with.
func (r *results) timeRows(work string, target float64) (rows []Row) {
	base := r.took[cell{work, nameDirect}]
	r.each(work, func(who string, ts times) {
		row := Row{Work: work, Who: title(who), Value: ms(ts.median()), P90: ms(ts.quantile(0.9)), Unit: "ms"}
		if who != nameDirect && base != nil {
			row.Against, row.Ratio, row.Sense = title(nameDirect), over(ts, base), asLong
		}
		rows = append(rows, row)
	})
	return append(rows, r.versus(work, func(ours, theirs times, row Row) Row {
		row.Value, row.Unit, row.Ratio, row.Sense = ms(ours.median()), "ms", over(theirs, ours), faster
		if row.Against == title("agentos") {
			row = row.atLeast(target)
		}
		return row
	})...)
}

// rateRows are those of history in pages of that many events.
func (r *results) rateRows(size int64) (rows []Row) {
	work := workPage(size)
	rate := func(ts times) float64 { return float64(size) / ts.median().Seconds() }
	r.each(work, func(who string, ts times) {
		rows = append(rows, Row{Work: work, Who: title(who), Value: rate(ts), Unit: "events/s"})
	})
	return append(rows, r.versus(work, func(ours, theirs times, row Row) Row {
		row.Value, row.Unit, row.Ratio, row.Sense = rate(ours), "events/s", over(theirs, ours), faster
		return row.atLeast(targetHistory)
	})...)
}

// byteRows are those of the size of databases.
func (r *results) byteRows() (rows []Row) {
	mine, measured := r.growth[nameOurs]
	for _, who := range r.contenders {
		if size, ok := r.growth[who]; ok {
			rows = append(rows, Row{Work: workBytes, Who: title(who), Value: size, Unit: "bytes"})
		}
	}
	if !measured {
		return rows
	}
	row := Row{Work: workBytes, Who: title(nameOurs), Value: mine, Unit: "bytes"}
	for _, who := range r.contenders {
		if size, ok := r.growth[who]; ok && who != nameOurs {
			theirs := row
			theirs.Against, theirs.Ratio, theirs.Sense = title(who), mine/size, asMuch
			rows = append(rows, theirs)
		}
	}
	row.Against = fmt.Sprintf("a payload of %.0f + %d", r.payload, targetRow)
	row.Ratio, row.Sense = mine/(r.payload+targetRow), asMuch
	return append(rows, row.atMost(1))
}

// each calls f for the contenders that did the work, in order.
func (r *results) each(work string, f func(who string, ts times)) {
	for _, who := range r.contenders {
		if ts := r.took[cell{work, who}]; ts != nil {
			f(who, ts)
		}
	}
}

// versus makes a row of ours against each peer that did the work.
func (r *results) versus(work string, fill func(ours, theirs times, row Row) Row) (rows []Row) {
	ours := r.took[cell{work, nameOurs}]
	if ours == nil {
		return nil
	}
	r.each(work, func(who string, theirs times) {
		if who != nameDirect && who != nameOurs {
			rows = append(rows, fill(ours, theirs, Row{Work: work, Who: title(nameOurs), Against: title(who)}))
		}
	})
	return rows
}

// over is the ratio of two medians: what the table shows can be divided by hand.
func over(a, b times) float64 { return float64(a.median()) / float64(b.median()) }

// printJSON prints one object a line.
func printJSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // targets hold < and >
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// printTable prints the rows for people, and how many targets hold.
func printTable(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORK\tWHO\tMEDIAN\tP90\tCOMPARED\tTARGET")
	last, targets, hold := "", 0, 0
	for _, r := range rows {
		work := r.Work
		if work == last {
			work = ""
		}
		last = r.Work
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", work, r.Who, figure(r.Value, r.Unit), figure(r.P90, r.Unit), r.compared(), r.verdict())
		if r.Holds != nil {
			targets++
			if *r.Holds {
				hold++
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if targets == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d of %d targets hold\n", hold, targets)
	return err
}

// figure formats a value with as many digits as it has meaning.
func figure(v float64, unit string) string {
	switch {
	case v == 0:
		return ""
	case unit == "ms" && v < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	case unit == "ms":
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

func (r Row) compared() string {
	joint := " than "
	switch {
	case r.Against == "":
		return ""
	case slices.Contains([]string{asLong, asMuch}, r.Sense):
		joint = " as "
	}
	ratio := fmt.Sprintf("%.3g", r.Ratio)
	if r.Ratio >= 1000 { // where that would be 1e+03
		ratio = fmt.Sprintf("%.0f", r.Ratio)
	}
	return ratio + " " + r.Sense + joint + r.Against
}

func (r Row) verdict() string {
	switch {
	case r.Holds == nil:
		return ""
	case *r.Holds:
		return r.Target + ", holds"
	}
	return r.Target + ", MISSED"
}
