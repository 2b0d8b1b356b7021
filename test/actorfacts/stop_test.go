package actorfacts

import (
	"errors"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// queued spawns an actor that is held in its first message while five further
// ones and a request wait behind it, and returns what opens the gate.
func queued(t *testing.T, system *actor.ActorSystem, j *journal, opts ...actor.PropsOption) (pid *actor.PID, request *actor.Future, open func()) {
	t.Helper()
	gate, held := make(chan struct{}), make(chan struct{})
	pid = system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case work:
			if m == 0 {
				close(held)
				<-gate
				return
			}
			j.note("work")
		case ask:
			c.Respond("answer")
		case *actor.Stopped:
			j.note("stopped")
		}
	}, opts...))
	for i := range 6 {
		system.Root.Send(pid, work(i))
	}
	await(t, held, "first message")
	return pid, system.Root.RequestFuture(pid, ask{}, shortly), func() { close(gate) }
}

// Stop throws the queue away without a word: no dead letter, and a queued
// request waits out its deadline. Rule: shutdown is Poison in order, and the
// mailbox of ours answers what a stopped actor leaves behind.
func TestStop_DiscardsTheQueueSilently(t *testing.T) {
	system, j := newSystem(), newJournal()
	letters := deadLetters[work](system)
	pid, request, open := queued(t, system, j)
	stopped := ended(system.Root.StopFuture(pid))
	open()
	if err := await(t, stopped, "end of the actor"); err != nil {
		t.Fatal(err)
	}
	if got := j.all(); !slices.Equal(got, []string{"stopped"}) {
		t.Errorf("notes = %q; want no work done", got)
	}
	if err := await(t, ended(request), "end of the request"); !errors.Is(err, actor.ErrTimeout) {
		t.Errorf("queued request = %v; want %v", err, actor.ErrTimeout)
	}
	if n := len(letters); n != 0 {
		t.Errorf("%d dead letters of the queue; want none", n)
	}
}

// Poison is a message like others: what is before it is done, what is after it
// is thrown away. Rule: an actor is told to drain, then poisoned.
func TestPoison_ProcessesTheQueueFirst(t *testing.T) {
	system, j := newSystem(), newJournal()
	pid, request, open := queued(t, system, j)
	stopped := ended(system.Root.PoisonFuture(pid))
	system.Root.Send(pid, work(9))
	open()
	if err := await(t, stopped, "end of the actor"); err != nil {
		t.Fatal(err)
	}
	if got, want := j.all(), []string{"work", "work", "work", "work", "work", "stopped"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	if got, err := request.Result(); got != "answer" || err != nil {
		t.Errorf("queued request = %v, %v; want an answer", got, err)
	}
}

// While an actor waits for its children to stop it still gets messages, after
// Stopping. Rule: a stopping actor refuses work by its own state.
func TestStop_MessagesArriveAfterStoppingWhileChildrenLive(t *testing.T) {
	system, j := newSystem(), newJournal()
	gate, ready := make(chan struct{}), make(chan struct{})
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch c.Message().(type) {
				case *actor.Started:
					close(ready)
				case *actor.Stopping:
					<-gate
				}
			}))
		case work:
			j.note("work")
		default:
			j.note(lifecycle(c.Message()))
		}
	}))
	await(t, ready, "child")
	stopped := ended(system.Root.StopFuture(pid))
	j.await(t, "stopping", 1)
	system.Root.Send(pid, work(1))
	j.await(t, "work", 1)
	close(gate)
	if err := await(t, stopped, "end of the actor"); err != nil {
		t.Fatal(err)
	}
	if got, want := j.all(), []string{"stopping", "work", "terminated", "stopped"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
}

// A panic in Stopping restarts the actor in place of stopping it. Rule: the
// guard swallows panics in lifecycle messages.
func TestStopping_PanicBringsTheActorBack(t *testing.T) {
	system, j := newSystem(), newJournal()
	pid := system.Root.Spawn(incarnations(func(id int, c actor.Context) {
		j.note(lifecycle(c.Message()))
		switch c.Message().(type) {
		case *actor.Stopping:
			if id == 1 {
				panic("in stopping")
			}
		case ask:
			c.Respond("alive")
		}
	}))
	j.await(t, "started", 1)
	system.Root.Stop(pid)
	got := j.await(t, "started", 2)
	if want := []string{"started", "stopping", "restarting", "started"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	if got, err := system.Root.RequestFuture(pid, ask{}, patience).Result(); got != "alive" {
		t.Errorf("request = %v, %v; want an answer of the actor that was stopped", got, err)
	}
	poison(t, system, pid)
}

// A panic in Stopped is heard by nobody, so the parent waits for that child for
// ever: it cannot stop. Rule: the guard swallows panics in lifecycle messages.
func TestStopped_PanicWedgesTheParent(t *testing.T) {
	system, j := newSystem(), newJournal()
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch c.Message().(type) {
				case *actor.Started:
					j.note("child started")
				case *actor.Stopped:
					panic("in stopped")
				}
			}))
		case *actor.Terminated:
			j.note("parent told")
		case ask:
			c.Respond("still here")
		}
	}))
	observer := observe(t, system, parent, j)
	restarts := deadLetters[*actor.Restart](system)
	j.await(t, "child started", 1)
	system.Root.Stop(parent)
	// The parent's strategy answers the failure with a restart of a child that
	// has left the registry. That is the last thing that happens.
	await(t, restarts, "restart that reaches nobody")
	for pid, want := range map[*actor.PID]string{parent: "still here", observer: "watching"} {
		if got, err := system.Root.RequestFuture(pid, ask{}, patience).Result(); got != want {
			t.Errorf("request to %v = %v, %v; want %s", pid, got, err, want)
		}
	}
	if got := j.all(); !slices.Equal(got, []string{"child started"}) || !registered(system, parent) {
		t.Errorf("notes = %q, registered = %v; want a parent that waits for ever", got, registered(system, parent))
	}
	poison(t, system, observer)
}

// A child spawned while its parent stops is never told to stop, so the parent
// waits for it for ever. Rule: a supervisor that replaces its children on
// Terminated does not while it is stopping.
func TestTerminated_ReplacingChildrenWhileStoppingWedges(t *testing.T) {
	system, j := newSystem(), newJournal()
	child := actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			j.note("child started")
		}
	})
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started, *actor.Terminated:
			c.Spawn(child)
		case ask:
			c.Respond("still here")
		}
	}))
	observer := observe(t, system, parent, j)
	j.await(t, "child started", 1)
	system.Root.Stop(parent)
	j.await(t, "child started", 2)
	for pid, want := range map[*actor.PID]string{parent: "still here", observer: "watching"} {
		if got, err := system.Root.RequestFuture(pid, ask{}, patience).Result(); got != want {
			t.Errorf("request to %v = %v, %v; want %s", pid, got, err, want)
		}
	}
	if slices.Contains(j.all(), "gone") || !registered(system, parent) {
		t.Errorf("notes = %q; want a parent that waits for ever", j.all())
	}
	poison(t, system, observer)
}

// Receiver middleware sees the lifecycle messages, and a panic swallowed there
// lets the actor and its parent stop. Rule: this is what the guard is.
func TestMiddleware_CanSwallowLifecyclePanics(t *testing.T) {
	guard := func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
			defer func() {
				if r := recover(); r != nil && lifecycle(e.Message) == "" {
					panic(r)
				}
			}()
			next(c, e)
		}
	}
	for _, where := range []string{"stopping", "stopped"} {
		t.Run(where, func(t *testing.T) {
			system, j := newSystem(), newJournal()
			parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
						j.note(lifecycle(c.Message()))
						if lifecycle(c.Message()) == where {
							panic(where)
						}
					}, actor.WithReceiverMiddleware(guard)))
				}
			}))
			j.await(t, "started", 1)
			if err := await(t, ended(system.Root.StopFuture(parent)), "end of the parent"); err != nil {
				t.Error(err)
			}
			if got, want := j.all(), []string{"started", "stopping", "stopped"}; !slices.Equal(got, want) {
				t.Errorf("notes = %q; want %q", got, want)
			}
		})
	}
}

// Shutdown of a system stops no actor, and a second one panics. Rule: the node
// poisons its tree in order and never calls Shutdown twice.
func TestShutdown_StopsNoActor(t *testing.T) {
	system := newSystem()
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(ask); ok {
			c.Respond("alive")
		}
	}))
	system.Shutdown()
	if got, err := system.Root.RequestFuture(pid, ask{}, patience).Result(); got != "alive" {
		t.Errorf("request after Shutdown = %v, %v; want an answer", got, err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a second Shutdown returned; want a panic")
			}
		}()
		system.Shutdown()
	}()
	poison(t, system, pid)
}
