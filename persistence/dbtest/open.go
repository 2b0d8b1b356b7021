package dbtest

import (
	"testing"

	"agentos/persistence"
)

// Open opens a source that, with its handle, ends with the test. It is for tests
// of the owners, which want a database and do not care which.
func Open(t testing.TB, s persistence.Source, inspect func(persistence.Querier) error) persistence.DB {
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
