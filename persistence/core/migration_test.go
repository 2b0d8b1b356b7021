package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/protocol"
)

// The databases that AgentOS 0.2.21 wrote; one of them was killed in two turns.
const (
	finished = "agentos-0.2.21.db"
	crashed  = "agentos-0.2.21-crashed.db"
)

// fixture returns a copy of a stored database, as it is.
func fixture(t *testing.T, name string) persistence.DB {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "test", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "vm.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

// stepOne returns a database with version 1 only.
func stepOne(t *testing.T) persistence.DB {
	t.Helper()
	db := openDB(t)
	first := core.Owner
	first.Steps = first.Steps[:1]
	plan, err := schema.Inspect(db, []schema.Owner{first})
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Run(db, plan, func() string { return "key" }); err != nil {
		t.Fatal(err)
	}
	return db
}

const coreTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'agentos_core_*' ORDER BY name`

// definitions returns the definitions of the core tables and indexes, by name,
// without white space: what two databases must agree in.
func definitions(t *testing.T, db persistence.DB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, row := range read(t, db, `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name GLOB 'agentos_core_*'`) {
		all[row[0].(string)] = strings.Join(strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(row[1].(string))), " ")
	}
	return all
}

// Our version 1 has AgentOS's columns, types, keys, CHECKs and indexes.
func TestS3_Version1IsAgentOS(t *testing.T) {
	if d := cmp.Diff(definitions(t, fixture(t, finished)), definitions(t, stepOne(t))); d != "" {
		t.Error(d)
	}
}

// A database of our version 1 takes every row that AgentOS wrote.
func TestS3_Version1TakesAgentOSRows(t *testing.T) {
	for _, name := range []string{finished, crashed} {
		from, to := fixture(t, name), stepOne(t)
		exec(t, to, `DELETE FROM agentos_core_schema_version`)
		for _, table := range read(t, from, coreTables) {
			rows := read(t, from, fmt.Sprintf("SELECT * FROM %s", table[0]))
			if len(rows) == 0 {
				continue
			}
			insert := fmt.Sprintf("INSERT INTO %s VALUES (?%s)", table[0], strings.Repeat(", ?", len(rows[0])-1))
			if err := to.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: insert, Rows: rows, Want: -1}}}}); err != nil {
				t.Errorf("%s: %s: %v", name, table[0], err)
			}
		}
		if d := cmp.Diff(dump(t, from), dump(t, to)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Migration keeps every value of every row, fills what is new, and leaves a
// database that is sound and can be read (MG-03).
func TestS2_5_MigratesAgentOSDatabases(t *testing.T) {
	for _, tc := range []struct {
		name      string
		events    map[protocol.SessionID]int
		totals    []persistence.Value
		accepted  []protocol.SessionID
		states    map[protocol.SessionID]protocol.State
		pendingOf protocol.SessionID
	}{
		{finished, map[protocol.SessionID]int{"main": 23, "asks": 4}, []persistence.Value{int64(2), int64(7), int64(0), int64(1)}, []protocol.SessionID{},
			map[protocol.SessionID]protocol.State{"main": protocol.StateIdle, "asks": protocol.StateIdle}, ""},
		{crashed, map[protocol.SessionID]int{"main": 24, "asks": 6}, []persistence.Value{int64(2), int64(9), int64(1), int64(1)}, []protocol.SessionID{"asks", "main"},
			map[protocol.SessionID]protocol.State{"main": protocol.StateRunning, "asks": protocol.StateWaiting}, "asks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := fixture(t, tc.name)
			before := make(map[string][][]persistence.Value)
			columns := make(map[string]string)
			for _, table := range read(t, db, coreTables) {
				n := table[0].(string)
				if n == core.Owner.VersionTable {
					continue
				}
				columns[n] = read(t, db, `SELECT group_concat(name) FROM pragma_table_info(?)`, n)[0][0].(string)
				before[n] = read(t, db, "SELECT "+columns[n]+" FROM "+n+" ORDER BY 1, 2")
			}
			migrate(t, db)
			for n, want := range before {
				if d := cmp.Diff(want, read(t, db, "SELECT "+columns[n]+" FROM "+n+" ORDER BY 1, 2")); d != "" {
					t.Errorf("%s: %s", n, d)
				}
			}
			noFindings(t, db)
			if d := cmp.Diff(tc.totals, read(t, db, `SELECT sessions, prompts, pending, outcomes FROM agentos_core_totals`)[0]); d != "" {
				t.Errorf("totals: %s", d)
			}
			ids, err := core.AcceptedSessions(ctx, db)
			if d := cmp.Diff(tc.accepted, ids); d != "" || err != nil {
				t.Errorf("AcceptedSessions = %v, %s", err, d)
			}
			for id, n := range tc.events {
				snap, found, err := core.Load(ctx, db, id)
				if err != nil || !found {
					t.Fatalf("Load(%q) = %v, %v", id, found, err)
				}
				r := snap.Record
				if !r.Prompted || r.Armed || r.RestoredBy != "" || r.State != tc.states[id] || (len(snap.Pending) > 0) != (id == tc.pendingOf) {
					t.Errorf("Load(%q) = %+v", id, snap)
				}
				if events := history(t, db, id, 5); len(events) != n {
					t.Errorf("%d events of %q; want %d", len(events), id, n)
				}
			}
			goesOn(t, db)
		})
	}
}

// goesOn runs a new session in a migrated database, and one more turn in the
// session asks if that is idle.
func goesOn(t *testing.T, db persistence.DB) {
	t.Helper()
	w := opened(t, db, "new")
	mustWrite(t, db, w.batch(func() { w.accept("k", "1") }, func() { w.ask("1") }), w.batch(func() { w.end(result, "") }))
	snap, _, err := core.Load(ctx, db, "asks")
	if err != nil {
		t.Fatal(err)
	}
	if snap.Record.State == protocol.StateIdle {
		v := newTwin("asks")
		v.exists, v.snap, v.now = true, snap, snap.Record.LastAt
		mustWrite(t, db, v.batch(func() { v.accept("", "1") }, func() { v.end(result, "") }))
	}
	noFindings(t, db)
}

// What is known of an AgentOS session that has run.
func TestS2_5_LoadsAnAgentOSSession(t *testing.T) {
	db := fixture(t, crashed)
	migrate(t, db)
	snap, _, err := core.Load(ctx, db, "asks")
	if err != nil {
		t.Fatal(err)
	}
	request := `{"sessionId":"asks","toolCall":{"toolCallId":"t1","title":"Write a.txt","kind":"edit","status":"pending"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}`
	want := protocol.Snapshot{
		Record: protocol.Record{
			ID:    "asks",
			Spec:  protocol.Spec{Agent: "tiny", Cwd: "/home/agentos", Policy: protocol.PolicyAsk},
			State: protocol.StateWaiting, Prompt: "745b4d06-8868-4ab2-8eda-b9d9e4233e4c", StartedAt: 1796072707643,
			ACPSession: "tiny-1796072694273-1", Prompted: true,
			Capabilities: []byte(`{"loadSession":true,"sessionCapabilities":{"resume":{},"close":{}}}`), AgentInfo: []byte(`{"name":"tiny","version":"0.1.0"}`),
			Latest: 6, OldestRetained: 1, RetainedEvents: 6, RetainedBytes: 899,
			CreatedAt: 1796072694274, UpdatedAt: 1796072707645, LastAt: 1796072707645,
		},
		Active: &protocol.Prompt{
			ID: "745b4d06-8868-4ab2-8eda-b9d9e4233e4c", State: protocol.PromptAcceptedState, FirstInput: 5,
			CreatedAt: 1796072707643, UpdatedAt: 1796072707643, Hash: snap.Active.Hash,
		},
		Pending: []protocol.Permission{{
			ID: "0c07f8a0-33ce-42c4-a1d3-6cab895b36a9", Prompt: "745b4d06-8868-4ab2-8eda-b9d9e4233e4c", State: protocol.PermissionPending,
			Request: []byte(request), CreatedAt: 1796072707645, UpdatedAt: 1796072707645,
		}},
	}
	if d := cmp.Diff(want, snap); d != "" {
		t.Error(d)
	}
	if reason, found, err := core.Outcome(ctx, db, "asks", "25eaaf11-a105-4e7a-a17e-7a4468b06022"); reason != protocol.ReasonAccepted || !found || err != nil {
		t.Errorf("Outcome = %q, %v, %v", reason, found, err)
	}
	use, found, err := core.UsedKey(ctx, db, "main", "k3")
	if err != nil || !found || use.Prompt == nil {
		t.Fatalf("UsedKey = %+v, %v, %v", use, found, err)
	}
	if p := use.Prompt; p.ID != "4dd1a624-a2a2-428b-9342-543b3488d2a4" || p.State != protocol.PromptCompletedState || use.Hash != p.Hash {
		t.Errorf("UsedKey = %+v", p)
	}
}

// Counters that have drifted follow the rows from then on; numbers that were
// given out are not given out again (S12.3).
func TestS12_3_MigrationReconciles(t *testing.T) {
	db := stepOne(t)
	session := func(id string, acp persistence.Value, latest, oldest, n, bytes int64) {
		t.Helper()
		sql := `INSERT INTO agentos_core_sessions (session_id, agent, acp_session_id, state, cwd, permission_policy, skip_os_instructions,
			additional_directories_json, env_json, mcp_servers_json, latest_sequence, oldest_retained_sequence, retained_event_count,
			retained_event_bytes, created_at_ms, updated_at_ms) VALUES (?, 'a', ?, 'idle', '/', 'ask', 0, '[]', '{}', '[]', ?, ?, ?, ?, 0, 0)`
		if err := db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: sql, Rows: [][]persistence.Value{{id, acp, latest, oldest, n, bytes}}, Want: -1}}}}); err != nil {
			t.Fatal(err)
		}
	}
	session("right", "acp", 3, 2, 2, 3)
	session("wrong", nil, 1, 1, 9, 9)
	session("pruned", "acp", 5, 1, 0, 0)
	session("unused", "acp", 0, 1, 0, 0)
	event := `INSERT INTO agentos_core_events (session_id, sequence, occurred_at_ms, acp_protocol_version, event_kind, payload_json, payload_bytes) VALUES `
	exec(t, db, event+`('right', 2, 1, 1, 'session_update', '1', 1), ('right', 3, 1, 1, 'session_update', '22', 2)`,
		event+`('wrong', 4, 1, 1, 'session_update', '333', 3), ('wrong', 5, 1, 1, 'session_update', '"é"', 4)`,
		`INSERT INTO agentos_core_prompts VALUES ('right', 'p', NULL, zeroblob(32), 'cancelled', NULL, '{}', 2, 3, 1, 1), ('wrong', 'p', NULL, zeroblob(32), 'completed', '{}', NULL, 4, 5, 1, 1)`)
	migrate(t, db)
	got := read(t, db, `SELECT session_id, latest_sequence, oldest_retained_sequence, retained_event_count, retained_event_bytes, prompted FROM agentos_core_sessions ORDER BY rowid`)
	want := [][]persistence.Value{
		{"right", int64(3), int64(2), int64(2), int64(3), int64(1)},
		{"wrong", int64(5), int64(4), int64(2), int64(7), int64(0)},
		{"pruned", int64(5), int64(6), int64(0), int64(0), int64(0)},
		{"unused", int64(0), int64(1), int64(0), int64(0), int64(0)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	noFindings(t, db)
}

// The columns and tables of version 2 refuse what no session may be.
func TestS3_Version2Checks(t *testing.T) {
	for name, tc := range map[string]struct {
		sql string
		ok  bool
	}{
		"armed":                   {`UPDATE agentos_core_sessions SET acp_session_id = 'a', armed = 1`, true},
		"armed without adapter":   {`UPDATE agentos_core_sessions SET armed = 1`, false},
		"prompted without it":     {`UPDATE agentos_core_sessions SET prompted = 1`, false},
		"armed twice":             {`UPDATE agentos_core_sessions SET acp_session_id = 'a', armed = 2`, false},
		"restored by magic":       {`UPDATE agentos_core_sessions SET restored_by = 'magic'`, false},
		"launch":                  {`UPDATE agentos_core_sessions SET launch_json = '{"argv":["x"]}'`, true},
		"launch without argv":     {`UPDATE agentos_core_sessions SET launch_json = '{}'`, false},
		"launch that is no JSON":  {`UPDATE agentos_core_sessions SET launch_json = 'x'`, false},
		"previous ids, no array":  {`UPDATE agentos_core_sessions SET previous_acp_json = '{}'`, false},
		"previous ids, NULL":      {`UPDATE agentos_core_sessions SET previous_acp_json = NULL`, false},
		"deleting":                {`UPDATE agentos_core_sessions SET deleting = 2`, false},
		"incomplete":              {`UPDATE agentos_core_event_log SET incomplete = 2`, false},
		"part":                    {`INSERT INTO agentos_core_open_parts VALUES ('s', 'r', 1, 1, '{}')`, true},
		"part 0":                  {`INSERT INTO agentos_core_open_parts VALUES ('s', 'r', 0, 1, '{}')`, false},
		"part that is no JSON":    {`INSERT INTO agentos_core_open_parts VALUES ('s', 'r', 1, 1, '{')`, false},
		"key":                     {`INSERT INTO agentos_core_prompt_keys VALUES ('s', 'k', zeroblob(32), 'p', NULL, 1)`, true},
		"key without text":        {`INSERT INTO agentos_core_prompt_keys VALUES ('s', '', zeroblob(32), 'p', NULL, 1)`, false},
		"key with a short hash":   {`INSERT INTO agentos_core_prompt_keys VALUES ('s', 'k', zeroblob(31), 'p', NULL, 1)`, false},
		"queued":                  {`INSERT INTO agentos_core_prompt_queue VALUES ('s', 'q', 1, '[]', zeroblob(32), NULL, 1)`, true},
		"queued at one position":  {`INSERT INTO agentos_core_prompt_queue VALUES ('s', 'q', 1, '[]', zeroblob(32), NULL, 1), ('s', 'r', 1, '[]', zeroblob(32), NULL, 1)`, false},
		"queued with one key":     {`INSERT INTO agentos_core_prompt_queue VALUES ('s', 'q', 1, '[]', zeroblob(32), 'k', 1), ('s', 'r', 2, '[]', zeroblob(32), 'k', 1)`, false},
		"totals below zero":       {`UPDATE agentos_core_totals SET pending = -1`, false},
		"second row of totals":    {`INSERT INTO agentos_core_totals VALUES (2, 0, 0, 0, 0)`, false},
		"second accepted prompt":  {`INSERT INTO agentos_core_prompts SELECT session_id, 'p2', NULL, input_hash, state, NULL, NULL, NULL, NULL, 1, 1 FROM agentos_core_prompts`, false},
		"idle with a prompt":      {`UPDATE agentos_core_sessions SET state = 'idle'`, false},
		"text where a number is":  {`UPDATE agentos_core_sessions SET latest_sequence = 'x'`, false},
		"sequence above 2^53 - 1": {`UPDATE agentos_core_sessions SET latest_sequence = 9007199254740992`, false},
	} {
		db := newDB(t)
		w := opened(t, db, "main")
		mustWrite(t, db, w.batch(func() { w.accept("", "1") }))
		err := db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: tc.sql, Rows: [][]persistence.Value{{}}, Want: -1}}}})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v; want ok %v", name, err, tc.ok)
		}
	}
}
