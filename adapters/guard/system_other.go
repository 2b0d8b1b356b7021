//go:build !linux

package guard

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func keepFromAdapter() { syscall.CloseOnExec(Control) }

// adoptOrphans does nothing: a process that leaves the adapter's group is lost
// to the guard on this system.
func adoptOrphans() error { return nil }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func duplicate(from, to int) error { return unix.Dup2(from, to) }

// signalAll signals the group, all that is known here.
func (g *guard) signalAll(sig syscall.Signal) { g.signalGroup(sig) }

// alone tells whether the group has no member, which is all that can be known:
// who left the adapter's children is no child of the guard.
func (g *guard) alone() bool { return errors.Is(syscall.Kill(-g.pid, 0), syscall.ESRCH) }

// count tells 1 while the group has a member.
func (g *guard) count() int {
	if g.alone() {
		return 0
	}
	return 1
}
