package core

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/persistence/schema"
	"agentos/protocol"
)

// statements is every SQL text of the package, by its constant's name.
var statements = map[string]string{
	"insertSession": insertSession, "advanceSession": advanceSession, "extendSession": extendSession, "bindAdapter": bindAdapter,
	"changeProfile": changeProfile, "changeLaunch": changeLaunch, "insertEvent": insertEvent,
	"insertPrompt": insertPrompt, "endPrompt": endPrompt, "insertRecord": insertRecord, "closeRecord": closeRecord,
	"deletePending": deletePending, "insertOutcome": insertOutcome, "copyOutcomes": copyOutcomes,
	"countOutcomes": countOutcomes, "deleteClosed": deleteClosed, "addTotals": addTotals,
	"loadSession": loadSession, "loadPending": loadPending, "acceptedSessions": acceptedSessions,
	"historyAfter": historyAfter, "historyBefore": historyBefore, "largeAfter": largeAfter, "largeBefore": largeBefore,
	"eventRange":   eventRange,
	"listSessions": listSessions, "promptByID": promptByID, "loadQueue": loadQueue,
	"markDeleted": markDeleted, "insertQueued": insertQueued, "editQueued": editQueued, "deleteQueued": deleteQueued, "promptByKey": promptByKey, "keyByName": keyByName,
	"deletingSessions": deletingSessions, "isDeleting": isDeleting, "sweepEvents": sweepEvents, "deleteEvents": deleteEvents,
	"sweepPrompts": sweepPrompts, "deletePrompt": deletePrompt, "sweepRecords": sweepRecords, "deleteRecord": deleteRecord,
	"sweepOutcomes": sweepOutcomes, "deleteOutcome": deleteOutcome, "sweepParts": sweepParts, "deletePart": deletePart,
	"sweepKeys": sweepKeys, "deleteKey": deleteKey, "sweepQueue": sweepQueue, "deleteSession": deleteSession,
	"nameSession": nameSession, "forgetName": forgetName,
	"recordByID": recordByID, "outcomeByID": outcomeByID,
	"checkSessions": checkSessions, "checkTotals": checkTotals,
}

func migrated(t *testing.T) persistence.DB {
	t.Helper()
	source, err := memdb.New()
	if err != nil {
		t.Fatal(err)
	}
	var plan schema.Plan
	db, err := source.Open(func(q persistence.Querier) error {
		plan, err = schema.Inspect(q, []schema.Owner{Owner})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := source.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := schema.Run(db, plan, func() string { return "key" }); err != nil {
		t.Fatal(err)
	}
	return db
}

func explain(t *testing.T, db persistence.DB, how, sql string) [][]persistence.Value {
	t.Helper()
	rows, err := db.Query(context.Background(), persistence.Query{
		SQL: how + sql, Args: make([]persistence.Value, strings.Count(sql, "?")),
	})
	if err != nil {
		t.Fatalf("%s%s: %v", how, sql, err)
	}
	return rows
}

// Every SQL constant is in statements, and runs on the newest schema.
func TestStatements_Prepare(t *testing.T) {
	for _, file := range []string{"statements.go", "queries.go", "checkqueries.go", "sweepqueries.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for _, id := range spec.Names {
					if statements[id.Name] == "" && !strings.HasSuffix(id.Name, "Columns") && id.Name != "sessionKey" && id.Name != "leftoverTables" {
						t.Errorf("%s: %s is not tested", file, id.Name)
					}
				}
			}
			return true
		})
	}
	db := migrated(t)
	for name, sql := range statements {
		if len(explain(t, db, "EXPLAIN ", sql)) == 0 {
			t.Errorf("%s: nothing to run", name)
		}
	}
	for _, table := range leftoverTables {
		explain(t, db, "EXPLAIN ", table.sql)
	}
}

// What runs while people wait seeks in indexes, so that it costs the same in a
// large database as in a small one (S12.2, S12.3). What may be walked is a page
// that a LIMIT bounds, and the index that the list of sessions is in the order
// of; what may be sorted is as many rows as there are turns or open requests.
func TestS12_3_IndexSeeks(t *testing.T) {
	walks := []string{"SCAN CONSTANT ROW", "SCAN (subquery-", "SCAN page", "SCAN s USING INDEX agentos_core_sessions_by_activity",
		"SCAN agentos_core_sessions USING COVERING INDEX agentos_core_sessions_deleting"}
	db := migrated(t)
	for name, sql := range statements {
		if name == "checkSessions" || name == "checkTotals" {
			continue
		}
		for _, row := range explain(t, db, "EXPLAIN QUERY PLAN ", sql) {
			step := row[3].(string)
			if strings.Contains(step, "TEMP B-TREE") && name != "loadPending" && name != "acceptedSessions" {
				t.Errorf("%s sorts: %s", name, step)
			}
			bounded := slices.ContainsFunc(walks, func(walk string) bool { return strings.HasPrefix(step, walk) })
			if strings.HasPrefix(step, "SCAN") && !bounded {
				t.Errorf("%s scans: %s", name, step)
			}
		}
	}
}

// A cursor is what it was made from, or refused.
func FuzzCursor(f *testing.F) {
	f.Add(place{1, "main"}.String())
	f.Add(place{1 << 62, "ünï"}.String())
	for _, s := range []string{"", "AQ", "AQAAAAAAAAAA", "AgAAAAAAAAABbWFpbg", "AYAAAAAAAAABbWFpbg", "AQAAAAAAAAABbWFpbh", "====", "AQAAAAAAAAABAA", "AQAAAAAAAAABbWFpbg\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(s)
		switch {
		case err != nil && protocol.CodeOf(err) != protocol.CodeInvalidSessionCursor:
			t.Errorf("parseCursor(%q) = %v", s, err)
		case err == nil && (p.String() != s || p.at < 0 || protocol.ValidSessionID(p.id) != nil):
			t.Errorf("parseCursor(%q) = %+v, which is %q", s, p, p.String())
		}
	})
}
