package actorfacts

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 5 * time.Second       // bounds every wait for something that must happen
	shortly  = 50 * time.Millisecond // the deadline of a request that must time out
)

// Messages. A work is noted under its number, a boom panics.
type (
	work int
	boom struct{}
	ask  struct{}
)

// newSystem returns a quiet actor system. The throttle of its dead letters
// leaves a goroutine behind for one interval, so that is short.
func newSystem() *actor.ActorSystem {
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
		actor.WithDeadLetterThrottleInterval(time.Millisecond))
}

// journal collects what actors note, in order, for a test that waits for it.
type journal struct {
	mu    sync.Mutex
	notes []string
	grown chan struct{} // holds one token once a note was added since the last wait
}

func newJournal() *journal { return &journal{grown: make(chan struct{}, 1)} }

func (j *journal) note(s string) {
	j.mu.Lock()
	j.notes = append(j.notes, s)
	j.mu.Unlock()
	select {
	case j.grown <- struct{}{}:
	default:
	}
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.notes)
}

// await waits until note stands in the journal for the n-th time and returns
// everything noted by then.
func (j *journal) await(t *testing.T, note string, n int) []string {
	t.Helper()
	deadline := time.After(patience)
	for {
		all, seen := j.all(), 0
		for _, s := range all {
			if s == note {
				seen++
			}
		}
		if seen >= n {
			return all
		}
		select {
		case <-j.grown:
		case <-deadline:
			t.Fatalf("no %q for the %d. time in %v: %q", note, n, patience, all)
		}
	}
}

// await waits for a value.
func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s in %v", what, patience)
		panic("unreachable")
	}
}

// ended returns a channel that is closed when f is done.
func ended(f *actor.Future) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f.Wait() }() // ends with the future, which has a timeout of its own
	return c
}

// lifecycle names the framework's messages to an actor.
func lifecycle(msg any) string {
	switch msg.(type) {
	case *actor.Started:
		return "started"
	case *actor.Restarting:
		return "restarting"
	case *actor.Stopping:
		return "stopping"
	case *actor.Stopped:
		return "stopped"
	case *actor.Terminated:
		return "terminated"
	}
	return ""
}

// deadLetters returns a channel of the dead letters whose message is a T.
func deadLetters[T any](system *actor.ActorSystem) <-chan *actor.DeadLetterEvent {
	c := make(chan *actor.DeadLetterEvent, 16)
	system.EventStream.Subscribe(func(e any) {
		if letter, ok := e.(*actor.DeadLetterEvent); ok {
			if _, ok := letter.Message.(T); ok {
				c <- letter
			}
		}
	})
	return c
}

// registered reports whether messages to pid still reach an actor.
func registered(system *actor.ActorSystem, pid *actor.PID) bool {
	_, ok := system.ProcessRegistry.GetLocal(pid.Id)
	return ok
}

// poison ends an actor that the test is done with.
func poison(t *testing.T, system *actor.ActorSystem, pid *actor.PID) {
	t.Helper()
	if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
		t.Errorf("poison %v: %v", pid, err)
	}
}

// observe spawns an actor that notes "gone" when pid has ended and answers
// "watching" when asked. It watches when observe returns.
func observe(t *testing.T, system *actor.ActorSystem, pid *actor.PID, j *journal) *actor.PID {
	t.Helper()
	observer := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			c.Watch(pid)
		case *actor.Terminated:
			j.note("gone")
		case ask:
			c.Respond("watching")
		}
	}))
	if _, err := system.Root.RequestFuture(observer, ask{}, patience).Result(); err != nil {
		t.Fatalf("start the observer: %v", err)
	}
	return observer
}
