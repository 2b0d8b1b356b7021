package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentos/actors"
	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
	"agentos/test/e2e/program"
)

// victimVar makes the test of that name the process that is killed: the number
// of the transaction, and whether before or after it has committed.
const victimVar = "AGENTOS_E2E_VICTIM"

// deadly is a source that kills its process with SIGKILL at one of its
// transactions: before the commit, or between it and everything that follows.
type deadly struct {
	persistence.Source
	armed *atomic.Bool
	at    int // of the transactions after armed
	after bool
}

func (d *deadly) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	db, err := d.Source.Open(inspect)
	return &deadlyDB{DB: db, d: d}, err
}

type deadlyDB struct {
	persistence.DB
	d    *deadly
	seen int // the writer's own
}

func (db *deadlyDB) Tx(tx persistence.Tx) error {
	if db.d.armed.Load() {
		db.seen++
	}
	mine := db.seen == db.d.at
	if mine && !db.d.after {
		die()
	}
	err := db.DB.Tx(tx)
	if mine {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // of oneself it cannot fail
	select {}
}

// committing is a turn with events of every kind in transactions of their own.
const committing = "go [[tool ls]] [[chunks 3]] [[usage]] [[slow 3 20]] [[tool cat]]"

// victim runs a turn in which it is killed, and prints the payload of each event
// as a subscriber is shown it.
func victim(t *testing.T, plan string) {
	at, after, _ := strings.Cut(plan, " ")
	n, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	d := &deadly{armed: &atomic.Bool{}, at: n, after: after == "after"}
	vm, ctx := openHere(t, os.Getenv("AGENTOS_E2E_DB"), os.Environ(), func(s persistence.Source) persistence.Source { d.Source = s; return d })
	spec := protocol.Spec{
		Agent: "scripted", Cwd: os.Getenv("HOME"), Policy: protocol.PolicyAsk,
		Launch: &protocol.Launch{Argv: []string{program.Binary(), "adapter", "scripted"}},
		Env:    map[string]string{"AGENTOS_SCRIPTED_DIR": os.Getenv("AGENTOS_SCRIPTED_DIR")},
	}
	open := actors.OpenSession{Session: protocol.DefaultSession, Spec: spec}
	if err := vm.Open(ctx, open); err != nil {
		t.Fatal(err)
	}
	sub, err := vm.Watch(ctx, protocol.DefaultSession, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.armed.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, err := vm.Prompt(ctx, actors.Prompt{Session: protocol.DefaultSession, Content: []byte(`[{"type":"text","text":"` + committing + `"}]`)})
		ended <- err
	}()
	for {
		item, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("%v; the prompt: %v", err, <-ended)
		}
		if item.Event != nil {
			fmt.Printf("shown %s\n", item.Event.Payload)
		}
		if item.State != nil && item.State.State == protocol.StateIdle && item.State.Sequence > 0 {
			break
		}
	}
	fmt.Printf("ended %v\n", <-ended)
}

// openHere opens the default VM of a home in this process, for as long as the test.
func openHere(t *testing.T, db string, env []string, wrap func(persistence.Source) persistence.Source) (*actors.VM, context.Context) {
	t.Helper()
	node, err := actors.Start(actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			source, err := sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true, Command: "a test"})
			if err != nil {
				return nil, err
			}
			return wrap(source), nil
		},
		Adapters: actors.Processes([]string{program.Binary(), "adapter", "guard"}, env, protocol.DefaultLimits().ReadLineBytes),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(func() {
		if err := node.Close(ctx); err != nil {
			t.Errorf("close the node: %v", err)
		}
		cancel()
	})
	vm, err := node.Open(ctx, "default", protocol.Descriptor{SQLiteFile: db})
	if err != nil {
		t.Fatal(err)
	}
	return vm, ctx
}

// TestPC02_KilledBetweenCommitAndPublication kills the runtime at each transaction
// of a turn, exactly between its commit and all that follows from it, and exactly
// before the commit. A subscriber that comes back behind the last event that it
// was shown gets the others from the database: none is lost, none comes twice,
// and none was shown that is not there.
func TestPC02_KilledBetweenCommitAndPublication(t *testing.T) {
	if plan := os.Getenv(victimVar); plan != "" {
		victim(t, plan)
		return
	}
	t.Parallel()
	for _, when := range []string{"after", "before"} {
		unpublished := 0
		for n := 1; ; n++ {
			if n > 100 {
				t.Fatal("a turn of so many transactions has no end")
			}
			killed, missed := killAt(t, n, when)
			if unpublished += missed; !killed {
				t.Logf("killed %s each of %d transactions: %d events were stored and not shown", when, n-1, unpublished)
				if n < 4 {
					t.Errorf("the turn had %d transactions; this shows little", n-1)
				}
				break
			}
			if t.Failed() || testing.Short() && n == 3 {
				break
			}
		}
		if when == "after" && unpublished == 0 {
			t.Error("no event was stored without being shown; this shows nothing")
		}
	}
}

// killAt lets one process die, and looks at what it has left. It returns how many
// events of the turn the subscriber had missed.
func killAt(t *testing.T, n int, when string) (killed bool, missed int) {
	t.Helper()
	home := program.NewHome(t, program.Binary())
	cmd := exec.Command(os.Args[0], "-test.run=^TestPC02_KilledBetweenCommitAndPublication$", "-test.count=1")
	// The binary is there already; and what the killed process cannot remove ends with the test.
	cmd.Env = append(home.Env, victimVar+"="+fmt.Sprint(n, " ", when), "AGENTOS_E2E_DB="+home.DB,
		"AGENTOS_E2E_BINARY="+program.Binary(), "TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	if killed = err != nil; killed && (cmd.ProcessState.ExitCode() != -1 || strings.Contains(string(out), "ended")) {
		t.Fatalf("%d %s: %v\n%s", n, when, err, out)
	}
	home.AwaitNone(t)
	var shown []string
	for line := range strings.Lines(string(out)) {
		if payload, ok := strings.CutPrefix(line, "shown "); ok {
			shown = append(shown, strings.TrimSuffix(payload, "\n"))
		}
	}
	missed = comeBack(t, home, shown, fmt.Sprint(n, " ", when))
	if told := times(journal(t, home.Agent), committing); told > 1 {
		t.Errorf("%d %s: the prompt was sent %d times", n, when, told)
	}
	return killed, missed
}

// comeBack subscribes behind what was shown, wants all that is stored behind it,
// and returns how much of that the turn itself had stored.
func comeBack(t *testing.T, home *program.Home, shown []string, what string) (missed int) {
	t.Helper()
	vm, ctx := openHere(t, home.DB, home.Env, func(s persistence.Source) persistence.Source { return s })
	info, err := vm.Session(ctx, protocol.DefaultSession)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := vm.Watch(ctx, protocol.DefaultSession, 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := vm.Watch(ctx, protocol.DefaultSession, protocol.Sequence(len(shown)))
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for info.LatestSequence > protocol.Sequence(len(stored)) {
		item, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("%s: %d of %d events: %v", what, len(stored), info.LatestSequence, err)
		}
		if item.Event != nil {
			stored = append(stored, string(item.Event.Payload))
		}
	}
	for at, payload := range shown {
		if at >= len(stored) || stored[at] != payload {
			t.Fatalf("%s: event %d was shown and is not stored: %s", what, at+1, payload)
		}
	}
	for n := len(shown); n < len(stored); missed++ {
		item, err := again.Next(ctx)
		if err != nil {
			t.Fatalf("%s: behind %d: %v", what, n, err)
		}
		if item.Event == nil {
			continue
		}
		if item.Event.Sequence != protocol.Sequence(n+1) || string(item.Event.Payload) != stored[n] {
			t.Errorf("%s: behind %d came %d %s; want %s", what, n, item.Event.Sequence, item.Event.Payload, stored[n])
		}
		n++
	}
	if e := (struct{ Code string }{}); info.State == protocol.StateFailed && (json.Unmarshal(info.Error, &e) != nil || e.Code != "prompt_delivery_uncertain") {
		t.Errorf("%s: the session has failed of %s", what, info.Error)
	}
	return missed
}
