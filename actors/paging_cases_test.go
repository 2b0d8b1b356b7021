package actors_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/actors"
	"agentos/persistence/core"
	"agentos/protocol"
)

// TestSL01_CursorsOfTheList: a long list is followed to its end without a
// repeat or a gap, over a session that is deleted at the cursor, and a cursor
// that nobody made is refused. (The list has no filter.)
func TestSL01_CursorsOfTheList(t *testing.T) {
	const sessions, limit = 1200, 100
	r := newRig(t).start()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := worker; n < sessions; n += 8 {
				if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: protocol.SessionID(fmt.Sprintf("s%04d", n)), Spec: spec()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[protocol.SessionID]bool{}
	for cursor, page := "", 0; ; page++ {
		list, next, err := r.vm.Sessions(r.ctx(), cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > limit || next == "" && len(seen)+len(list) < sessions {
			t.Fatalf("page %d has %d sessions and ends it: %v", page, len(list), next == "")
		}
		for _, s := range list {
			if seen[s.ID] {
				t.Errorf("%s comes twice", s.ID)
			}
			seen[s.ID] = true
		}
		if cursor = next; next == "" {
			break
		}
		if page == 3 { // what the cursor stands at is deleted
			if err := r.vm.Delete(r.ctx(), list[len(list)-1].ID); err != nil {
				t.Error(err)
			}
		}
	}
	if len(seen) != sessions {
		t.Errorf("%d sessions were listed; want %d", len(seen), sessions)
	}
	for _, cursor := range []string{"garbage", " ", "e30=", strings.Repeat("A", 5000)} {
		if list, _, err := r.vm.Sessions(r.ctx(), cursor, limit); protocol.CodeOf(err) != protocol.CodeInvalidSessionCursor {
			t.Errorf("cursor %.20q: %d sessions, %v; want invalid_session_cursor", cursor, len(list), err)
		}
	}
}

// TestSL03_ListingChangesNothing: a restart, lists, descriptions and histories leave
// a session's time, agent and title; a turn changes its time.
func TestSL03_ListingChangesNothing(t *testing.T) {
	var clock leap
	clock.on.Store(true) // at each look it is later
	r := newRig(t, func(r *rig) { r.config.Clock = clock.now }).start()
	r.mustPrompt("hello [[title A title]]")
	before := r.info("main")
	if before.Title == nil || *before.Title != "A title" {
		t.Errorf("title = %v", before.Title)
	}
	for range 2 {
		r.restart()
		r.history("main")
		if _, err := r.vm.Config(r.ctx(), "main"); err != nil {
			t.Error(err)
		}
		if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: spec()}); err != nil {
			t.Error(err)
		}
		after, err := r.vm.Session(r.ctx(), "main")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("-before +after\n%s", d)
		}
		if d := cmp.Diff(before, r.info("main")); d != "" {
			t.Errorf("in the list: -before +after\n%s", d)
		}
	}
	r.mustPrompt("a turn")
	if after := r.info("main"); after.UpdatedAt <= before.UpdatedAt || after.CreatedAt != before.CreatedAt {
		t.Errorf("updated %d, created %d; were %d, %d", after.UpdatedAt, after.CreatedAt, before.UpdatedAt, before.CreatedAt)
	}
}

// TestSL04_PagesAreBoundedInBytes: a page of history ends at its count or its bytes,
// has an event at least, says whether there is more, and the pages together are
// the history; a limit that makes no sense is refused.
func TestSL04_PagesAreBoundedInBytes(t *testing.T) {
	const events, large = 4000, 3 << 20
	var wire []string
	for n := range events {
		pad := ""
		if n%800 == 400 {
			pad = strings.Repeat("x", large)
		}
		wire = append(wire, fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"t","n":%d,"pad":"%s"}`, n, pad))
	}
	r := newWireRig(t, 0, func(_ protocol.SessionID, w *wireAgent) {
		w.serve("w", func(wireCall) string {
			for _, u := range wire {
				w.update("w", u)
			}
			return endTurn
		})
	})
	r.mustPrompt("go")
	for _, limit := range []int{1000, 0} {
		var got []string
		var after protocol.Sequence
		for more := true; more; {
			page, err := r.vm.History(r.ctx(), "main", core.PageRequest{After: &after, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, e := range page.Events {
				size += len(e.Payload)
				if e.Sequence != after+1 {
					t.Fatalf("event %d after %d", e.Sequence, after)
				}
				after++
				if e.Sequence > 1 {
					got = append(got, string(e.Payload))
				}
			}
			if n := len(page.Events); n == 0 || limit > 0 && n > limit || size > protocol.HistoryPageBytes+large+100 {
				t.Errorf("a page has %d events of %d bytes", n, size)
			}
			if more = page.HasMoreAfter; more != (after < page.Latest) {
				t.Errorf("more = %v at %d of %d", more, after, page.Latest)
			}
		}
		if d := cmp.Diff(len(wire), len(got)); d != "" || strings.Join(got, "\n") != strings.Join(wire, "\n") {
			t.Errorf("limit %d: the pages are not the history: %s", limit, d)
		}
	}
	var start protocol.Sequence
	for limit, want := range map[int]protocol.Code{-1: protocol.CodeInvalidArgument, 1_000_000_000: protocol.CodeHistoryLimit} {
		if page, err := r.vm.History(r.ctx(), "main", core.PageRequest{After: &start, Limit: limit}); protocol.CodeOf(err) != want {
			t.Errorf("limit %d: %d events, %v; want %s", limit, len(page.Events), err, want)
		}
	}
}
