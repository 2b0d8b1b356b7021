package vfs_test

import (
	"context"
	"testing"

	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/persistence/schema"
	"agentos/persistence/vfs"
)

// The tables take what AgentOS writes and refuse what it never does (S2.5).
func TestS2_5_Checks(t *testing.T) {
	for name, tc := range map[string]struct {
		sql string
		ok  bool
	}{
		"head":                {`INSERT INTO agentos_fs_metadata_heads VALUES ('root', 3, 2, 10)`, true},
		"head without a name": {`INSERT INTO agentos_fs_metadata_heads VALUES ('', 3, 2, 10)`, false},
		"negative generation": {`INSERT INTO agentos_fs_metadata_heads VALUES ('root', -1, 2, 10)`, false},
		"chunk":               {`INSERT INTO agentos_fs_metadata_chunks VALUES ('root', 3, 0, x'00')`, true},
		"chunk of text":       {`INSERT INTO agentos_fs_metadata_chunks VALUES ('root', 3, 0, 'text')`, false},
		"chunk below zero":    {`INSERT INTO agentos_fs_metadata_chunks VALUES ('root', 3, -1, x'00')`, false},
		"block":               {`INSERT INTO agentos_fs_blocks VALUES ('root', 'k', x'')`, true},
		"block without a key": {`INSERT INTO agentos_fs_blocks VALUES ('root', '', x'')`, false},
		"block twice":         {`INSERT INTO agentos_fs_blocks VALUES ('root', 'k', x''), ('root', 'k', x'')`, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := memdb.New()
			if err != nil {
				t.Fatal(err)
			}
			var plan schema.Plan
			db, err := source.Open(func(q persistence.Querier) error {
				plan, err = schema.Inspect(q, []schema.Owner{vfs.Owner})
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
			err = db.Tx(persistence.Tx{Waves: [][]persistence.Stmt{{{SQL: tc.sql, Rows: [][]persistence.Value{{}}, Want: -1}}}})
			if (err == nil) != tc.ok {
				t.Errorf("%v; want ok %v", err, tc.ok)
			}
			rows, err := db.Query(context.Background(), persistence.Query{SQL: `SELECT schema_version FROM agentos_fs_schema_version`})
			if err != nil || rows[0][0] != int64(1) {
				t.Errorf("version = %v, %v; want 1", rows, err)
			}
		})
	}
}
