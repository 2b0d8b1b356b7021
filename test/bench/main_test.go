package bench

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"agentos/adapters/guard"
	"agentos/adapters/scripted"
)

// TestMain is also the adapter and its guard: the runtime starts this binary for
// both, as it starts agentos.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "adapter" {
		switch os.Args[2] {
		case "guard":
			os.Exit(guard.Main(os.Args[3:]))
		case "scripted":
			os.Exit(scripted.Main(os.Args[3:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
		}
	}
	code := m.Run()
	if code == 0 {
		// The framework counts dead letters on a goroutine that lives for a second.
		throttle := goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")
		if err := goleak.Find(throttle); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
