package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// leftGrace bounds the wait for the last processes to be gone: a guard gives an
// agent two seconds after SIGTERM, and the machine may be busy.
const leftGrace = 20 * time.Second

// awaitAlone waits until this process is the only one of its network namespace,
// and returns a line for each other one that is left after limit. Outside a
// namespace of Main, where others are no business of its, it returns none.
func awaitAlone(limit time.Duration) []string {
	if !Isolated() {
		return nil
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(limit); ; {
		left := others()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-end:
			return left
		}
	}
}

// others returns the other processes of this one's network namespace. One that
// ends while it is looked at counts no more.
func others() []string {
	namespace, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return []string{fmt.Sprintf("  nobody can tell: %v", err)}
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var found []string
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that has ended and waits for its parent has no namespace any more.
		if theirs, err := os.Readlink(filepath.Join(dir, "ns", "net")); err != nil || theirs != namespace {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // empty: it has just ended
		found = append(found, fmt.Sprintf("  %d: %s", pid, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))))
	}
	return found
}
