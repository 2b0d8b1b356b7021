package core_test

import (
	"testing"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
)

type memory struct{ *engine.Conn }

func (memory) Idle() error { return nil }

// openDB returns an empty database that ends with the test.
func openDB(t testing.TB) persistence.DB {
	t.Helper()
	c, err := engine.Open("file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return memory{c}
}
