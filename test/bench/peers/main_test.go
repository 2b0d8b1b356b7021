package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentos/adapters/guard"
)

// TestMain is also what the runtime starts as its guard, and a driver of a peer.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "adapter" && os.Args[2] == "guard" {
		os.Exit(guard.Main(os.Args[3:]))
	}
	if len(os.Args) > 1 && strings.HasSuffix(os.Args[1], ".mjs") {
		os.Exit(fakeDriver(os.Args[2]))
	}
	code := m.Run()
	if code == 0 {
		// The framework counts dead letters on a goroutine that lives for a second.
		throttle := goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")
		if err := goleak.Find(throttle); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// private gives the test a temporary directory of its own, in which nothing may
// be left, and an empty folder of peers.
func private(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("SKIPPED: node is not installed: %v", err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	t.Setenv("AGENTOS_PEERS_DIR", filepath.Join(tmp, "nothing is installed here"))
	t.Cleanup(func() {
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("the temporary directory has %v, %v; want nothing left", left, err)
		}
	})
}

// TestRun does all work with what needs no peer, the missing ones being counted.
func TestRun(t *testing.T) {
	private(t)
	var out, errs bytes.Buffer
	if code := run([]string{"--rounds", "2", "--json"}, &out, &errs); code != 0 {
		t.Fatalf("run = %d; want 0\n%s", code, errs.String())
	}
	want := []string{"SKIPPED 2 of 4 contenders: AgentOS 0.2.21 is not installed", "; sandbox-agent 0.4.2 is not installed"}
	for _, text := range want {
		if !strings.Contains(errs.String(), text) {
			t.Errorf("stderr = %q; want %q in it", errs.String(), text)
		}
	}
	got := map[string]int{}
	dec := json.NewDecoder(&out)
	for dec.More() {
		var r Row
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Value <= 0 || r.Unit == "" || r.Against != "" && (r.Ratio <= 0 || r.Sense == "") {
			t.Errorf("row %+v is not whole", r)
		}
		got[r.Work+"/"+r.Who]++
	}
	for key, n := range map[string]int{
		"one-chunk prompt/direct stdio": 1, "one-chunk prompt/ours": 1, "100 chunks/ours": 1, "20 tool calls/ours": 1,
		"new VM/ours": 1, "new VM to first answer/direct stdio": 1, "new VM to first answer/ours": 1,
		"history in pages of 200/ours": 1, "history in pages of 1000/ours": 1, "database bytes per event/ours": 2,
	} {
		if got[key] != n {
			t.Errorf("%d rows of %s; want %d", got[key], key, n)
		}
	}
}

// TestMeasure_AllRoundsCountForAll has a peer beside: a driver that is a process.
func TestMeasure_AllRoundsCountForAll(t *testing.T) {
	private(t)
	list := startWithFake(t, "honest")
	p := plan{rounds: 3, warm: 1, fresh: 2, fill: 250, late: time.Minute}
	r, err := p.carryOut(t.Context(), list, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"direct", "ours", "agentos"}; !slices.Equal(r.contenders, want) {
		t.Errorf("contenders = %v; want %v", r.contenders, want)
	}
	for _, who := range r.contenders {
		for _, w := range works {
			if n := len(r.took[cell{w.name, who}]); n != 3 {
				t.Errorf("%d turns of %s count for %s; want 3", n, w.name, who)
			}
		}
		if n := len(r.took[cell{workFirst, who}]); n != 2 {
			t.Errorf("%d new VMs count for %s; want 2", n, who)
		}
		keeps := who != "direct"
		if n := len(r.took[cell{workPage(200), who}]); n != 3 && keeps || n > 0 && !keeps {
			t.Errorf("%d pages count for %s; want 3, none for direct", n, who)
		}
	}
	if got := r.growth["agentos"]; got != fakeEventBytes {
		t.Errorf("a database that grows by %d bytes an event is said to grow by %v", fakeEventBytes, got)
	}
	if d := r.took[cell{works[0].name, "agentos"}].median(); d != fakeTurn {
		t.Errorf("a turn that the driver says took %v counts as %v", fakeTurn, d)
	}
	if r.growth["ours"] < r.payload || r.payload < 50 {
		t.Errorf("an event of %v bytes takes %v; want a payload of some size, and more", r.payload, r.growth["ours"])
	}
}

func TestMeasure_OtherWorkIsAnError(t *testing.T) {
	private(t)
	list := startWithFake(t, "lazy")
	_, err := plan{rounds: 1, late: time.Millisecond}.carryOut(t.Context(), list, t.Output())
	if err == nil || !strings.Contains(err.Error(), "AgentOS 0.2.21 has 0 bytes of text and 0 calls, direct stdio 1408 and 40") {
		t.Errorf("with a peer that does no work: %v; want it named", err)
	}
}

func TestMeasure_PeerThatDies(t *testing.T) {
	private(t)
	list := startWithFake(t, "dying")
	_, err := plan{rounds: 1}.carryOut(t.Context(), list, t.Output())
	if err == nil || !strings.HasPrefix(err.Error(), "turns: AgentOS 0.2.21: ") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("with a peer that dies: %v; want its name and what it said last", err)
	}
}

// cancelling cancels at the first line of progress.
type cancelling context.CancelFunc

// Write implements io.Writer.
func (c cancelling) Write(p []byte) (int, error) { c(); return len(p), nil }

func TestMeasure_Interrupted(t *testing.T) {
	private(t) // and so holds that nothing is left
	ctx, cancel := context.WithCancel(t.Context())
	o := options{plan: plan{rounds: 1, fresh: 1000}, only: []string{"ours"}}
	if _, _, err := measure(ctx, o, cancelling(cancel)); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("measure, interrupted = %v; want %v", err, context.Canceled)
	}
}

// TestPeers_DoTheSameWork is the real thing, as short as it can be.
func TestPeers_DoTheSameWork(t *testing.T) {
	for _, p := range peers() {
		if _, err := os.Stat(filepath.Join(p.folder(), "node_modules")); err != nil {
			t.Skipf("SKIPPED: %s is not installed (test/bench/peers/install installs it)", title(p.name))
		}
	}
	dir := installDir()
	private(t)
	t.Setenv("AGENTOS_PEERS_DIR", dir)
	r, skipped, err := measure(t.Context(), options{plan: plan{rounds: 1, fresh: 1, fill: 22, late: time.Minute}}, t.Output())
	if err != nil || len(skipped) > 0 || len(r.contenders) != 4 {
		t.Fatalf("measure = %v, skipped %v, %v; want all four", r, skipped, err)
	}
	if len(r.growth) != 2 || len(r.took[cell{workFirst, "agentos"}]) != 1 {
		t.Errorf("growth %v, new VMs %v; want AgentOS measured", r.growth, r.took[cell{workFirst, "agentos"}])
	}
}
