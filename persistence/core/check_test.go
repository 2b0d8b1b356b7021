package core_test

import (
	"fmt"
	"strings"
	"testing"

	"agentos/persistence/core"
	"agentos/protocol"
)

// Each kind of damage is found and named, and one kind of damage is not taken
// for another.
func TestS12_3_CheckFinds(t *testing.T) {
	for _, tc := range []struct {
		name, sql string
		want      []string // "session: what" of the findings, in order
	}{
		{"nothing", `SELECT 1`, nil},
		{"gap", `DELETE FROM agentos_core_event_log WHERE session_key = ` + keyOf("busy") + ` AND sequence = 2;
			UPDATE agentos_core_sessions SET retained_event_count = 2, retained_event_bytes = retained_event_bytes - 1 WHERE session_id = 'busy'`,
			[]string{"busy: the history has a gap"}},
		{"lost tail", `DELETE FROM agentos_core_event_log WHERE session_key = ` + keyOf("busy") + ` AND sequence = 3;
			UPDATE agentos_core_sessions SET retained_event_count = 2, retained_event_bytes = 2 WHERE session_id = 'busy'`,
			[]string{"busy: the history is not what the session says"}},
		{"lost history", `DELETE FROM agentos_core_event_log WHERE session_key = ` + keyOf("idle"),
			[]string{"idle: the history is not what the session says", "idle: the count of events is wrong", "idle: the bytes of events are wrong"}},
		{"count", `UPDATE agentos_core_sessions SET retained_event_count = 7 WHERE session_id = 'idle'`,
			[]string{"idle: the count of events is wrong"}},
		{"bytes", `UPDATE agentos_core_sessions SET retained_event_bytes = 7 WHERE session_id = 'idle'`,
			[]string{"idle: the bytes of events are wrong"}},
		{"oldest", `UPDATE agentos_core_sessions SET oldest_retained_sequence = 2 WHERE session_id = 'idle'`,
			[]string{"idle: the history is not what the session says"}},
		{"idle with an accepted prompt", `UPDATE agentos_core_prompts SET state = 'accepted', result_json = NULL WHERE session_id = 'idle'`,
			[]string{"idle: a prompt is accepted and the session does not run it"}},
		{"several accepted prompts", `DROP INDEX agentos_core_prompts_one_active;
			INSERT INTO agentos_core_prompts SELECT session_id, 'second', NULL, input_hash, state, NULL, NULL, NULL, NULL, 1, 1
				FROM agentos_core_prompts WHERE session_id = 'busy';
			UPDATE agentos_core_totals SET prompts = prompts + 1`,
			[]string{"busy: several prompts are accepted"}},
		{"runs no prompt", `DELETE FROM agentos_core_permission_records WHERE session_id = 'busy';
			UPDATE agentos_core_totals SET pending = 0;
			UPDATE agentos_core_sessions SET state = 'running' WHERE session_id = 'busy';
			UPDATE agentos_core_prompts SET state = 'failed', error_json = '{}' WHERE session_id = 'busy'`,
			[]string{"busy: the session runs a prompt that is not accepted"}},
		{"failed without a failed prompt", `DELETE FROM agentos_core_prompts WHERE session_id = 'failed';
			UPDATE agentos_core_totals SET prompts = prompts - 1`,
			[]string{"failed: the session failed with a prompt that did not"}},
		{"waiting for nothing", `DELETE FROM agentos_core_permission_records; UPDATE agentos_core_totals SET pending = 0`,
			[]string{"busy: the session is waiting with nothing pending, or the reverse"}},
		{"running with a permission pending", `UPDATE agentos_core_sessions SET state = 'running' WHERE session_id = 'busy'`,
			[]string{"busy: the session is waiting with nothing pending, or the reverse"}},
		{"pending without its turn", `UPDATE agentos_core_permission_records SET session_id = 'idle';
			UPDATE agentos_core_sessions SET state = 'running' WHERE session_id = 'busy'`,
			[]string{"idle: a permission is pending without its turn"}},
		{"closed record that stayed", `INSERT INTO agentos_core_permission_records VALUES ('idle', 'r', 'p', 'permission', 'responded', '1', '1', 'accepted', 1, 1, 1)`,
			[]string{"idle: a permission record has outlived its turn"}},
		{"total", `UPDATE agentos_core_totals SET outcomes = 9`, []string{": a total is wrong"}},
		{"no totals", `DELETE FROM agentos_core_totals`, []string{": the totals have no row"}},
		{"session gone", `DELETE FROM agentos_core_sessions WHERE session_id = 'busy'; UPDATE agentos_core_totals SET sessions = 2`,
			[]string{"busy: rows of a session that is not there", "busy: rows of a session that is not there", "busy: rows of a session that is not there", "busy: rows of a session that is not there"}},
		{"leftovers of our own tables", `INSERT INTO agentos_core_open_parts VALUES ('gone', 'r', 1, 1, '1');
			INSERT INTO agentos_core_prompt_keys VALUES ('gone', 'k', zeroblob(32), 'p', NULL, 1);
			INSERT INTO agentos_core_prompt_queue VALUES ('gone', 'q', 1, '[]', zeroblob(32), NULL, 1);
			INSERT INTO agentos_core_permission_outcomes VALUES ('gone', 'r', 'accepted', 1); UPDATE agentos_core_totals SET outcomes = outcomes + 1`,
			[]string{"gone: rows of a session that is not there", "gone: rows of a session that is not there", "gone: rows of a session that is not there", "gone: rows of a session that is not there"}},
		{"a session that is being deleted", `UPDATE agentos_core_sessions SET deleting = 1 WHERE session_id = 'busy'; DELETE FROM agentos_core_event_log WHERE session_key = ` + keyOf("busy"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := newDB(t)
			for _, id := range []protocol.SessionID{"busy", "failed", "idle"} {
				w := opened(t, db, id)
				mustWrite(t, db, w.batch(func() { w.accept("", "1", "2") }))
				switch id {
				case "busy":
					mustWrite(t, db, w.batch(func() { w.ask("3") }))
				case "failed":
					mustWrite(t, db, w.batch(func() { w.end("", "{}") }))
				case "idle":
					mustWrite(t, db, w.batch(func() { w.end(result, "") }))
				}
			}
			exec(t, db, strings.Split(tc.sql, ";")...)
			findings, err := core.Check(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, fmt.Sprintf("%s: %s", f.Session, f.What))
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("Check found %q; want %q", findings, tc.want)
			}
		})
	}
}

// More sessions than a page has are all checked, and findings have an end.
func TestS12_3_CheckPagesAndEnds(t *testing.T) {
	db := newDB(t)
	var group []protocol.Batch
	for i := range 1100 {
		w := newTwin(name[protocol.SessionID]("s", i))
		group = append(group, w.batch(func() { w.open(spec) }, func() { w.update("1") }))
	}
	mustWrite(t, db, group...)
	noFindings(t, db)
	exec(t, db, `UPDATE agentos_core_sessions SET retained_event_count = 9`)
	findings, err := core.Check(ctx, db)
	if err != nil || len(findings) != core.MaxFindings || findings[len(findings)-1].What != "too many findings" {
		t.Errorf("Check = %d findings, %v; want %d, the last saying that there are more", len(findings), err, core.MaxFindings)
	}
}

// keyOf is SQL for the number that the events of a session have.
func keyOf(id string) string {
	return `(SELECT session_key FROM agentos_core_session_keys WHERE session_id = '` + id + `')`
}
