package actors

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Restart policy: how often an actor may be restarted within restartWindow
// before it is stopped and its parent is told.
const (
	restartWindow   = time.Minute
	rootRestarts    = 3
	vmRestarts      = 5
	sessionRestarts = 5

	firstDelay = 10 * time.Millisecond
	maxDelay   = 5 * time.Second
)

// backoff restarts a failed child after a delay that doubles with each failure,
// with jitter and a cap, and stops it when it has failed too often. The parent
// then gets *actor.Terminated. The framework's own exponential strategy is
// linear, has no cap and never gives up (runtime-facts section 2).
type backoff struct {
	max    int
	window time.Duration
}

func newBackoff(maxRestarts int, window time.Duration) *backoff {
	return &backoff{max: maxRestarts, window: window}
}

// HandleFailure implements actor.SupervisorStrategy.
func (b *backoff) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, _, _ any) {
	rs.Fail()
	n := rs.NumberOfFailures(b.window)
	if n > b.max {
		rs.Reset()
		sup.StopChildren(child)
		return
	}
	if n == 1 {
		sup.RestartChildren(child) // once is an accident
		return
	}
	// The child is suspended meanwhile. A timer that outlives the supervisor
	// sends to an actor that is gone, which is harmless.
	time.AfterFunc(delay(n-1), func() { sup.RestartChildren(child) })
}

// delay returns the wait before the n-th delayed restart, n >= 1.
func delay(n int) time.Duration {
	d := maxDelay
	if n < 16 {
		d = min(maxDelay, firstDelay<<(n-1))
	}
	return d/2 + rand.N(d/2+1)
}

// vmStrategy supervises the children of a VM: a store that fails takes the VM
// with it, anything else is restarted alone.
type vmStrategy struct{ backoff }

// HandleFailure implements actor.SupervisorStrategy.
func (v *vmStrategy) HandleFailure(s *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, msg any) {
	if strings.HasSuffix(child.GetId(), "/"+storeName) {
		sup.EscalateFailure(reason, msg)
		return
	}
	v.backoff.HandleFailure(s, sup, child, rs, reason, msg)
}

// stopStrategy stops a failed child: a route is never restarted by itself.
type stopStrategy struct{}

// HandleFailure implements actor.SupervisorStrategy.
func (stopStrategy) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	sup.StopChildren(child)
}

// The strategies are shared values: the framework keeps each one it is given.
var (
	nodeChildren    = newBackoff(vmRestarts, restartWindow)
	vmChildren      = &vmStrategy{backoff{sessionRestarts, restartWindow}}
	sessionChildren = stopStrategy{}
)
