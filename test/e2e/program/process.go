package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a process that the system shows.
type process struct {
	pid     int
	command string
}

// processes returns the living processes that have the home in their environment
// or on their command line. Where the system has no /proc it returns none.
func (h *Home) processes() []process {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var found []process
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that ends while it is looked at has nothing to read: not ours any more.
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if !bytes.Contains(env, []byte(h.Dir)) && !bytes.Contains(command, []byte(h.Dir)) {
			continue
		}
		found = append(found, process{pid, strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))})
	}
	return found
}

func kill(all []process) {
	for _, p := range all {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended
	}
}

// PeakBytes returns how much memory the process has had at most since it became
// this program, or 0 if it has ended or the system does not say.
func PeakBytes(pid int) int64 {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
