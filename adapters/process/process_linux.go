package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Read looks at one process. It returns ErrGone if there is none.
func Read(pid int) (Process, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Process{}, ErrGone
	}
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return parseStat(line)
}

// List looks at every process this user may see. One that ends meanwhile is
// left out.
func List() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	err = errors.Join(err, dir.Close())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]Process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // /proc holds more than processes
		}
		if p, err := Read(pid); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat reads a line of /proc/PID/stat. The second field is the program's
// name in parentheses and may itself hold spaces and parentheses, so the fields
// are counted from the last one.
func parseStat(line []byte) (Process, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("parse process state %q: no name", line)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	fields := bytes.Fields(line[end+1:])
	const state, parent, group, session, start = 0, 1, 2, 3, 19
	if err != nil || len(fields) <= start || len(fields[state]) != 1 {
		return Process{}, fmt.Errorf("parse process state %q: too few fields", line)
	}
	p := Process{PID: pid, State: fields[state][0]}
	for _, f := range []struct {
		at   int
		into *int
	}{{parent, &p.Parent}, {group, &p.Group}, {session, &p.Session}} {
		if *f.into, err = strconv.Atoi(string(fields[f.at])); err != nil {
			return Process{}, fmt.Errorf("parse process state %q: %w", line, err)
		}
	}
	if p.StartTime, err = strconv.ParseUint(string(fields[start]), 10, 64); err != nil {
		return Process{}, fmt.Errorf("parse process state %q: %w", line, err)
	}
	return p, nil
}

// Signal sends sig to p and to nobody else: the descriptor pins the process,
// and only then is it compared with what p was. It returns ErrGone if p has
// ended.
func (p Process) Signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ENOSYS) {
		return p.signalByNumber(sig) // a kernel before 5.3
	}
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.PID, err)
	}
	err = p.signalThrough(fd, sig)
	return errors.Join(err, unix.Close(fd))
}

func (p Process) signalThrough(fd int, sig syscall.Signal) error {
	if !p.Exists() {
		return ErrGone
	}
	return p.signalled(unix.PidfdSendSignal(fd, sig, nil, 0))
}

func (p Process) signalByNumber(sig syscall.Signal) error {
	if !p.Exists() {
		return ErrGone
	}
	return p.signalled(syscall.Kill(p.PID, sig))
}

func (p Process) signalled(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// Exists reports whether p still has its number: running, or ended and not yet
// reaped.
func (p Process) Exists() bool {
	now, err := Read(p.PID)
	return err == nil && now.StartTime == p.StartTime
}

// Alive reports whether p is there and has not ended.
func (p Process) Alive() bool {
	now, err := Read(p.PID)
	return err == nil && now.StartTime == p.StartTime && !now.Dead()
}
