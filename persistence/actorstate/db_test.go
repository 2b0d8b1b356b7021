package actorstate_test

import (
	"testing"

	"agentos/persistence"
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
	return open(t, s, anything)
}

// openFile returns the database at path, which it makes if there is none.
func openFile(t testing.TB, path string) persistence.DB {
	t.Helper()
	return open(t, acquire(t, path), anything)
}

func acquire(t testing.TB, path string) persistence.Source {
	t.Helper()
	s, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	if err != nil {
		t.Fatalf("acquire %s: %v", path, err)
	}
	return s
}

// open opens a source that ends with the test.
func open(t testing.TB, s persistence.Source, inspect func(persistence.Querier) error) persistence.DB {
	t.Helper()
	db, err := s.Open(inspect)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := s.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	return db
}
