package schema

import (
	"fmt"

	"agentos/persistence"
)

// Run takes the steps that plan says are missing: owners in the order given to
// Inspect, each from where it stands to its top.
//
// A step is one transaction: a compare-and-set of the version, then the step's
// statements. newKey gives the fresh key of each transaction. On an error the
// steps before it are kept and the database is sound at the version it has;
// after an unknown outcome the next Inspect tells. The error is the handle's,
// wrapped with owner and version.
//
// Steps are not fenced: the fence is made by one of them. What keeps two
// processes apart is the lock of persistence.Source, and the compare-and-set.
func Run(db persistence.DB, plan Plan, newKey func() string) error {
	for _, at := range plan.Owners {
		for _, step := range at.Owner.Steps[at.Found:] {
			if err := db.Tx(transaction(at, step, newKey())); err != nil {
				return fmt.Errorf("migrate %s to version %d: %w", at.Owner.Name, step.Version, err)
			}
			at.Found, at.Recorded = step.Version, true
		}
	}
	return nil
}

// transaction puts every statement into a wave of its own: each of them may
// need the one before it.
func transaction(at Position, step Step, key string) persistence.Tx {
	tx := persistence.Tx{Key: key}
	add := func(sql string, want int, args ...persistence.Value) {
		tx.Waves = append(tx.Waves, []persistence.Stmt{{SQL: sql, Rows: [][]persistence.Value{args}, Want: want}})
	}
	table := at.Owner.VersionTable
	if at.Recorded {
		add("UPDATE "+table+" SET schema_version = ? WHERE singleton = 1 AND schema_version = ? RETURNING 1",
			1, int64(step.Version), int64(at.Found))
	} else {
		add("CREATE TABLE "+table+` (
	singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
	schema_version INTEGER NOT NULL CHECK (schema_version >= 0)
) STRICT`, -1)
		add("INSERT INTO "+table+" (singleton, schema_version) VALUES (1, ?) RETURNING 1", 1, int64(step.Version))
	}
	for _, sql := range step.Stmts {
		add(sql, -1)
	}
	return tx
}
