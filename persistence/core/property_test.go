package core_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

// agrees compares everything that is stored of w with w.
func (w *twin) agrees(t *rapid.T, db persistence.DB) {
	snap, found, err := core.Load(ctx, db, w.id)
	if err != nil || found != w.exists {
		t.Fatalf("Load(%q) = %v, %v; want found %v", w.id, found, err, w.exists)
	}
	if !found {
		return
	}
	if d := cmp.Diff(w.snap, snap); d != "" {
		t.Fatalf("Load(%q) differs from the twin: %s", w.id, d)
	}
	if d := cmp.Diff(w.events, history(t, db, w.id, rapid.IntRange(1, 9).Draw(t, "page"))); d != "" {
		t.Fatalf("History(%q) differs from the twin: %s", w.id, d)
	}
	for id, want := range w.prompts {
		got, found, err := core.Prompt(ctx, db, w.id, id)
		if d := cmp.Diff(want, got); d != "" || !found || err != nil {
			t.Fatalf("Prompt(%q) = %v, %v, differs: %s", id, found, err, d)
		}
		if want.Key == "" {
			continue
		}
		if got, found, err := core.UsedKey(ctx, db, w.id, want.Key); err != nil || !found || got.Prompt == nil || got.Prompt.ID != id {
			t.Fatalf("UsedKey(%q) = %+v, %v, %v; want %q", want.Key, got.Prompt, found, err, id)
		}
	}
	for id, want := range w.records {
		got, found, err := core.PermissionRecord(ctx, db, w.id, id)
		if d := cmp.Diff(want, got); d != "" || !found || err != nil {
			t.Fatalf("PermissionRecord(%q) = %v, %v, differs: %s", id, found, err, d)
		}
	}
	for id, want := range w.outcomes {
		if got, found, err := core.Outcome(ctx, db, w.id, id); got != want || !found || err != nil {
			t.Fatalf("Outcome(%q) = %q, %v, %v; want %q", id, got, found, err, want)
		}
		if _, found, err := core.PermissionRecord(ctx, db, w.id, id); found || err != nil {
			t.Fatalf("PermissionRecord(%q) = %v, %v; want none beside its outcome", id, found, err)
		}
	}
}

// Any legal sequence of batches of several sessions, in groups of any size,
// with the statements of a wave in any order, leaves the database with what the
// twins say. A group with one batch that does not fit leaves it as it was.
func TestS3_GroupsEqualTwins(t *testing.T) {
	checks(t, 50)
	db := newDB(t)
	rapid.Check(t, func(rt *rapid.T) {
		wipe(rt, db)
		groupsEqualTwins(rt, db)
	})
}

// The same in a file: fewer checks, as each commit costs a flush.
func TestS3_GroupsEqualTwinsInAFile(t *testing.T) {
	checks(t, 5)
	db := openFile(t, filepath.Join(t.TempDir(), "vm.db"))
	migrate(t, db)
	rapid.Check(t, func(rt *rapid.T) {
		wipe(rt, db)
		groupsEqualTwins(rt, db)
	})
}

// checks sets how often a property is checked, unless the command line does:
// SQLite with the race detector takes some 100 ms a check.
func checks(t *testing.T, n int) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	old := flag.Lookup("rapid.checks").Value.String()
	set := func(value string) {
		if err := flag.Lookup("rapid.checks").Value.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	set(fmt.Sprint(n))
	t.Cleanup(func() { set(old) })
}

func groupsEqualTwins(t *rapid.T, db persistence.DB) {
	twins := []*twin{newTwin("main"), newTwin("b"), newTwin("ünï")}
	for range rapid.IntRange(1, 6).Draw(t, "groups") {
		var group []protocol.Batch
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			w := rapid.SampledFrom(twins).Draw(t, "session")
			steps := make([]func(), rapid.IntRange(1, 4).Draw(t, "steps"))
			for i := range steps {
				steps[i] = func() { w.step(t) }
			}
			group = append(group, w.batch(steps...))
		}
		refusesBroken(t, db, group)
		waves, err := core.Compile(group)
		if err != nil {
			t.Fatalf("Compile = %v", err)
		}
		for i, wave := range waves {
			waves[i] = rapid.Permutation(wave).Draw(t, "order")
		}
		if err := db.Tx(persistence.Tx{Key: "k", Waves: waves}); err != nil {
			t.Fatalf("Tx = %v", err)
		}
	}
	for _, w := range twins {
		w.agrees(t, db)
	}
	noFindings(t, db)
}

// refusesBroken writes group with one base that is not true, and expects that
// nothing comes of it.
func refusesBroken(t *rapid.T, db persistence.DB, group []protocol.Batch) {
	group = slices.Clone(group)
	b := &group[rapid.IntRange(0, len(group)-1).Draw(t, "broken")]
	b.Changes = slices.Clone(b.Changes)
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0: // a gap
		b.Base.Latest++
		b.Row.Latest++
		b.Base.Exists = true
		for i, c := range b.Changes {
			if e, ok := c.(protocol.EventAppended); ok {
				e.Event.Sequence++
				b.Changes[i] = e
			}
		}
	case 1: // another prompt
		b.Base.Prompt += "x"
	case 2: // another state
		if b.Base.State = protocol.StateFailed; b.Base.Prompt != "" {
			b.Base.State = protocol.StateIdle
		}
	case 3: // a session that is not there
		b.Session += "x"
		b.Row.ID, b.Base.Exists, b.Base.State = b.Session, true, protocol.StateIdle
	case 4: // a row that no session may have
		for i := range group {
			if group[i].Session == b.Session {
				group[i].Row.UpdatedAt = b.Row.CreatedAt - 1
			}
		}
	}
	before := dump(t, db)
	if err := write(db, group...); err == nil {
		t.Fatalf("a group with a broken batch was stored: %+v", *b)
	}
	if d := cmp.Diff(before, dump(t, db)); d != "" {
		t.Fatalf("a refused group changed the database: %s", d)
	}
}
