package guard

import (
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"agentos/adapters/process"
)

// keepFromAdapter lets nothing through but the three streams: neither the
// control stream nor what the runtime's own starter left open.
func keepFromAdapter() {
	if unix.CloseRange(Control, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		syscall.CloseOnExec(Control) // a kernel before 5.11
	}
}

// adoptOrphans makes descendants whose parent has ended children of the guard.
func adoptOrphans() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// signalAll signals every descendant that has not ended. The group needs no
// signal of its own: its members are descendants. What may not be signalled (a
// setuid program) or is gone is for reap and count to tell.
func (g *guard) signalAll(sig syscall.Signal) {
	all, err := process.List()
	if err != nil {
		g.signalGroup(sig) // a machine without /proc
		return
	}
	for _, p := range process.Descendants(all, os.Getpid()) {
		if !p.Dead() {
			_ = p.Signal(sig)
		}
	}
}

// alone tells whether a guard without children is one without descendants: it
// is, for it adopts them.
func (g *guard) alone() bool { return true }

// count tells how many descendants there are, ended ones too.
func (g *guard) count() int {
	all, err := process.List()
	if err != nil {
		return 0
	}
	return len(process.Descendants(all, os.Getpid()))
}
