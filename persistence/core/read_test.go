package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

// sequences returns the sequences of a page, as "3-5".
func sequences(p core.Page) string {
	if len(p.Events) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d-%d", p.Events[0].Sequence, p.Events[len(p.Events)-1].Sequence)
}

// tenEvents is a database whose session main has events 1 to 10, of 2 bytes
// each but for event 5, which has 20. With pruned, 1 to 3 are gone.
func tenEvents(t *testing.T, pruned bool) persistence.DB {
	t.Helper()
	db := newDB(t)
	w := opened(t, db, "main")
	for i := range 10 {
		w.now++
		payload := "[]"
		if i == 4 {
			payload = `"123456789012345678"`
		}
		mustWrite(t, db, w.batch(func() { w.update(payload) }))
	}
	if pruned {
		exec(t, db, `DELETE FROM agentos_core_event_log WHERE sequence < 4`,
			`UPDATE agentos_core_sessions SET oldest_retained_sequence = 4, retained_event_count = 7, retained_event_bytes = 32`)
	}
	return db
}

func TestS11_2_HistoryPages(t *testing.T) {
	for _, tc := range []struct {
		name          string
		pruned        bool
		req           core.PageRequest
		want          string
		before, after bool // has more
	}{
		{"newest", false, core.PageRequest{Limit: 4}, "7-10", true, false},
		{"all", false, core.PageRequest{}, "1-10", false, false},
		{"after the start", false, core.PageRequest{After: seq(0), Limit: 4}, "1-4", false, true},
		{"after", false, core.PageRequest{After: seq(4), Limit: 4}, "5-8", true, true},
		{"after, to the end", false, core.PageRequest{After: seq(4)}, "5-10", true, false},
		{"after the latest", false, core.PageRequest{After: seq(10)}, "none", true, false},
		{"before", false, core.PageRequest{Before: seq(8), Limit: 3}, "5-7", true, true},
		{"before, to the start", false, core.PageRequest{Before: seq(3)}, "1-2", false, true},
		{"before the first", false, core.PageRequest{Before: seq(1)}, "none", false, true},
		{"before nothing", false, core.PageRequest{Before: seq(0)}, "none", false, true},
		{"before the next", false, core.PageRequest{Before: seq(11), Limit: 1}, "10-10", true, false},

		{"pruned: all", true, core.PageRequest{}, "4-10", false, false},
		{"pruned: after the last pruned", true, core.PageRequest{After: seq(3), Limit: 1}, "4-4", false, true},
		{"pruned: before the oldest", true, core.PageRequest{Before: seq(4)}, "none", false, true},
		{"pruned: before a pruned one", true, core.PageRequest{Before: seq(2)}, "none", false, true},

		{"bytes end it", false, core.PageRequest{After: seq(0), MaxBytes: 6}, "1-3", false, true},
		{"bytes end it with the one that passes them", false, core.PageRequest{After: seq(0), MaxBytes: 9}, "1-5", false, true},
		{"bytes, newest", false, core.PageRequest{MaxBytes: 4}, "9-10", true, false},
		{"one event, whatever its size", false, core.PageRequest{After: seq(4), MaxBytes: 1}, "5-5", true, true},
		{"one event before, whatever its size", false, core.PageRequest{Before: seq(6), MaxBytes: 1}, "5-5", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page, err := core.History(ctx, tenEvents(t, tc.pruned), "main", tc.req)
			if err != nil {
				t.Fatal(err)
			}
			oldest := protocol.Sequence(1)
			if tc.pruned {
				oldest = 4
			}
			if got := sequences(page); got != tc.want || page.HasMoreBefore != tc.before || page.HasMoreAfter != tc.after || page.Latest != 10 || page.OldestRetained != oldest {
				t.Errorf("page %s, more before %v, after %v, of %d to %d; want %s, %v, %v, of %d to 10",
					got, page.HasMoreBefore, page.HasMoreAfter, page.OldestRetained, page.Latest, tc.want, tc.before, tc.after, oldest)
			}
		})
	}
}

func TestS11_2_HistoryErrors(t *testing.T) {
	detail := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for _, tc := range []struct {
		name    string
		id      protocol.SessionID
		req     core.PageRequest
		code    protocol.Code
		details map[string]any
	}{
		{"no session", "other", core.PageRequest{}, protocol.CodeSessionNotFound, nil},
		{"after a pruned one", "main", core.PageRequest{After: seq(2)}, protocol.CodeHistoryCursorExpired, detail("earliestAvailableSequence", protocol.Sequence(4))},
		{"after the start", "main", core.PageRequest{After: seq(0)}, protocol.CodeHistoryCursorExpired, detail("earliestAvailableSequence", protocol.Sequence(4))},
		{"after what is to come", "main", core.PageRequest{After: seq(11)}, protocol.CodeInvalidHistoryCursor, detail("latestSequence", protocol.Sequence(10))},
		{"before what is to come", "main", core.PageRequest{Before: seq(12)}, protocol.CodeInvalidHistoryCursor, detail("latestSequence", protocol.Sequence(10))},
		{"negative after", "main", core.PageRequest{After: seq(-1)}, protocol.CodeInvalidHistoryCursor, detail("latestSequence", protocol.Sequence(10))},
		{"negative before", "main", core.PageRequest{Before: seq(-1)}, protocol.CodeInvalidHistoryCursor, detail("latestSequence", protocol.Sequence(10))},
		{"both", "main", core.PageRequest{Before: seq(5), After: seq(5)}, protocol.CodeInvalidArgument, nil},
		{"negative limit", "main", core.PageRequest{Limit: -1}, protocol.CodeInvalidArgument, nil},
		{"limit above the default", "main", core.PageRequest{Limit: 10_001}, protocol.CodeHistoryLimit, nil},
		{"limit above the setting", "main", core.PageRequest{Limit: 3, MaxLimit: 2}, protocol.CodeHistoryLimit, nil},
		{"result too large", "main", core.PageRequest{ResultBytes: 60}, protocol.CodeSQLiteResultLimit, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := core.History(ctx, tenEvents(t, true), tc.id, tc.req)
			if protocol.CodeOf(err) != tc.code {
				t.Fatalf("History = %v; want %s", err, tc.code)
			}
			if d := cmp.Diff(tc.details, protocol.AsError(err, "").Details); d != "" {
				t.Errorf("details: %s", d)
			}
		})
	}
}

// A history with everything pruned, or nothing in it yet, is no damage.
func TestS11_2_EmptyHistory(t *testing.T) {
	db := tenEvents(t, false)
	exec(t, db, `DELETE FROM agentos_core_event_log`,
		`UPDATE agentos_core_sessions SET oldest_retained_sequence = 11, retained_event_count = 0, retained_event_bytes = 0`)
	opened(t, db, "new")
	for _, id := range []protocol.SessionID{"main", "new"} {
		page, err := core.History(ctx, db, id, core.PageRequest{})
		if err != nil || len(page.Events) != 0 || page.HasMoreBefore || page.HasMoreAfter {
			t.Errorf("History(%q) = %+v, %v; want an empty page", id, page, err)
		}
	}
	noFindings(t, db)
}

// A page with a hole in it would be a lie, so it is an error.
func TestS11_2_HistoryWithAHole(t *testing.T) {
	for name, tc := range map[string]struct {
		lost string
		req  core.PageRequest
	}{
		"in the middle":     {"5", core.PageRequest{}},
		"after the cursor":  {"5", core.PageRequest{After: seq(4)}},
		"before the cursor": {"5", core.PageRequest{Before: seq(6)}},
		"at the end":        {"10", core.PageRequest{}},
		"everything after":  {"9, 10", core.PageRequest{After: seq(8)}},
		"everything before": {"1, 2", core.PageRequest{Before: seq(3)}},
		"everything":        {"1, 2, 3, 4, 5, 6, 7, 8, 9, 10", core.PageRequest{}},
	} {
		db := tenEvents(t, false)
		exec(t, db, `DELETE FROM agentos_core_event_log WHERE sequence IN (`+tc.lost+`)`)
		if page, err := core.History(ctx, db, "main", tc.req); protocol.CodeOf(err) != protocol.CodeStorageError {
			t.Errorf("%s: History = %s, %v; want %s", name, sequences(page), err, protocol.CodeStorageError)
		}
	}
}

func TestS6_6_Events(t *testing.T) {
	db := tenEvents(t, true)
	events, err := core.Events(ctx, db, "main", 2, 5, 0)
	if err != nil || len(events) != 2 || events[0].Sequence != 4 || len(events[1].Payload) != 20 {
		t.Errorf("Events(2, 5) = %v, %v; want 4 and 5", events, err)
	}
	if _, err := core.Events(ctx, db, "main", 4, 10, 60); protocol.CodeOf(err) != protocol.CodeSQLiteResultLimit {
		t.Errorf("Events = %v; want %s", err, protocol.CodeSQLiteResultLimit)
	}
}

func TestS11_1_Sessions(t *testing.T) {
	db := newDB(t)
	title, failure := "Title", `{"code":"adapter_exited"}`
	for i, at := range []protocol.TimeMS{5, 3, 3, 3, 1} { // some with activity at the same time
		w := newTwin(name[protocol.SessionID]("s", i))
		w.now = at
		w.open(protocol.Spec{Agent: "tiny", Cwd: "/work", Policy: protocol.PolicyAsk, Env: map[string]string{"SECRET": "s3cret"},
			MCPServers: []byte(`[{"headers":"s3cret"}]`), AdditionalDirectories: []string{"/more"}})
		w.snap.Record.Title = &title
		b := protocol.Batch{Session: w.id, Changes: w.changes, Row: w.snap.Record}
		mustWrite(t, db, b)
		if i == 1 {
			mustWrite(t, db, w.batch(func() { w.accept("", "[1]") }), w.batch(func() { w.end("", failure) }))
		}
	}
	var got []string
	cursor, pages := "", 0
	for {
		list, next, err := core.Sessions(ctx, db, core.ListRequest{Cursor: cursor, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			got = append(got, fmt.Sprintf("%s %s %s", info.ID, info.State, info.Error))
			if strings.Contains(fmt.Sprintf("%+v", info), "s3cret") {
				t.Errorf("the description of %s holds a secret", info.ID)
			}
		}
		pages++
		if cursor = next; next == "" {
			break
		}
	}
	want := []string{"s-0 idle ", "s-1 failed " + failure, "s-2 idle ", "s-3 idle ", "s-4 idle "}
	if d := cmp.Diff(want, got); d != "" || pages != 3 {
		t.Errorf("%d pages: %s", pages, d)
	}

	list, next, err := core.Sessions(ctx, db, core.ListRequest{})
	if err != nil || len(list) != 5 || next != "" {
		t.Fatalf("Sessions = %d sessions, %q, %v", len(list), next, err)
	}
	want1 := protocol.SessionInfo{
		ID: "s-1", Agent: "tiny", Cwd: "/work", AdditionalDirectories: []string{"/more"}, State: protocol.StateFailed,
		Prompt: "s-1-prompt-1", Error: []byte(failure), LatestSequence: 1, OldestRetainedSequence: 1, RetainedEvents: 1, RetainedBytes: 3,
		Title: &title, CreatedAt: 3, UpdatedAt: 3,
	}
	if d := cmp.Diff(want1, list[1]); d != "" {
		t.Error(d)
	}
	for name, tc := range map[string]struct {
		req  core.ListRequest
		code protocol.Code
	}{
		"cursor":         {core.ListRequest{Cursor: "x"}, protocol.CodeInvalidSessionCursor},
		"negative limit": {core.ListRequest{Limit: -1}, protocol.CodeInvalidArgument},
		"limit":          {core.ListRequest{Limit: 10_001}, protocol.CodeSessionListLimit},
		"lowered limit":  {core.ListRequest{Limit: 3, MaxLimit: 2}, protocol.CodeSessionListLimit},
	} {
		if _, _, err := core.Sessions(ctx, db, tc.req); protocol.CodeOf(err) != tc.code {
			t.Errorf("%s: Sessions = %v; want %s", name, err, tc.code)
		}
	}
}

func TestS12_3_AcceptedSessions(t *testing.T) {
	db := newDB(t)
	for _, id := range []protocol.SessionID{"c", "a", "b"} {
		w := opened(t, db, id)
		mustWrite(t, db, w.batch(func() { w.accept("", "1") }))
		if id == "b" {
			mustWrite(t, db, w.batch(func() { w.end(result, "") }))
		}
	}
	ids, err := core.AcceptedSessions(ctx, db)
	if d := cmp.Diff([]protocol.SessionID{"a", "c"}, ids); d != "" || err != nil {
		t.Errorf("AcceptedSessions = %v, %s", err, d)
	}
}

// Rows that no runtime writes are not made into a machine.
func TestLoad_Damaged(t *testing.T) {
	for name, sql := range map[string]string{
		"running without a prompt":    `DELETE FROM agentos_core_prompts`,
		"running another prompt":      `UPDATE agentos_core_sessions SET state_prompt_id = 'other'`,
		"idle with a prompt":          `UPDATE agentos_core_sessions SET state = 'idle', state_prompt_id = NULL, state_started_at_ms = NULL`,
		"environment of other values": `UPDATE agentos_core_sessions SET env_json = '{"a":1}'`,
	} {
		db := newDB(t)
		w := opened(t, db, "main")
		mustWrite(t, db, w.batch(func() { w.accept("", "1") }))
		exec(t, db, sql)
		if _, _, err := core.Load(ctx, db, "main"); protocol.CodeOf(err) != protocol.CodeStorageError || !strings.Contains(err.Error(), "doctor") {
			t.Errorf("%s: Load = %v; want %s and what to do", name, err, protocol.CodeStorageError)
		}
	}
}

// failing is a database that cannot be read.
type failing struct{ err error }

func (f failing) Query(context.Context, persistence.Query) ([][]persistence.Value, error) {
	return nil, f.err
}

// Every read turns the handle's errors into those of S14, and lets the
// context's own through.
func TestS14_ReadErrors(t *testing.T) {
	reads := map[string]func(q persistence.Querier) error{
		"Load": func(q persistence.Querier) error { _, _, err := core.Load(ctx, q, "main"); return err },
		"History": func(q persistence.Querier) error {
			_, err := core.History(ctx, q, "main", core.PageRequest{})
			return err
		},
		"Events":           func(q persistence.Querier) error { _, err := core.Events(ctx, q, "main", 1, 2, 0); return err },
		"Sessions":         func(q persistence.Querier) error { _, _, err := core.Sessions(ctx, q, core.ListRequest{}); return err },
		"AcceptedSessions": func(q persistence.Querier) error { _, err := core.AcceptedSessions(ctx, q); return err },
		"Prompt":           func(q persistence.Querier) error { _, _, err := core.Prompt(ctx, q, "main", "p"); return err },
		"UsedKey":          func(q persistence.Querier) error { _, _, err := core.UsedKey(ctx, q, "main", "k"); return err },
		"PermissionRecord": func(q persistence.Querier) error { _, _, err := core.PermissionRecord(ctx, q, "main", "r"); return err },
		"Outcome":          func(q persistence.Querier) error { _, _, err := core.Outcome(ctx, q, "main", "r"); return err },
		"Check":            func(q persistence.Querier) error { _, err := core.Check(ctx, q); return err },
	}
	closed := &persistence.Error{Class: persistence.ClassClosed, Err: errors.New("gone")}
	for name, read := range reads {
		if err := read(failing{closed}); protocol.CodeOf(err) != protocol.CodeStorageUnavailable || !errors.Is(err, closed) {
			t.Errorf("%s on a closed handle = %v; want %s", name, err, protocol.CodeStorageUnavailable)
		}
		if err := read(failing{context.Canceled}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s cancelled = %v", name, err)
		}
	}
}
