package memdb_test

import (
	"testing"

	"go.uber.org/goleak"

	"agentos/persistence"
	"agentos/persistence/dbtest"
	"agentos/persistence/memdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSource(t testing.TB) persistence.Source {
	t.Helper()
	s, err := memdb.New()
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	return s
}

func TestSuite(t *testing.T)         { dbtest.Run(t, newSource) }
func TestSuiteReadOnly(t *testing.T) { dbtest.RunReadOnly(t, newSource) }
