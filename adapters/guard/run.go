package guard

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"time"
)

// again is how often what was sent SIGKILL is looked for anew: it may have
// forked between the look and the signal.
const again = 10 * time.Millisecond

type guard struct {
	options
	pid      int
	exit     *int // of the adapter, once it was reaped
	reports  *json.Encoder
	children chan os.Signal
}

// report sends one line. An error means that the runtime is gone, which the end
// of the control stream says as well.
func (g *guard) report(r Report) { _ = g.reports.Encode(r) }

// run waits until nothing of the adapter is left and returns its exit code.
func (g *guard) run(commands <-chan Command) int {
	grace := g.sweep
	for running := true; running; {
		g.reap()
		if g.exit != nil {
			break
		}
		select {
		case <-g.children:
		case command, ok := <-commands:
			switch {
			case !ok:
				grace, running, commands = g.grace, false, nil
			case command == CommandTerm:
				g.signalGroup(syscall.SIGTERM)
			case command == CommandKill:
				// Not one signal now: what is being forked at this moment would miss it.
				grace, running = 0, false
			}
		}
	}
	left := g.sweepAll(grace, commands)
	g.report(Report{Done: true, Left: left})
	if g.exit == nil {
		return 128 + int(syscall.SIGKILL)
	}
	return *g.exit
}

// sweepAll ends every process there is: SIGTERM, then SIGKILL after grace or
// at the runtime's command. It returns how many are left all the same.
func (g *guard) sweepAll(grace time.Duration, commands <-chan Command) (left int) {
	if grace > 0 && !g.reap() {
		g.signalAll(syscall.SIGTERM)
		g.await(grace, commands)
	}
	tick := time.NewTicker(again)
	defer tick.Stop()
	for end := time.Now().Add(killed); !g.reap(); {
		if time.Now().After(end) {
			return g.count()
		}
		g.signalAll(syscall.SIGKILL)
		select {
		case <-g.children:
		case <-tick.C:
		}
	}
	return 0
}

// await waits until nothing is left, grace is over, or the runtime asks to kill.
func (g *guard) await(grace time.Duration, commands <-chan Command) {
	over := time.NewTimer(grace)
	defer over.Stop()
	for !g.reap() {
		select {
		case <-g.children:
		case command, ok := <-commands:
			if command == CommandKill {
				return
			}
			if !ok {
				commands = nil // the runtime is gone: the grace given is all there is
			}
		case <-over.C:
			return
		}
	}
}

// reap takes leave of every child that has ended, reports the adapter's end,
// and tells whether nothing is left.
func (g *guard) reap() (gone bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return g.exit != nil && g.alone() // ECHILD: no child, living or ended
		case pid == 0:
			return false
		case pid == g.pid:
			g.exited(status)
		}
	}
}

func (g *guard) exited(status syscall.WaitStatus) {
	code, name := status.ExitStatus(), ""
	if status.Signaled() {
		code, name = 128+int(status.Signal()), status.Signal().String()
	}
	g.exit = &code
	g.report(Report{Exit: &code, Signal: name})
}

// signalGroup signals the adapter's group. While the adapter is not reaped its
// number, which is the group's, cannot be anybody else's.
func (g *guard) signalGroup(sig syscall.Signal) {
	_ = syscall.Kill(-g.pid, sig) // an error says that the group is gone: reap's to notice
}
