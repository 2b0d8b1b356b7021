package schema_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

var owners = []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner}

// keys returns a maker of fresh keys.
func keys() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("key-%d", n) }
}

func exec(t testing.TB, db persistence.DB, sql ...string) {
	t.Helper()
	var tx persistence.Tx
	for _, s := range sql {
		tx.Waves = append(tx.Waves, []persistence.Stmt{{SQL: s, Rows: [][]persistence.Value{{}}, Want: -1}})
	}
	if err := db.Tx(tx); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func read(t testing.TB, q persistence.Querier, sql string) [][]persistence.Value {
	t.Helper()
	rows, err := q.Query(context.Background(), persistence.Query{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// dump is the schema of the whole database and the versions in it.
func dump(t testing.TB, q persistence.Querier, owners []schema.Owner) [][]persistence.Value {
	t.Helper()
	all := read(t, q, `SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid`)
	for _, o := range owners {
		for _, row := range all {
			if row[1] == o.VersionTable && row[0] == "table" {
				all = append(all, read(t, q, "SELECT *, 0, 0 FROM "+o.VersionTable)...)
				break
			}
		}
	}
	return all
}

func migrate(t testing.TB, db persistence.DB, owners []schema.Owner) schema.Plan {
	t.Helper()
	plan, err := schema.Inspect(db, owners)
	if err != nil {
		t.Fatalf("Inspect = %v", err)
	}
	if err := schema.Run(db, plan, keys()); err != nil {
		t.Fatalf("Run = %v", err)
	}
	return plan
}

// A new database gets every owner's tables, all of them STRICT and in the
// owner's namespace, and is not touched by a second opening.
func TestS2_3_NewDatabase(t *testing.T) {
	db := openDB(t)
	if plan := migrate(t, db, owners); !plan.New || plan.Steps() != 6 {
		t.Errorf("plan of an empty database: new %v, %d steps; want new, 6 steps", plan.New, plan.Steps())
	}
	for _, row := range read(t, db, `SELECT m.name, coalesce(max(l.strict), 1) FROM sqlite_schema AS m
		LEFT JOIN pragma_table_list(m.name) AS l ON l.type = 'table' WHERE m.name NOT LIKE 'sqlite_autoindex%' GROUP BY m.name`) {
		name := row[0].(string)
		owned := 0
		for _, o := range owners {
			if strings.HasPrefix(name, o.Prefix) {
				owned++
			}
		}
		if owned != 1 {
			t.Errorf("%s has %d owners", name, owned)
		}
		if row[1] != int64(1) {
			t.Errorf("%s is not STRICT", name)
		}
	}
	for _, row := range read(t, db, `SELECT m.name, f."table" FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f`) {
		t.Errorf("%s refers to %s", row[0], row[1])
	}
	if v := read(t, db, "PRAGMA user_version")[0][0]; v != int64(0) {
		t.Errorf("user_version = %v; want 0", v)
	}
	before := dump(t, db, owners)
	if plan := migrate(t, db, owners); plan.New || plan.Steps() != 0 {
		t.Errorf("plan of a finished database: new %v, %d steps", plan.New, plan.Steps())
	}
	if d := cmp.Diff(before, dump(t, db, owners)); d != "" {
		t.Errorf("a second opening changed the schema: %s", d)
	}
}

// Whatever is wrong with one owner's version is found before anything is
// written, whichever owner it is, and the error names what was found.
func TestS2_4_Refused(t *testing.T) {
	owners := make([]schema.Owner, len(owners)) // with ladders that are quickly taken
	for i, name := range []string{"one", "two", "three"} {
		owners[i] = schema.Owner{Name: name, VersionTable: name + "_schema_version", Prefix: name + "_", Steps: []schema.Step{
			{Version: 1, Stmts: []string{"CREATE TABLE " + name + "_a (n INTEGER) STRICT"}},
			{Version: 2, Stmts: []string{"CREATE TABLE " + name + "_b (n INTEGER) STRICT"}},
		}}
	}
	loose := func(values string) []string {
		return []string{"DROP TABLE @", "CREATE TABLE @ (singleton, schema_version)", "INSERT INTO @ VALUES " + values}
	}
	for _, tc := range []struct {
		name  string
		sql   []string // @ is the version table
		code  protocol.Code
		found any
	}{
		{"future", []string{"UPDATE @ SET schema_version = 99"}, protocol.CodeFutureSchema, int64(99)},
		{"future, loose table", loose("(1, 99)"), protocol.CodeFutureSchema, int64(99)},
		{"missing row", []string{"DELETE FROM @"}, protocol.CodeCorruptSchema, nil},
		{"several rows", loose("(1, 1), (1, 1)"), protocol.CodeCorruptSchema, nil},
		{"many rows", loose("(1, 1), (2, 1), (3, 1)"), protocol.CodeCorruptSchema, nil},
		{"other row", loose("(2, 1)"), protocol.CodeCorruptSchema, nil},
		{"negative", loose("(1, -1)"), protocol.CodeCorruptSchema, int64(-1)},
		{"fractional", loose("(1, 1.5)"), protocol.CodeCorruptSchema, "1.5"},
		{"whole but not integer", loose("(1, 1.0)"), protocol.CodeCorruptSchema, "1"},
		{"text", loose("(1, '1')"), protocol.CodeCorruptSchema, `"1"`},
		{"blob", loose("(1, x'01')"), protocol.CodeCorruptSchema, "a blob"},
		{"NULL", loose("(1, NULL)"), protocol.CodeCorruptSchema, "NULL"},
		{"sound version, loose table", loose("(1, 1)"), protocol.CodeCorruptSchema, int64(1)},
		{"other columns", []string{"DROP TABLE @", "CREATE TABLE @ (id INTEGER PRIMARY KEY, version INTEGER) STRICT", "INSERT INTO @ VALUES (1, 1)"}, protocol.CodeCorruptSchema, nil},
		{"more columns", []string{"ALTER TABLE @ ADD COLUMN more TEXT"}, protocol.CodeCorruptSchema, nil},
		{"a view", []string{"DROP TABLE @", "CREATE VIEW @ AS SELECT 1 AS singleton, 1 AS schema_version"}, protocol.CodeCorruptSchema, nil},
		{"no version table beside the owner's tables", []string{"DROP TABLE @"}, protocol.CodeCorruptSchema, nil},
	} {
		for _, o := range owners {
			t.Run(tc.name+"/"+o.Name, func(t *testing.T) {
				db := openDB(t)
				migrate(t, db, owners)
				for _, other := range owners { // so that the others have steps to take
					if other.Name != o.Name {
						exec(t, db, "UPDATE "+other.VersionTable+" SET schema_version = 0")
					}
				}
				for _, sql := range tc.sql {
					exec(t, db, strings.ReplaceAll(sql, "@", o.VersionTable))
				}
				before := dump(t, db, owners)
				_, err := schema.Inspect(db, owners)
				if protocol.CodeOf(err) != tc.code {
					t.Fatalf("Inspect = %v; want %s", err, tc.code)
				}
				e := protocol.AsError(err, "")
				want := map[string]any{"owner": o.Name, "found": tc.found, "supported": len(o.Steps)}
				if d := cmp.Diff(want, e.Details); d != "" {
					t.Errorf("details: %s", d)
				}
				if !strings.Contains(e.Message, o.Name) {
					t.Errorf("%q does not name the owner", e.Message)
				}
				if d := cmp.Diff(before, dump(t, db, owners)); d != "" {
					t.Errorf("Inspect changed the database: %s", d)
				}
			})
		}
	}
}

func TestS2_4_NotAVMDatabase(t *testing.T) {
	for _, sql := range []string{
		"CREATE TABLE users (id INTEGER)",
		"CREATE VIEW v AS SELECT 1",
		"CREATE TABLE agentos_core_events (id INTEGER)", // ours by name, but nothing says so
		"CREATE VIRTUAL TABLE notes USING fts5(text)",
	} {
		db := openDB(t)
		exec(t, db, sql)
		if _, err := schema.Inspect(db, owners); protocol.CodeOf(err) != protocol.CodeNotAVMDatabase {
			t.Errorf("Inspect after %q = %v; want %s", sql, err, protocol.CodeNotAVMDatabase)
		}
	}
}

// The host's tables may be there first, and anybody's may stand beside ours.
func TestS2_3_OthersTables(t *testing.T) {
	db := openDB(t)
	exec(t, db, "CREATE TABLE _rivet_meta (key TEXT PRIMARY KEY)", "CREATE TABLE __rivet_probe (x INTEGER)", "INSERT INTO _rivet_meta VALUES ('k')")
	if plan := migrate(t, db, owners); !plan.New {
		t.Error("a database with nothing but the host's tables is not new")
	}
	exec(t, db, "CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('n')")
	if plan := migrate(t, db, owners); plan.Steps() != 0 {
		t.Errorf("%d steps", plan.Steps())
	}
	if rows := read(t, db, "SELECT key FROM _rivet_meta UNION ALL SELECT text FROM notes"); len(rows) != 2 {
		t.Errorf("others' rows: %v", rows)
	}
}

// A database that lacks one owner gets that owner's whole ladder, and one that
// is behind gets what is missing.
func TestS2_5_OwnersAreIndependent(t *testing.T) {
	db := openDB(t)
	first := core.Owner
	first.Steps = first.Steps[:1]
	migrate(t, db, []schema.Owner{first, vfs.Owner})
	plan := migrate(t, db, owners)
	var got []string
	for _, o := range plan.Owners {
		got = append(got, fmt.Sprintf("%s %d %v", o.Owner.Name, o.Found, o.Recorded))
	}
	if d := cmp.Diff([]string{"filesystem 1 true", "core 1 true", "actor 0 false"}, got); d != "" {
		t.Error(d)
	}
	for _, o := range owners {
		if v := read(t, db, "SELECT schema_version FROM "+o.VersionTable)[0][0]; v != int64(len(o.Steps)) {
			t.Errorf("%s is at version %v; want %d", o.Name, v, len(o.Steps))
		}
	}
}

// The databases of AgentOS open: the filesystem tables are the ones of our own
// version 1, core gets its second step, the actor owner both.
func TestS2_5_AgentOSDatabases(t *testing.T) {
	for _, name := range []string{"agentos-0.2.21.db", "agentos-0.2.21-crashed.db"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "test", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "vm.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		theirs, ours := openFile(t, path), openDB(t)
		if plan := migrate(t, theirs, owners); plan.New || plan.Steps() != 4 {
			t.Errorf("%s: new %v, %d steps; want 4", name, plan.New, plan.Steps())
		}
		migrate(t, ours, owners)
		if d := cmp.Diff(definitions(t, ours), definitions(t, theirs)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// definitions returns every definition by name, without what is only layout.
func definitions(t testing.TB, q persistence.Querier) map[string]string {
	t.Helper()
	layout := strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ")
	all := make(map[string]string)
	for _, row := range read(t, q, `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`) {
		all[row[0].(string)] = strings.Join(strings.Fields(layout.Replace(row[1].(string))), " ")
	}
	return all
}

// A step is all or nothing, and the steps before a failed one are kept.
func TestS2_3_StepIsOneTransaction(t *testing.T) {
	db := openDB(t)
	o := schema.Owner{Name: "x", VersionTable: "x_schema_version", Prefix: "x_", Steps: []schema.Step{
		{Version: 1, Stmts: []string{"CREATE TABLE x_a (n INTEGER) STRICT"}},
		{Version: 2, Stmts: []string{"CREATE TABLE x_b (n INTEGER) STRICT", "INSERT INTO x_a VALUES ('no number')"}},
	}}
	plan, err := schema.Inspect(db, []schema.Owner{o})
	if err != nil {
		t.Fatal(err)
	}
	err = schema.Run(db, plan, keys())
	if err == nil || persistence.AsError(err) == nil || !strings.Contains(err.Error(), "migrate x to version 2") {
		t.Fatalf("Run = %v; want the handle's error, with owner and version", err)
	}
	if d := cmp.Diff([][]persistence.Value{{"x_schema_version"}, {"x_a"}}, read(t, db, "SELECT name FROM sqlite_schema ORDER BY rowid")); d != "" {
		t.Error(d)
	}
	if v := read(t, db, "SELECT schema_version FROM x_schema_version")[0][0]; v != int64(1) {
		t.Errorf("version = %v; want 1", v)
	}
}

// Two processes that both saw the old version: the second changes nothing.
func TestS2_3_StepIsCompareAndSet(t *testing.T) {
	db := openDB(t)
	first := actorstate.Owner
	first.Steps = first.Steps[:1]
	stale, err := schema.Inspect(db, owners)
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, db, []schema.Owner{vfs.Owner, core.Owner, first})
	if err := schema.Run(db, stale, keys()); err == nil {
		t.Error("a plan from before the tables ran")
	}
	stale, err = schema.Inspect(db, owners)
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, db, owners)
	before := dump(t, db, owners)
	err = schema.Run(db, stale, keys())
	if e := persistence.AsError(err); e == nil || e.Class != persistence.ClassMismatch {
		t.Errorf("Run of a stale plan = %v; want a mismatch", err)
	}
	if d := cmp.Diff(before, dump(t, db, owners)); d != "" {
		t.Error(d)
	}
}

// Steps that were released never change: databases that took them do not take
// them again. A new step gets a new line here, no line is ever edited.
func TestS2_3_StepsArePinned(t *testing.T) {
	want := []string{
		"filesystem 1 d20da3c3c6044a86",
		"core 1 88c2c8065516d5cb",
		"core 2 f98a603d901f7bf0",
		"core 3 ba08ae90b9b85b7b",
		"actor 1 adea5f690d8148fd",
		"actor 2 4e2820f78f3e6213",
	}
	var got []string
	for _, o := range owners {
		for _, s := range o.Steps {
			sum := sha256.Sum256([]byte(strings.Join(s.Stmts, ";\n")))
			got = append(got, fmt.Sprintf("%s %d %x", o.Name, s.Version, sum[:8]))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a released step changed, or a new one is not pinned: %s", d)
	}
}

// A file that is refused stays as it is, byte for byte, and nothing is left
// beside it (MG-02).
func TestS2_4_RefusedFileIsUnchanged(t *testing.T) {
	for name, tc := range map[string]struct {
		sql  string
		code protocol.Code
	}{
		"future":  {"UPDATE agentos_actor_schema_version SET schema_version = 3", protocol.CodeFutureSchema},
		"corrupt": {"DELETE FROM agentos_core_schema_version", protocol.CodeCorruptSchema},
		"foreign": {"DROP TABLE agentos_core_schema_version; DROP TABLE agentos_fs_schema_version; DROP TABLE agentos_actor_schema_version", protocol.CodeNotAVMDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vm.db")
			t.Run("make", func(t *testing.T) {
				db := openFile(t, path)
				migrate(t, db, owners)
				exec(t, db, strings.Split(tc.sql, ";")...)
			})
			before := files(t, path)
			source := acquire(t, path)
			_, err := source.Open(func(q persistence.Querier) error {
				_, err := schema.Inspect(q, owners)
				return err
			})
			if protocol.CodeOf(err) != tc.code {
				t.Errorf("Open = %v; want %s", err, tc.code)
			}
			if err := source.Release(); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, files(t, path)); d != "" {
				t.Errorf("files changed: %s", d)
			}
		})
	}
}

// files returns the hashes of the database's file and of those beside it, but
// for the lock.
func files(t *testing.T, path string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".lock") {
			all[filepath.Base(name)] = fmt.Sprintf("%x", sha256.Sum256(b))
		}
	}
	return all
}

func TestInspect_MalformedOwner(t *testing.T) {
	step := func(v int) schema.Step { return schema.Step{Version: v, Stmts: []string{"SELECT 1"}} }
	for name, o := range map[string]schema.Owner{
		"no name":       {VersionTable: "x_v", Prefix: "x_", Steps: []schema.Step{step(1)}},
		"no steps":      {Name: "x", VersionTable: "x_v", Prefix: "x_"},
		"a gap":         {Name: "x", VersionTable: "x_v", Prefix: "x_", Steps: []schema.Step{step(1), step(3)}},
		"from zero":     {Name: "x", VersionTable: "x_v", Prefix: "x_", Steps: []schema.Step{step(0)}},
		"other prefix":  {Name: "x", VersionTable: "y_v", Prefix: "x_", Steps: []schema.Step{step(1)}},
		"not a name":    {Name: "x", VersionTable: "x_v; DROP", Prefix: "x_", Steps: []schema.Step{step(1)}},
		"an empty step": {Name: "x", VersionTable: "x_v", Prefix: "x_", Steps: []schema.Step{{Version: 1}}},
	} {
		if _, err := schema.Inspect(openDB(t), []schema.Owner{o}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLadder(t *testing.T) {
	got := schema.Ladder(fstest.MapFS{
		"migration/0001_a.sql": {Data: []byte("-- why; and how;\nCREATE TABLE a (\n\t-- a number\n\tn INTEGER\n);\r\n\nINSERT INTO a VALUES (1); \n")},
		"migration/0002_b.sql": {Data: []byte("SELECT ';' FROM a;")},
		"migration/README":     {Data: []byte("not a step")},
	})
	want := []schema.Step{
		{Version: 1, Stmts: []string{"CREATE TABLE a (\n\tn INTEGER\n)", "INSERT INTO a VALUES (1)"}},
		{Version: 2, Stmts: []string{"SELECT ';' FROM a"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, files := range map[string]fstest.MapFS{
		"a gap":            {"migration/0002_a.sql": {Data: []byte("SELECT 1;")}},
		"a bad number":     {"migration/1_a.sql": {Data: []byte("SELECT 1;")}},
		"no end":           {"migration/0001_a.sql": {Data: []byte("SELECT 1")}},
		"the same version": {"migration/0001_a.sql": {Data: []byte("SELECT 1;")}, "migration/0001_b.sql": {Data: []byte("SELECT 1;")}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			schema.Ladder(files)
		}()
	}
}
