package actorstate_test

import (
	"testing"

	"agentos/persistence"
	"agentos/persistence/dbtest"
	"agentos/persistence/memdb"
	"agentos/persistence/sqlitefile"
)

func anything(persistence.Querier) error { return nil }

// openDB returns an empty database in memory that ends with the test.
func openDB(t testing.TB) persistence.DB {
	t.Helper()
	s, err := memdb.New()
	if err != nil {
		t.Fatalf("new database: %v", err)
	}
	return dbtest.Open(t, s, anything)
}

// openFile returns the database at path, which it makes if there is none.
func openFile(t testing.TB, path string) persistence.DB {
	t.Helper()
	return dbtest.Open(t, acquire(t, path), anything)
}

func acquire(t testing.TB, path string) persistence.Source {
	t.Helper()
	s, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	if err != nil {
		t.Fatalf("acquire %s: %v", path, err)
	}
	return s
}
