package kernel_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"agentos/actors/kernel"
)

// A restart that was delayed finds its actor stopped, or stopping, and leaves it
// so: the framework would bring it back, and a parent that waits for its end
// would wait for ever.
func TestAttack_DelayedRestartDoesNotBringAStoppedActorBack(t *testing.T) {
	for name, linger := range map[string]time.Duration{"stopped": 0, "stopping": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			env := &kernel.Env{Log: zap.NewNop(), Clock: time.Now, IDs: func() string { return "id" }}
			system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
			defer system.Shutdown()
			slow := &kernel.Backoff{Max: 5, Window: time.Minute}
			var started atomic.Int32
			child := env.Props(func() actor.Actor {
				return actor.ReceiveFunc(func(c actor.Context) {
					switch c.Message().(type) {
					case *actor.Started:
						started.Add(1)
						c.Spawn(env.Props(func() actor.Actor {
							return actor.ReceiveFunc(func(c actor.Context) {
								if _, ok := c.Message().(*actor.Stopping); ok {
									pause(linger)
								}
							})
						}, kernel.StopFailed))
					case string:
						panic("planned")
					}
				})
			}, kernel.StopFailed)
			var pid *actor.PID
			up := make(chan struct{})
			parent := system.Root.Spawn(env.RootProps(func() actor.Actor {
				return actor.ReceiveFunc(func(c actor.Context) {
					if _, ok := c.Message().(*actor.Started); ok {
						pid = c.Spawn(child)
						close(up)
					}
				})
			}, slow))
			<-up
			for n := int32(1); n <= 4; n++ { // each failure doubles the delay
				system.Root.Send(pid, "fail")
				if n < 4 {
					for started.Load() != n+1 {
						pause(time.Millisecond)
					}
				}
			}
			pause(5 * time.Millisecond) // it has failed; its restart is 20 to 40 ms away
			before := started.Load()
			if err := system.Root.StopFuture(parent).Wait(); err != nil {
				t.Errorf("the parent did not stop: %v", err)
			}
			pause(100 * time.Millisecond)
			if n := started.Load() - before; n != 0 {
				t.Errorf("the actor was started %d times after it was stopped", n)
			}
		})
	}
}

// pause lets time go by: that something does not happen has no signal.
func pause(d time.Duration) { <-time.After(d) }
