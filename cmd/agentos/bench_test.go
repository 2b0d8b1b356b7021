package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/actors/bench"
	"agentos/cmd/agentos/transcript"
)

// benchConsole is a console whose streams can be read.
func benchConsole(notes transcript.Style) (v *benchView, out, err *strings.Builder) {
	out, err = &strings.Builder{}, &strings.Builder{}
	c := &console{out: &stream{w: out}, err: &stream{w: err}, notes: notes}
	return &benchView{app: &app{console: c}}, out, err
}

func TestBenchView_Table(t *testing.T) {
	v, out, _ := benchConsole(transcript.Style{})
	v.facts(bench.Facts{CPUs: 2, FileSystem: "ext4", Sync: 132 * time.Microsecond})
	for _, r := range []bench.Row{
		{Work: "commit", Value: 203.3, Unit: "µs", Against: "bare driver, 167 µs", Ratio: 1.217, Target: bench.Target{AtMost: 1.25}, Holds: true},
		{Work: "group-8", Value: 12102, Unit: "events/s", Against: "bare driver, 25332 events/s", Ratio: 0.478, Target: bench.Target{AtLeast: 0.8}},
		{Work: "wake", Unit: "µs", Target: bench.Target{AtMost: 2}, Unmeasured: "disk\x1b full"},
	} {
		v.row(r)
	}
	if v.allHold() {
		t.Error("a row that is missed holds")
	}
	v.end()
	want := `WORK     OURS            RATIO  TARGET   HOLDS  AGAINST
commit   203 µs          1.217  <= 1.25  yes    bare driver, 167 µs
group-8  12102 events/s  0.478  >= 0.8   no     bare driver, 25332 events/s
wake     -               -      <= 2     -      not measured: disk^[ full

1 of 2 targets hold, 1 rows were not measured; 2 cpus, ext4, raw write of 12 KiB + fdatasync 132 µs
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestBenchView_AllHold(t *testing.T) {
	holds, missed := bench.Row{Work: "a", Holds: true}, bench.Row{Work: "b"}
	unmeasured := bench.Row{Work: "c", Holds: true, Unmeasured: "the time was up"}
	for _, c := range []struct {
		rows []bench.Row
		want bool
	}{{[]bench.Row{holds, holds}, true}, {[]bench.Row{holds, missed}, false}, {[]bench.Row{unmeasured}, false}} {
		v, _, _ := benchConsole(transcript.Style{})
		for _, r := range c.rows {
			v.row(r)
		}
		if got := v.allHold(); got != c.want {
			t.Errorf("allHold of %v = %v; want %v", c.rows, got, c.want)
		}
	}
}

// Nobody measures on for a reader that has left.
func TestBenchView_ReaderLeft(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	v, _, _ := benchConsole(transcript.Style{})
	left := 0
	v.app.out, v.json, v.leave = &stream{w: w}, true, func() { left++ }
	v.row(bench.Row{Work: "a"})
	if left != 0 {
		t.Error("the measuring ends while somebody reads")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if v.row(bench.Row{Work: "b"}); left != 1 {
		t.Error("the measuring goes on")
	}
	if err := v.app.out.failure(); err != nil {
		t.Errorf("failure = %v; want none, the reader left on purpose", err)
	}
}

// On a terminal one line changes; elsewhere a measure is a line, not each round.
func TestBenchView_Progress(t *testing.T) {
	const first, second = "bench: 1/2 commit", "bench: 2/2 wake"
	for _, c := range []struct {
		style transcript.Style
		want  string
	}{
		{transcript.Style{}, first + "\n" + second + "\n"},
		{transcript.Style{Terminal: true, Erases: true}, eraseLine + first + ", preparing\r" + eraseLine + second + ", preparing\r" + eraseLine},
	} {
		v, _, notes := benchConsole(c.style)
		step := bench.Step{Number: 1, Of: 2, Name: "commit", Round: -1}
		for ; step.Round < 3; step.Round++ {
			v.progress(step)
		}
		v.progress(bench.Step{Number: 2, Of: 2, Name: "wake", Round: -1})
		v.end()
		if diff := cmp.Diff(c.want, notes.String()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.style, diff)
		}
	}
}

func TestBenchDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("AGENTOS_DATA", filepath.Join(home, "not", "there"))
	v, _, _ := benchConsole(transcript.Style{})
	dir, err := v.app.benchDir("")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fs, err := bench.FileSystem(home)
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Dir(dir); bench.InMemory(fs) == (got == home) {
		t.Errorf("works in %s; want it beside the data directory %s (%s) unless that is in memory", got, home, fs)
	}
	if _, err := os.Stat(filepath.Join(home, "not")); err == nil {
		t.Error("the data directory was made")
	}
}
