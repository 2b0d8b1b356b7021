package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentos/persistence"
)

// storedDir has databases of every released schema version; its README says
// what is in them.
const storedDir = "../testdata"

// storedNames are the names of the stored databases.
func storedNames(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(storedDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".db") || strings.HasSuffix(f.Name(), ".db.gz") {
			names = append(names, f.Name())
		}
	}
	return names
}

// storedBytes is a stored database, byte for byte.
func storedBytes(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(storedDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatalf("unpack %s: %v", name, err)
	}
	return data
}

// putStored makes a copy of a stored database at path.
func putStored(t *testing.T, name, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, storedBytes(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
}

// row is one row: its columns as SQL literals, which tell every value and type
// from every other.
type row map[string]string

// rows are all rows of our tables, by table and primary key.
type rows map[string]map[string]row

// rowsOf reads all of a database file that no process uses.
func rowsOf(t *testing.T, path string) rows {
	t.Helper()
	all := rows{}
	withDatabase(t, path, func(db persistence.Querier) {
		for _, found := range query(t, db, `SELECT name FROM sqlite_schema
			WHERE type IN ('table', 'view') AND name GLOB 'agentos_*' AND name NOT IN ('agentos_core_event_log', 'agentos_core_session_keys')`) {
			table := found[0].(string)
			all[table] = map[string]row{}
			columns, literals, keys := columnsOf(t, db, table)
			for _, values := range query(t, db, "SELECT "+strings.Join(literals, ", ")+" FROM "+table) {
				r, key := row{}, []string{}
				for i, v := range values {
					if r[columns[i]] = v.(string); keys[i] {
						key = append(key, v.(string))
					}
				}
				all[table][strings.Join(key, " ")] = r
			}
		}
	})
	return all
}

func columnsOf(t *testing.T, db persistence.Querier, table string) (columns, literals []string, keys []bool) {
	t.Helper()
	for _, c := range query(t, db, fmt.Sprintf("SELECT name, pk FROM pragma_table_info('%s') ORDER BY cid", table)) {
		columns = append(columns, c[0].(string))
		literals = append(literals, "quote("+c[0].(string)+")")
		key := c[1] != int64(0)
		if table == "agentos_core_events" { // a view since core version 3
			key = c[0] == "session_id" || c[0] == "sequence"
		}
		keys = append(keys, key)
	}
	return columns, literals, keys
}

// changes says what is different in the tables and columns that were there
// before: "TABLE KEY COLUMN", or "TABLE KEY" and gone or new. It is in order.
func changes(before, after rows) []string {
	var found []string
	for table, old := range before {
		for key, was := range old {
			is, there := after[table][key]
			if !there {
				found = append(found, table+" "+key+" gone")
				continue
			}
			for column, value := range was {
				if is[column] != value {
					found = append(found, table+" "+key+" "+column)
				}
			}
		}
		for key := range after[table] {
			if _, there := old[key]; !there {
				found = append(found, table+" "+key+" new")
			}
		}
	}
	slices.Sort(found)
	return found
}

// of returns the rows of a table in which the columns have these values, in the
// order of their keys.
func (all rows) of(table string, want row) []row {
	var found []row
	for _, key := range slices.Sorted(maps.Keys(all[table])) {
		r, fits := all[table][key], true
		for column, value := range want {
			fits = fits && r[column] == value
		}
		if fits {
			found = append(found, r)
		}
	}
	return found
}

// opening is what the first command that uses a database changes in it: it takes
// the steps that are missing and the fence, and settles every turn that was
// running, in one transaction each (S2.5, S2.6, S6.10).
func opening(before rows) []string {
	var want []string
	add := func(format string, args ...any) { want = append(want, fmt.Sprintf(format, args...)) }
	for _, o := range owners {
		if r, there := before[o.VersionTable]["1"]; there && r["schema_version"] != fmt.Sprint(len(o.Steps)) {
			add("%s 1 schema_version", o.VersionTable)
		}
	}
	if before["agentos_actor_fence"] != nil {
		add("agentos_actor_fence 1 epoch")
		add("agentos_actor_fence 1 last_key")
		if before["agentos_actor_fence"]["1"]["owner_json"] != `'{"client":"agentos"}'` {
			add("agentos_actor_fence 1 owner_json")
		}
	}
	pending := 0
	for _, p := range before.of("agentos_core_prompts", row{"state": "'accepted'"}) {
		session := p["session_id"]
		for _, column := range []string{"error_json", "last_output_sequence", "state", "updated_at_ms"} {
			add("agentos_core_prompts %s %s %s", session, p["prompt_id"], column)
		}
		add("agentos_core_sessions %s state", session)
		add("agentos_core_sessions %s updated_at_ms", session)
		asked := before.of("agentos_core_permission_records", row{"session_id": session, "prompt_id": p["prompt_id"]})
		latest, events := before["agentos_core_sessions"][session]["latest_sequence"], 0
		for _, r := range asked {
			add("agentos_core_permission_records %s %s gone", session, r["request_id"])
			add("agentos_core_permission_outcomes %s %s new", session, r["request_id"])
			if r["state"] == "'pending'" {
				events++
				add("agentos_core_events %s %d new", session, number(latest)+events)
			}
		}
		pending += events
		if events > 0 {
			add("agentos_core_sessions %s latest_sequence", session)
			add("agentos_core_sessions %s retained_event_bytes", session)
			add("agentos_core_sessions %s retained_event_count", session)
		}
	}
	if before["agentos_core_totals"] != nil && pending > 0 {
		add("agentos_core_totals 1 outcomes")
		add("agentos_core_totals 1 pending")
	}
	slices.Sort(want)
	return want
}

func number(literal string) (n int) {
	if _, err := fmt.Sscan(literal, &n); err != nil {
		panic(fmt.Sprintf("%q is no number", literal))
	}
	return n
}
