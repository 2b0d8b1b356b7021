package sqlitefile_test

import (
	"path/filepath"
	"testing"

	"agentos/persistence"
	"agentos/persistence/dbtest"
	"agentos/persistence/sqlitefile"
)

func newSource(t testing.TB) persistence.Source {
	t.Helper()
	s, err := sqlitefile.Acquire(filepath.Join(t.TempDir(), "vm.db"), sqlitefile.Options{Create: true})
	if err != nil {
		t.Fatalf("Acquire = %v", err)
	}
	return s
}

func TestSuite(t *testing.T)         { dbtest.Run(t, newSource) }
func TestSuiteReadOnly(t *testing.T) { dbtest.RunReadOnly(t, newSource) }
