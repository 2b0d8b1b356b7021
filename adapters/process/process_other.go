//go:build !linux

package process

import (
	"errors"
	"fmt"
	"syscall"
)

// Read knows nothing of a process but its number here.
func Read(pid int) (Process, error) {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return Process{}, ErrGone
	}
	return Process{PID: pid}, nil
}

// List reports errors.ErrUnsupported.
func List() ([]Process, error) { return nil, errors.ErrUnsupported }

// Signal sends sig to the process that has p's number.
func (p Process) Signal(sig syscall.Signal) error {
	err := syscall.Kill(p.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// Exists reports whether some process has p's number.
func (p Process) Exists() bool { return !errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH) }

// Alive is Exists: what has ended cannot be told from what runs here.
func (p Process) Alive() bool { return p.Exists() }
