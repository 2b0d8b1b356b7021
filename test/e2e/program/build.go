package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaryVar names a binary to test instead of building one.
const binaryVar = "AGENTOS_E2E_BINARY"

// binary and racing are what Main has built: racing with the race detector if
// the tests have it, else the same.
var binary, racing string

// Main builds the binary, runs the tests and returns the exit code of the
// process.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agentos-e2e-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "make a place for the binary: %v\n", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = Build(dir, false); err == nil {
		racing = binary
		if Raced {
			racing, err = Build(dir, true)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Binary is the path of the binary as people use it.
func Binary() string { return binary }

// RacingBinary is the path of the binary with the race detector in it, if the
// tests were built with that. It is several times slower.
func RacingBinary() string { return racing }

// Build builds the command into dir and returns its path. With AGENTOS_E2E_BINARY
// in the environment it returns that and builds nothing.
func Build(dir string, race bool) (path string, err error) {
	if given := os.Getenv(binaryVar); given != "" {
		return filepath.Abs(given)
	}
	args := []string{"build", "-o", filepath.Join(dir, "agentos")}
	if race {
		args = []string{"build", "-race", "-o", filepath.Join(dir, "agentos-race")}
	}
	out, err := exec.Command("go", append(args, "agentos/cmd/agentos")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build agentos: %w\n%s", err, out)
	}
	return args[len(args)-1], nil
}
