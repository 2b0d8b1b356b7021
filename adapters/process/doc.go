// Package process finds and signals processes by what they are, not by a bare
// number: a process id may be handed to a stranger the moment its owner ends.
//
// It never starts a process and never waits for one; it only looks and signals.
// On Linux it reads /proc and signals through process file descriptors. On
// other systems List reports errors.ErrUnsupported and callers are left with
// process groups, which reach everything but what has left the group.
//
// All functions may be called by any goroutine. Nothing is kept between calls.
package process

import "errors"

// ErrGone says that a process has ended, or that its number now belongs to
// another one.
var ErrGone = errors.New("process is gone")

// Process is one process as it was when it was looked at. PID and StartTime
// together name it for good.
type Process struct {
	PID       int
	Parent    int
	Group     int
	Session   int
	State     byte   // as /proc says it: 'R', 'S', 'Z' and so on
	StartTime uint64 // in clock ticks since the machine started
}

// Name returns what names p for good, without what changes over its life.
func (p Process) Name() Process { return Process{PID: p.PID, StartTime: p.StartTime} }

// Dead reports whether p has ended and only waits to be reaped.
func (p Process) Dead() bool { return p.State == 'Z' || p.State == 'X' }

// Descendants returns the processes of all whose chain of parents leads to pid,
// in no particular order, those that have ended and are not reaped included.
func Descendants(all []Process, pid int) []Process {
	children := make(map[int][]Process)
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Process
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			// A list read while processes come and go can hold a cycle.
			if !seen[p.PID] {
				seen[p.PID] = true
				found = append(found, p)
				queue = append(queue, p.PID)
			}
		}
	}
	return found
}

// InSession returns the processes of all in the session that sid leads, and
// their descendants, which may have left it; never sid itself.
func InSession(all []Process, sid int) []Process {
	byPID := make(map[int]Process)
	for _, p := range all {
		if p.Session == sid && p.PID != sid {
			byPID[p.PID] = p
			for _, d := range Descendants(all, p.PID) {
				byPID[d.PID] = d
			}
		}
	}
	delete(byPID, sid)
	found := make([]Process, 0, len(byPID))
	for _, p := range byPID {
		found = append(found, p)
	}
	return found
}
