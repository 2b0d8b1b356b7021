package actorstate_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/schema"
	"agentos/protocol"
)

// migrated brings db to the newest schema.
func migrated(t testing.TB, db persistence.DB) persistence.DB {
	t.Helper()
	plan, err := schema.Inspect(db, []schema.Owner{actorstate.Owner})
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Run(db, plan, func() string { return "migration" }); err != nil {
		t.Fatal(err)
	}
	return db
}

func run(sql string, args ...persistence.Value) persistence.Stmt {
	return persistence.Stmt{SQL: sql, Rows: [][]persistence.Value{args}, Want: -1}
}

func fence(t testing.TB, q persistence.Querier) (int64, string) {
	t.Helper()
	epoch, key, err := actorstate.ReadFence(context.Background(), q)
	if err != nil {
		t.Fatalf("ReadFence = %v", err)
	}
	return epoch, key
}

func take(t testing.TB, db persistence.DB, key string) int64 {
	t.Helper()
	epoch, err := actorstate.TakeFence(context.Background(), db, `{"pid":1}`, key)
	if err != nil {
		t.Fatalf("TakeFence = %v", err)
	}
	return epoch
}

// Every opening takes the next epoch; the last key is that of the transaction
// that committed last, and not that of one that was rolled back (S2.6, S2.7).
func TestS2_6_Fence(t *testing.T) {
	t.Run("memory", func(t *testing.T) { fenceWorks(t, openDB(t)) })
	t.Run("file", func(t *testing.T) { fenceWorks(t, openFile(t, filepath.Join(t.TempDir(), "vm.db"))) })
}

func fenceWorks(t *testing.T, db persistence.DB) {
	migrated(t, db)
	if epoch, key := fence(t, db); epoch != 0 || key != "" {
		t.Errorf("new fence = %d, %q; want 0 and no key", epoch, key)
	}
	one := take(t, db, "open-1")
	if epoch, key := fence(t, db); one != 1 || epoch != 1 || key != "open-1" {
		t.Errorf("fence = %d, %q after taking %d; want 1, open-1", epoch, key, one)
	}

	insert := `INSERT INTO agentos_actor_settings (name, value_json) VALUES (?, ?)`
	write := func(epoch int64, key string, more ...persistence.Stmt) error {
		return db.Tx(persistence.Tx{Key: key, Waves: [][]persistence.Stmt{append([]persistence.Stmt{actorstate.Guard(epoch, key)}, more...)}})
	}
	if err := write(one, "write-1", run(insert, "a", "1")); err != nil {
		t.Fatalf("write of the holder = %v", err)
	}
	if _, key := fence(t, db); key != "write-1" {
		t.Errorf("last key = %q; want write-1", key)
	}
	if err := write(one, "write-2", run(insert, "b", "no json")); err == nil || actorstate.Fenced(err) {
		t.Errorf("bad write of the holder = %v; want an error that is not the fence's", err)
	}
	if _, key := fence(t, db); key != "write-1" {
		t.Errorf("last key = %q after a rolled back write; want write-1", key)
	}

	two := take(t, db, "open-2")
	if err := write(one, "write-3", run(insert, "c", "1")); !actorstate.Fenced(err) {
		t.Errorf("write of the process that was replaced = %v; want fenced", err)
	}
	if err := write(two+1, "write-3", run(insert, "c", "1")); !actorstate.Fenced(err) {
		t.Errorf("write of an epoch that is not there, as after a restored backup = %v; want fenced", err)
	}
	if err := write(two, "write-4", run(insert, "d", "1")); err != nil {
		t.Errorf("write of the new holder = %v", err)
	}
	rows, err := db.Query(context.Background(), persistence.Query{SQL: `SELECT group_concat(name) FROM agentos_actor_settings`})
	if err != nil || rows[0][0] != "a,d" {
		t.Errorf("settings = %v, %v; want a,d", rows, err)
	}
}

// racing takes the fence between another's read and its transaction.
type racing struct {
	persistence.DB
	between func()
}

func (r racing) Tx(tx persistence.Tx) error { r.between(); return r.DB.Tx(tx) }

func TestS2_6_TwoTakers(t *testing.T) {
	db := migrated(t, openDB(t))
	race := racing{db, func() { take(t, db, "winner") }}
	if _, err := actorstate.TakeFence(context.Background(), race, "{}", "loser"); protocol.CodeOf(err) != protocol.CodeVMFenced {
		t.Errorf("TakeFence of the loser = %v; want %s", err, protocol.CodeVMFenced)
	}
	if epoch, key := fence(t, db); epoch != 1 || key != "winner" {
		t.Errorf("fence = %d, %q; want 1, winner", epoch, key)
	}
}

func TestS2_6_NoFence(t *testing.T) {
	db := migrated(t, openDB(t))
	if err := db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{run(`DELETE FROM agentos_actor_fence`)}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := actorstate.TakeFence(context.Background(), db, "{}", "k"); protocol.CodeOf(err) != protocol.CodeStorageError {
		t.Errorf("TakeFence without a row = %v; want %s", err, protocol.CodeStorageError)
	}
}

// The tables refuse what S2.5 calls illegal.
func TestS2_5_Checks(t *testing.T) {
	token := strings.Repeat("0123456789abcdef", 3)
	for name, tc := range map[string]struct {
		stmt persistence.Stmt
		ok   bool
	}{
		"token":           {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 65535, 0, 1)`, token), true},
		"short token":     {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 80, 0, 1)`, token[1:]), false},
		"upper case":      {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 80, 0, 1)`, strings.ToUpper(token)), false},
		"port 0":          {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 0, 0, 1)`, token), false},
		"port too large":  {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 65536, 0, 1)`, token), false},
		"born expired":    {run(`INSERT INTO agentos_actor_preview_tokens VALUES (?, 80, 5, 5)`, token), false},
		"mount":           {run(`INSERT INTO agentos_actor_dynamic_mounts VALUES ('/m', '{}')`), true},
		"relative mount":  {run(`INSERT INTO agentos_actor_dynamic_mounts VALUES ('m', '{}')`), false},
		"mount array":     {run(`INSERT INTO agentos_actor_dynamic_mounts VALUES ('/m', '[]')`), false},
		"software":        {run(`INSERT INTO agentos_actor_linked_software VALUES ('/s', '{"a":1}')`), true},
		"software text":   {run(`INSERT INTO agentos_actor_linked_software VALUES ('/s', 'x')`), false},
		"second fence":    {run(`INSERT INTO agentos_actor_fence VALUES (2, 0, '{}', '')`), false},
		"fence goes back": {run(`UPDATE agentos_actor_fence SET epoch = -1`), false},
		"nameless":        {run(`INSERT INTO agentos_actor_settings VALUES ('', '1')`), false},
		"null value":      {run(`INSERT INTO agentos_actor_settings VALUES ('a', 'null')`), true},
	} {
		err := migrated(t, openDB(t)).Tx(persistence.Tx{Waves: [][]persistence.Stmt{{tc.stmt}}})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v; want ok %v", name, err, tc.ok)
		}
	}
}
