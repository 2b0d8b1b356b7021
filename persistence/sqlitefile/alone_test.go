package sqlitefile

import (
	"os"
	"os/exec"
	"testing"
)

// aloneName is set for a test that has a process of its own.
const aloneName = "SQLITEFILE_TEST_ALONE"

// Alone gives a test a process of its own, because it limits what the process may
// do, and the test program has files of its own to write. It reports true in that
// process; in the other one the test has been run when it returns.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneName) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), aloneName+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
