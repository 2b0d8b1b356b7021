package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// insideVar marks a process that runs in a namespace made by Main.
const insideVar = "AGENTOS_PEERS_LOOPBACK"

// Main runs a package's tests in a network namespace that holds nothing but the
// loopback interface, where the machine allows one: the process replaces itself
// by one inside, so everything the tests start is inside too. Elsewhere it says
// so on stderr and runs them as they are; agents may then look up hosts when
// they start, and nothing depends on the answer.
//
// At the end it says how many tests were skipped for want of something, and fails
// if a process that the tests started is still there: in the namespace there is
// no other. It is called from TestMain and does not return.
func Main(m *testing.M) {
	if os.Getenv(insideVar) == "" {
		argv, err := Loopback(os.Args)
		if err == nil {
			err = syscall.Exec(argv[0], argv, append(os.Environ(), insideVar+"=1"))
		}
		fmt.Fprintf(os.Stderr, "peers: running with the machine's network: %v\n", err)
	}
	code := m.Run()
	if n := skipped.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "SKIPPED peers: %d tests; test/peers/install installs what they need\n", n)
	}
	if left := awaitAlone(leftGrace); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests left processes behind:\n%s\n", strings.Join(left, "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// Isolated reports whether this process runs in a namespace made by Main.
func Isolated() bool { return os.Getenv(insideVar) != "" }

// Loopback returns argv wrapped so that it runs in a network namespace of its
// own, with nothing but a loopback interface that is up. Two commands wrapped
// separately cannot reach each other: wrap their parent. The error says why
// this machine has no such namespace.
func Loopback(argv []string) ([]string, error) {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return nil, fmt.Errorf("make a network namespace (package util-linux): %w", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("make a network namespace (package iproute2): %w", err)
	}
	var refused error
	// The second is for an ordinary user: root of a user namespace of its own.
	for _, flags := range [][]string{{"-n"}, {"-r", "-n"}} {
		wrap := slices.Concat([]string{unshare}, flags, []string{"sh", "-c", `ip link set lo up && exec "$@"`, "sh"})
		if err := try(append(slices.Clone(wrap), "true")); err != nil {
			refused = errors.Join(refused, fmt.Errorf("unshare %s: %w", strings.Join(flags, " "), err))
			continue
		}
		return append(wrap, argv...), nil
	}
	return nil, fmt.Errorf("make a network namespace: %w", refused)
}

// try runs a command that should end at once.
func try(argv []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
