package adapters

import (
	"syscall"
	"time"

	"agentos/adapters/guard"
	"agentos/adapters/process"
)

const (
	// drainPause is how long OnMessage may take for one message once the adapter
	// has ended, drainLimit for all that was in the pipe. Past that the rest is
	// lost: a handler that hangs must not make the end hang.
	drainPause = 2 * time.Second
	drainLimit = 10 * time.Second
	// closedGrace is how long an adapter may go on without stdout.
	closedGrace = 500 * time.Millisecond
	// sessionLimit bounds the search for what a killed guard left.
	sessionLimit = 2 * time.Second
	sessionAgain = 10 * time.Millisecond
)

// watch waits for the end of the guard and puts everything away.
func (c *Client) watch() {
	defer close(c.exited)
	done := c.listen()
	// The end of the control stream is the end of the guard. If it ended in any
	// other way than by itself, what it left is found by its session, whose
	// number is the guard's own and stays taken until the guard is reaped.
	_ = c.cmd.Process.Kill() // an error says that it was reaped already, by nobody but Wait
	if !done {
		c.left = c.endSession()
	}
	_ = c.cmd.Wait() // how the adapter ended is in the reports
	close(c.dead)

	c.stdout.end()
	c.stderr.end()
	drained := c.drain()
	c.peer.CloseWrite()
	// Closed here and not only by the peer: its Close would wait for a handler
	// that hangs. One that was closed before says so, and nothing else can fail.
	_ = c.stdin.Close()
	_ = c.stdout.Close()
	if drained {
		_ = c.peer.Close()
	}
	c.goroutines.Wait()
	_ = c.stderr.Close()
	_ = c.control.Close()
	c.exit.StderrTail = c.StderrTail()
}

// listen reads the guard's reports up to the end and tells whether it said that
// it was done.
func (c *Client) listen() (done bool) {
	c.exit = Exit{Code: -1, Lost: true}
	for {
		var r guard.Report
		if c.reports.Decode(&r) != nil {
			return done
		}
		if r.Exit != nil {
			c.exit = Exit{Code: *r.Exit, Signal: r.Signal}
		}
		if r.Done {
			done, c.left = true, r.Left
		}
	}
}

// endSession kills every process of the guard's session, the guard apart, and
// returns how many are left.
func (c *Client) endSession() (left int) {
	tick := time.NewTicker(sessionAgain)
	defer tick.Stop()
	// Kept from round to round: a process that had left the session is only
	// found while its parent is there.
	found := make(map[process.Process]bool)
	for end := time.Now().Add(sessionLimit); ; <-tick.C {
		all, err := process.List()
		if err != nil {
			if c.started.PGID > 0 { // a system that does not show sessions
				_ = syscall.Kill(-c.started.PGID, syscall.SIGKILL)
			}
			return 0
		}
		for _, p := range process.InSession(all, c.cmd.Process.Pid) {
			found[p.Name()] = true
		}
		left = 0
		for p := range found {
			if !p.Alive() {
				continue
			}
			left++
			_ = p.Signal(syscall.SIGKILL) // the next round tells whether it helped
		}
		if left == 0 || time.Now().After(end) {
			return left
		}
	}
}

// drain waits until what the adapter wrote before its end was handed over. It
// returns false if the handler takes too long.
func (c *Client) drain() bool {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	pause := time.NewTimer(drainPause)
	defer pause.Stop()
	for handled := c.handled.Load(); ; {
		select {
		case <-c.peer.Done():
			return true
		case <-limit.C:
			return false
		case <-pause.C:
			now := c.handled.Load()
			if now == handled {
				return false
			}
			handled = now
			pause.Reset(drainPause)
		}
	}
}

// heed ends an adapter that has closed its stdout and goes on: it cannot be
// spoken with any more (AD-06).
func (c *Client) heed() {
	defer c.goroutines.Done()
	select {
	case <-c.dead:
	case <-c.peer.Done():
		_ = c.collapse() // Stop and Request tell of processes that would not end
	}
}

// collapse ends the processes of an adapter whose connection has broken. One
// that broke it because it was told to end keeps the time it was given.
func (c *Client) collapse() error {
	if c.stopping.Load() {
		return c.end(Grace{Stdin: longestStdin, Term: defaultTerm})
	}
	return c.end(Grace{Stdin: closedGrace, Term: closedGrace})
}
