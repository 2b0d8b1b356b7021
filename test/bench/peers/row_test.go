package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimes_Quantile(t *testing.T) {
	ts := times{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.9: 4, 1: 5} {
		if got := ts.quantile(q); got != want {
			t.Errorf("quantile(%v) = %v; want %v", q, got, want)
		}
	}
	if !slices.Equal(ts, times{5, 1, 4, 2, 3}) {
		t.Errorf("quantile changed the times to %v", ts)
	}
	if got := (times{4, 2}).median(); got != 2 {
		t.Errorf("median of two = %v; want the smaller", got)
	}
}

// TestOrder holds that nobody always follows the same one.
func TestOrder(t *testing.T) {
	const n = 4
	first, before := map[int]int{}, map[[2]int]int{}
	for round := range 2 * n {
		list := order(n, round)
		if sorted := slices.Sorted(slices.Values(list)); !slices.Equal(sorted, []int{0, 1, 2, 3}) {
			t.Fatalf("order(%d, %d) = %v; want each once", n, round, list)
		}
		first[list[0]]++
		for i := range list[1:] {
			before[[2]int{list[i], list[i+1]}]++
		}
	}
	for i := range n {
		if first[i] != 2 {
			t.Errorf("%d is first in %d of %d rounds; want 2", i, first[i], 2*n)
		}
		if a, b := before[[2]int{i, (i + 1) % n}], before[[2]int{(i + 1) % n, i}]; a != b || a == 0 {
			t.Errorf("%d comes %d times before its neighbour and %d times after; want as often", i, a, b)
		}
	}
}

// measured is a whole result with round figures.
func measured() *results {
	const msec = time.Millisecond
	r := &results{
		contenders: []string{"direct", "ours", "agentos", "sandbox-agent"},
		took:       map[cell]times{},
		growth:     map[string]float64{"ours": 150, "agentos": 300}, payload: 50,
	}
	set := func(work string, direct, ours, agentos, sandbox time.Duration) {
		for i, d := range []time.Duration{direct, ours, agentos, sandbox} {
			if d > 0 {
				r.took[cell{work, r.contenders[i]}] = times{d, d, 2 * d}
			}
		}
	}
	set("one-chunk prompt", msec/5, msec, 60*msec, 2*msec)
	set("100 chunks", msec/20, 2*msec, 70*msec, 8*msec)
	set(workCreate, 0, 8*msec, 24*msec, 0)
	set(workPage(200), 0, msec, 4*msec, 0)
	return r
}

func TestTable(t *testing.T) {
	var out strings.Builder
	if err := printTable(&out, rowsOf(measured())); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"WORK WHO MEDIAN P90 COMPARED TARGET",
		"one-chunk prompt direct stdio 0.20 ms 0.20 ms",
		"ours 1.00 ms 1.00 ms 5 times as long as direct stdio",
		"AgentOS 0.2.21 60.0 ms 60.0 ms 300 times as long as direct stdio",
		"sandbox-agent 0.4.2 2.00 ms 2.00 ms 10 times as long as direct stdio",
		"ours 1.00 ms 60 times faster than AgentOS 0.2.21 >= 50, holds",
		"ours 1.00 ms 2 times faster than sandbox-agent 0.4.2",
		"100 chunks direct stdio 0.05 ms 0.05 ms",
		"ours 2.00 ms 2.00 ms 40 times as long as direct stdio",
		"AgentOS 0.2.21 70.0 ms 70.0 ms 1400 times as long as direct stdio",
		"sandbox-agent 0.4.2 8.00 ms 8.00 ms 160 times as long as direct stdio",
		"ours 2.00 ms 35 times faster than AgentOS 0.2.21",
		"ours 2.00 ms 4 times faster than sandbox-agent 0.4.2",
		"new VM ours 8.00 ms 8.00 ms",
		"AgentOS 0.2.21 24.0 ms 24.0 ms",
		"ours 8.00 ms 3 times faster than AgentOS 0.2.21",
		"history in pages of 200 ours 200000 events/s",
		"AgentOS 0.2.21 50000 events/s",
		"ours 200000 events/s 4 times faster than AgentOS 0.2.21 >= 5, MISSED",
		"database bytes per event ours 150 bytes",
		"AgentOS 0.2.21 300 bytes",
		"ours 150 bytes 0.5 times as much as AgentOS 0.2.21",
		"ours 150 bytes 1.07 times as much as a payload of 50 + 90 <= 1, MISSED",
		"1 of 3 targets hold",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestJSON_OneObjectALine(t *testing.T) {
	var out bytes.Buffer
	rows := slices.DeleteFunc(rowsOf(measured()), func(r Row) bool { return r.Target == "" || r.Work == workBytes })
	if err := printJSON(&out, append(rows, Row{Work: "w", Who: "o", Value: 1, Unit: "ms"})); err != nil {
		t.Fatal(err)
	}
	want := `{"work":"one-chunk prompt","who":"ours","value":1,"unit":"ms","against":"AgentOS 0.2.21","ratio":60,"sense":"times faster","target":">= 50","holds":true}
{"work":"history in pages of 200","who":"ours","value":200000,"unit":"events/s","against":"AgentOS 0.2.21","ratio":4,"sense":"times faster","target":">= 5","holds":false}
{"work":"w","who":"o","value":1,"unit":"ms"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--rounds", "3", "--json", "--only", "ours,agentos"}, io.Discard)
	if err != nil || o.plan.rounds != 3 || o.plan.fresh != 3 || !o.json || !slices.Equal(o.only, []string{"ours", "agentos"}) {
		t.Errorf("parse = %+v, %v", o, err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--rounds", "0"}, "--rounds is at least 1"},
		{[]string{"--only", "ours,rivet"}, `no contender is called "rivet"; there are direct, ours, agentos, sandbox-agent`},
		{[]string{"x"}, `unexpected argument "x"`},
	} {
		var errs strings.Builder
		if code := run(c.args, io.Discard, &errs); code != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("run(%q) = %d, %q; want 2, %q", c.args, code, errs.String(), c.want)
		}
	}
	if code := run([]string{"--help"}, io.Discard, io.Discard); code != 0 {
		t.Errorf("run(--help) = %d; want 0", code)
	}
}
