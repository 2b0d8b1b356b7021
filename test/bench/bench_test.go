package bench

import (
	"os"
	"strings"
	"testing"

	"agentos/actors/bench"
	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/persistence/sqlitefile/bare"
	"agentos/protocol"
)

// config measures what the command line measures, with this binary as the agent.
func config(t testing.TB) bench.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bench.Config{
		Dir: t.TempDir(),
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true})
		},
		Bare:  func(path string) (bench.Bare, error) { return bare.Open(path) },
		Agent: []string{self, "adapter", "scripted"},
		Guard: []string{self, "adapter", "guard"},
		Env:   os.Environ(),
		// Keeps a binary built with -race from taking a second to exit.
		AgentEnv: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// BenchmarkMeasures runs a round of a measure for each iteration. The time of a
// round is that of all sides together and says nothing, so it is not shown.
func BenchmarkMeasures(b *testing.B) {
	for _, m := range bench.Measures {
		b.Run(m.Name, func(b *testing.B) {
			asked := false
			rows := m.Run(b.Context(), config(b), bench.Pace{Again: func() bool { asked = true; return b.Loop() }})
			for !asked && b.Loop() { // a measure without rounds is one
			}
			b.ReportMetric(0, "ns/op")
			for i, r := range rows {
				if r.Unmeasured != "" {
					b.Fatal(r)
				}
				name := strings.TrimPrefix(r.Work, m.Name)
				b.ReportMetric(r.Ratio, "x"+name)
				if r.Target.AtMost > 0 {
					b.ReportMetric(r.Target.AtMost, "x-max"+name)
				} else {
					b.ReportMetric(r.Target.AtLeast, "x-min"+name)
				}
				if i == 0 || r.Value != rows[0].Value {
					b.ReportMetric(r.Value, r.Unit+name)
				}
				b.Log(r)
			}
		})
	}
}

// Every measure has figures, and both of its sides have done the same work: it
// says so itself.
func TestMeasures(t *testing.T) {
	for _, m := range bench.Measures {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel() // figures do not matter here
			c := config(t)
			c.Events = 1000
			rounds := 0
			rows := m.Run(t.Context(), c, bench.Pace{Rounds: 1, Round: func(int) { rounds++ }})
			if len(rows) != len(m.Works) {
				t.Fatalf("%d rows; want %d", len(rows), len(m.Works))
			}
			for i, r := range rows {
				t.Log(r)
				if r.Work != m.Works[i].Name || r.Unmeasured != "" || r.Value <= 0 || r.Ratio <= 0 || r.Against == "" {
					t.Errorf("row = %#v; want figures of %s", r, m.Works[i].Name)
				}
			}
			if rounds > 2 {
				t.Errorf("%d rounds; want one that counts and at most one before it", rounds)
			}
			if left, err := os.ReadDir(c.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
