package kernel

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The delays before a failed actor is restarted.
const (
	firstDelay = 10 * time.Millisecond
	maxDelay   = 5 * time.Second
)

// Strategies are shared values: the framework keeps each one that it is given.

// Backoff restarts a failed child after a delay that doubles with each failure,
// with jitter and a cap, and stops it when it has failed too often. The parent
// then gets *actor.Terminated. The framework's own exponential strategy is
// linear, has no cap and never gives up (runtime-facts section 2).
type Backoff struct {
	Max    int           // restarts within Window
	Window time.Duration //
	// Escalate is the name of a child whose failure is its parent's failure; ""
	// if there is none.
	Escalate string
}

// HandleFailure implements actor.SupervisorStrategy.
func (b *Backoff) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, msg any) {
	if b.Escalate != "" && strings.HasSuffix(child.GetId(), "/"+b.Escalate) {
		sup.EscalateFailure(reason, msg)
		return
	}
	rs.Fail()
	n := rs.NumberOfFailures(b.Window)
	switch {
	case n > b.Max:
		rs.Reset()
		sup.StopChildren(child)
	case n == 1:
		sup.RestartChildren(child) // once is an accident
	default:
		// The child is suspended meanwhile. A timer that outlives the supervisor
		// sends to an actor that is gone, which is harmless.
		time.AfterFunc(delay(n-1), func() { sup.RestartChildren(child) })
	}
}

// delay returns the wait before the n-th delayed restart, n >= 1.
func delay(n int) time.Duration {
	d := maxDelay
	if n < 16 {
		d = min(maxDelay, firstDelay<<(n-1))
	}
	return d/2 + rand.N(d/2+1)
}

// StopFailed stops a failed child; its parent hears of it.
var StopFailed actor.SupervisorStrategy = stopFailed{}

type stopFailed struct{}

// HandleFailure implements actor.SupervisorStrategy.
func (stopFailed) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	sup.StopChildren(child)
}

// roots restarts actors without a parent. It never escalates: that would end the
// process (runtime-facts section 2).
var roots = &Backoff{Max: 3, Window: time.Minute}
