package e2e

import (
	"context"
	"errors"
	"testing"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
)

// withDatabase reads a database file that no process uses.
func withDatabase(t *testing.T, path string, read func(persistence.Querier)) {
	t.Helper()
	source, err := sqlitefile.Acquire(path, sqlitefile.Options{ReadOnly: true, Command: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := source.Release(); err != nil {
			t.Errorf("release the database: %v", err)
		}
	}()
	db, err := source.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	}()
	read(db)
}

func query(t *testing.T, db persistence.Querier, sql string) [][]persistence.Value {
	t.Helper()
	rows, err := db.Query(context.Background(), persistence.Query{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// turnRow is one turn as it is stored.
type turnRow struct {
	prompt, state, result, code string
	first                       int64 // the sequence of its first event
}

// nothing are the queries that must find nothing while no turn runs: what the
// database has counters for is counted anew, in the plainest way.
var nothing = map[string]string{
	"sessions whose counters are not those of their events": `SELECT session_id, latest_sequence, retained_event_count, retained_event_bytes
		FROM agentos_core_sessions s WHERE (latest_sequence, retained_event_count, retained_event_bytes, oldest_retained_sequence) IS NOT
		(SELECT coalesce(max(sequence), 0), count(*), coalesce(sum(length(CAST(payload_json AS BLOB))), 0), 1
		FROM agentos_core_events e WHERE e.session_id = s.session_id)`,
	"totals that are not those of the rows": `SELECT sessions, prompts, pending, outcomes FROM agentos_core_totals
		WHERE (sessions, prompts, pending, outcomes) IS NOT
		((SELECT count(*) FROM agentos_core_sessions), (SELECT count(*) FROM agentos_core_prompts), 0,
		(SELECT count(*) FROM agentos_core_permission_outcomes))`,
	"turns without an end":           `SELECT prompt_id FROM agentos_core_prompts WHERE state NOT IN ('completed', 'failed')`,
	"permissions without an outcome": `SELECT request_id FROM agentos_core_permission_records`,
	"runs without an end":            `SELECT run FROM agentos_core_open_parts`,
	"sessions at work":               `SELECT session_id FROM agentos_core_sessions WHERE state NOT IN ('idle', 'failed')`,
	"more than one session":          `SELECT session_id FROM agentos_core_sessions WHERE session_id != 'main'`,
}

const turnsOfMain = `SELECT prompt_id, state, coalesce(result_json, ''), coalesce(error_json->>'$.code', ''), first_input_sequence
	FROM agentos_core_prompts WHERE session_id = 'main' ORDER BY first_input_sequence`

// audit looks into the database file and returns the turns, in order.
func audit(t *testing.T, path string) (turns []turnRow) {
	t.Helper()
	withDatabase(t, path, func(db persistence.Querier) {
		for what, sql := range nothing {
			for _, row := range query(t, db, sql) {
				t.Errorf("%s: %v", what, row)
			}
		}
		for _, row := range query(t, db, turnsOfMain) {
			first, ok := row[4].(int64)
			if !ok {
				t.Fatal(errors.New("a turn without a first event"))
			}
			turns = append(turns, turnRow{row[0].(string), row[1].(string), row[2].(string), row[3].(string), first})
		}
	})
	return turns
}
