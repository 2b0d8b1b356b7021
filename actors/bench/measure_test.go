package bench

import (
	"bufio"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
)

func TestMeasures_Names(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, m := range Measures {
		if len(m.Works) == 0 {
			t.Errorf("%s has no rows", m.Name)
		}
		for _, w := range m.Works {
			if !name.MatchString(w.Name) || seen[w.Name] || !Matches(w.Name, m.Name) {
				t.Errorf("name %q of %s: want another one", w.Name, m.Name)
			}
			seen[w.Name] = true
			if w.Unit == "" || w.About == "" || w.Target == (Target{}) {
				t.Errorf("%s: %#v; want a unit, a target and an explanation", w.Name, w)
			}
		}
	}
	if len(Names()) != len(seen) {
		t.Errorf("Names = %q", Names())
	}
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		only []string
		want string
	}{
		{nil, strings.Join(Names(), " ")},
		{[]string{"commit"}, "commit"},
		{[]string{"group", "wake-growth"}, "group-8 group-64 group-512 wake-growth"},
		{[]string{"wake"}, "wake wake-growth"},
		{[]string{"com", "group-", "nothing"}, ""},
	} {
		p := Plan{Only: c.only}
		var got []string
		for _, m := range p.measures() {
			for _, w := range m.Works {
				if p.wants(w.Name) {
					got = append(got, w.Name)
				}
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.only, diff)
		}
	}
}

// However long the measures before took, a quick plan ends in time.
func TestPlan_Time(t *testing.T) {
	p := Plan{Quick: true}
	if got := p.time(time.Now(), 3); got != quickTime {
		t.Errorf("at first = %v; want %v", got, quickTime)
	}
	if got := p.time(time.Now().Add(-quickRounds+4*time.Second), 4); got > time.Second || got < 900*time.Millisecond {
		t.Errorf("with 4 s for 4 measures = %v; want 1 s", got)
	}
	if got := p.time(time.Now().Add(-QuickLimit), 2); got != time.Millisecond {
		t.Errorf("too late = %v; want as good as nothing", got)
	}
	if got := (Plan{Rounds: 7}).time(time.Now(), 2); got != 0 {
		t.Errorf("with a number of rounds = %v; want no bound", got)
	}
	if quickRounds >= quickEnd || quickEnd >= QuickLimit {
		t.Error("the bounds are not in order")
	}
}

// fake is a measure of two rows.
func fake(run func(*trial) ([]figure, error)) Measure {
	return Measure{Name: "fake", run: run, Works: []Work{
		{Name: "fake", Unit: "µs", Target: Target{AtMost: 1}}, {Name: "fake-2", Unit: "bytes", Target: Target{AtLeast: 1}},
	}}
}

func TestMeasure_Run(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	var order []string
	ok := fake(func(t *trial) ([]figure, error) {
		if _, err := os.Stat(t.dir); err != nil {
			return nil, err
		}
		t.atEnd(func() error { order = append(order, "first"); return nil })
		t.atEnd(func() error { order = append(order, "second"); return nil })
		return []figure{{value: 3, ratio: 1, against: "a"}, {value: 4, ratio: 0.5, against: "b"}}, nil
	})
	want := []Row{
		{Work: "fake", Value: 3, Unit: "µs", Against: "a", Ratio: 1, Target: Target{AtMost: 1}, Holds: true},
		{Work: "fake-2", Value: 4, Unit: "bytes", Against: "b", Ratio: 0.5, Target: Target{AtLeast: 1}},
	}
	if diff := cmp.Diff(want, ok.Run(t.Context(), c, Pace{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if !slices.Equal(order, []string{"second", "first"}) {
		t.Errorf("ended %q; want the last one first", order)
	}
	if left, err := os.ReadDir(c.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What cannot be measured says so, in each of its rows.
func TestMeasure_RunSaysWhy(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		config Config
		run    func(*trial) ([]figure, error)
		want   string
	}{
		"broken": {t.Context(), c, func(*trial) ([]figure, error) { return nil, errors.New("no disk") }, "no disk"},
		"broken end": {t.Context(), c, func(t *trial) ([]figure, error) {
			t.atEnd(func() error { return errors.New("stuck") })
			return make([]figure, 2), nil
		}, "stuck"},
		"out of time":  {late, c, func(t *trial) ([]figure, error) { _, err := t.rounds(1); return nil, err }, "the time was up"},
		"no directory": {t.Context(), Config{Dir: "/nowhere/at/all"}, nil, "make directory: "},
	} {
		t.Run(name, func(t *testing.T) {
			rows := fake(c.run).Run(c.ctx, c.config, Pace{})
			if len(rows) != 2 {
				t.Fatalf("%d rows; want 2", len(rows))
			}
			for _, r := range rows {
				if !strings.HasPrefix(r.Unmeasured, c.want) || r.Holds || r.Target == (Target{}) {
					t.Errorf("row = %#v; want %q and the target", r, c.want)
				}
			}
		})
	}
}

func TestRun_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := Plan{Progress: func(s Step) {
		if s.Number == 2 {
			cancel()
		}
	}}
	all := Measures
	defer func() { Measures = all }()
	Measures = []Measure{
		fake(func(*trial) ([]figure, error) { return make([]figure, 2), nil }),
		fake(func(t *trial) ([]figure, error) { return nil, t.ctx.Err() }),
	}
	emitted := 0
	err := Run(ctx, Config{Dir: t.TempDir()}, plan, func(Row) { emitted++ })
	if !errors.Is(err, context.Canceled) || emitted != 2 {
		t.Errorf("Run = %v with %d rows; want the context's error and the 2 rows from before", err, emitted)
	}
}

func TestMerged(t *testing.T) {
	three := []shape{{accepts: true, events: []string{"a"}}, {events: []string{"b", "c"}}, {events: []string{"d"}, result: "r"}}
	for atMost, want := range map[int][]shape{
		0: three, 3: three, 4: three,
		2: {{accepts: true, events: []string{"a"}}, {events: []string{"b", "c", "d"}, result: "r"}},
		1: {{accepts: true, events: []string{"a", "b", "c", "d"}, result: "r"}},
	} {
		got := merged(three, atMost)
		if !slices.EqualFunc(got, want, func(a, b shape) bool {
			return a.accepts == b.accepts && a.result == b.result && slices.Equal(a.events, b.events)
		}) {
			t.Errorf("merged(%d) = %v; want %v", atMost, got, want)
		}
	}
}

func TestColumn(t *testing.T) {
	rows := [][]persistence.Value{{"x", "y", "z"}, {"1", "2", "3"}}
	insert := persistence.Stmt{SQL: "INSERT INTO t (\n\ta, b,\n\tc\n) VALUES (?, ?, ?)\nON CONFLICT DO NOTHING", Rows: rows}
	update := persistence.Stmt{SQL: "UPDATE t SET\n\ta = ?, b = ?\nWHERE c = ? RETURNING 1", Rows: rows}
	for _, s := range []persistence.Stmt{insert, update} {
		if got, err := column(s, "b"); err != nil || !slices.Equal(got, []string{"y", "2"}) {
			t.Errorf("column = %q, %v", got, err)
		}
		if got, err := column(s, "d"); err == nil {
			t.Errorf("column that is not there = %q", got)
		}
	}
	if got, err := column(persistence.Stmt{SQL: insert.SQL, Rows: [][]persistence.Value{{"x", nil, "z"}}}, "b"); err == nil {
		t.Errorf("column without text = %q", got)
	}
}

func TestMountedOn(t *testing.T) {
	const lines = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:20 / /home rw - btrfs /dev/vdb rw
24 22 0:21 / /home/a\040b rw - tmpfs tmpfs rw
25 22 0:22 / /tmp rw - tmpfs none rw
26 22 0:23 / /tmp rw shared:9 master:1 - xfs /dev/vdc rw
nonsense
`
	for dir, want := range map[string]string{
		"/": "ext4", "/homes": "ext4", "/home": "btrfs", "/home/a": "btrfs", "/home/a b/c": "tmpfs", "/tmp/x": "xfs",
	} {
		if got, err := mountedOn(bufio.NewScanner(strings.NewReader(lines)), dir); got != want || err != nil {
			t.Errorf("%s is on %q, %v; want %q", dir, got, err, want)
		}
	}
}

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	f, err := Inspect(t.Context(), dir)
	if err != nil || f.CPUs < 1 || f.Sync <= 0 {
		t.Fatalf("Inspect = %+v, %v", f, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if got := (Facts{CPUs: 2, FileSystem: "ext4", Sync: 132 * time.Microsecond}).String(); got != "2 cpus, ext4, raw write of 12 KiB + fdatasync 132 µs" {
		t.Errorf("String = %q", got)
	}
}
