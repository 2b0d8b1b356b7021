package e2e

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"agentos/test/e2e/program"
)

// TestMain is also the agent that sends what no good agent sends.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeAgent {
		os.Exit(runFakeAgent(os.Args[2:]))
	}
	flag.Parse()
	// These tests wait for other processes, and those for the disk and for each other.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := flag.Set(f.Name, strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err) // a number is a number
		}
	}
	os.Exit(program.Main(m))
}
