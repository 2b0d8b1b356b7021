package actorfacts

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// incarnations returns props whose producer numbers its values, from 1.
func incarnations(receive func(id int, c actor.Context), opts ...actor.PropsOption) *actor.Props {
	var last atomic.Int64
	return actor.PropsFromProducer(func() actor.Actor {
		id := int(last.Add(1))
		return actor.ReceiveFunc(func(c actor.Context) { receive(id, c) })
	}, opts...)
}

// A restart is a new value without children. Rule: an actor that restarts takes
// its subtree with it, so the vm is nearly logic-free, a restarted session
// replays from the database, and its route is stopped with it.
func TestRestart_NewValueAndNoChildren(t *testing.T) {
	system, j := newSystem(), newJournal()
	pid := system.Root.Spawn(incarnations(func(id int, c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			j.note(fmt.Sprintf("started %d with %d children", id, len(c.Children())))
			c.Spawn(actor.PropsFromFunc(func(c actor.Context) { j.note(fmt.Sprintf("child of %d %s", id, lifecycle(c.Message()))) }))
		case *actor.Restarting:
			j.note(fmt.Sprintf("restarting %d", id))
		case boom:
			panic("boom")
		}
	}))
	j.await(t, "child of 1 started", 1)
	system.Root.Send(pid, boom{})
	got := j.await(t, "child of 2 started", 1)
	want := []string{"started 1 with 0 children", "child of 1 started", "restarting 1", "child of 1 stopping", "child of 1 stopped", "started 2 with 0 children", "child of 2 started"}
	if !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	poison(t, system, pid)
}

// The message that panicked is gone, those behind it are served in order by the
// next value. Rule: whoever asked learns of a panic by deadline only, so every
// request has one; and a restarted session gets messages meant for the value
// before it, so epochs are on everything that can arrive late.
func TestRestart_DropsTheMessageAndKeepsTheQueue(t *testing.T) {
	system, j, gate := newSystem(), newJournal(), make(chan struct{})
	pid := system.Root.Spawn(incarnations(func(id int, c actor.Context) {
		switch m := c.Message().(type) {
		case work:
			if m == 0 {
				<-gate
			}
			j.note(fmt.Sprintf("%d:%d", id, m))
		case ask:
			j.note(fmt.Sprintf("%d:panic", id))
			panic("boom")
		}
	}))
	for i := range 3 {
		system.Root.Send(pid, work(i))
	}
	future := system.Root.RequestFuture(pid, ask{}, shortly)
	for i := 3; i < 6; i++ {
		system.Root.Send(pid, work(i))
	}
	close(gate)
	got := j.await(t, "2:5", 1)
	if want := []string{"1:0", "1:1", "1:2", "1:panic", "2:3", "2:4", "2:5"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	if err := await(t, ended(future), "end of the request"); err != actor.ErrTimeout {
		t.Errorf("request that panicked = %v; want %v", err, actor.ErrTimeout)
	}
	poison(t, system, pid)
}

// A ReenterAfter continuation overtakes queued messages, and after a restart it
// runs with the closure of the dead value. Rule: it is not used for storage;
// answers are plain messages with an epoch.
func TestReenterAfter_OvertakesAndRunsOnTheDeadValue(t *testing.T) {
	system, j := newSystem(), newJournal()
	answer, queued := make(chan struct{}), make(chan struct{})
	slow := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(ask); ok {
			<-answer
			c.Respond("answer")
		}
	}))
	pid := system.Root.Spawn(incarnations(func(id int, c actor.Context) {
		switch m := c.Message().(type) {
		case ask:
			c.ReenterAfter(c.RequestFuture(slow, ask{}, patience), func(any, error) { j.note(fmt.Sprintf("continuation of %d", id)) })
		case boom:
			panic("boom")
		case work:
			j.note(fmt.Sprintf("work %d on %d", m, id))
			if m == 1 {
				<-queued
			}
		}
	}))
	system.Root.Send(pid, ask{})
	system.Root.Send(pid, boom{})
	system.Root.Send(pid, work(1))
	system.Root.Send(pid, work(2))
	j.await(t, "work 1 on 2", 1)
	close(answer)
	poison(t, system, slow) // it has answered, so the continuation is in the mailbox, behind work 2
	close(queued)
	got := j.await(t, "work 2 on 2", 1)
	if want := []string{"work 1 on 2", "continuation of 1", "work 2 on 2"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	poison(t, system, pid)
}

// Stash is replayed by a restart only, newest first and without its sender.
// Rule: early messages wait in a slice of our own.
func TestStash_WaitsForARestartAndComesBackwards(t *testing.T) {
	system, j := newSystem(), newJournal()
	pid := system.Root.Spawn(incarnations(func(id int, c actor.Context) {
		switch m := c.Message().(type) {
		case work:
			if id == 1 {
				c.Stash()
				return
			}
			j.note(fmt.Sprintf("%d sender=%v", m, c.Sender() != nil))
		case ask:
			j.note("all stashed")
		case boom:
			panic("boom")
		}
	}))
	for i := range 3 {
		system.Root.RequestWithCustomSender(pid, work(i), pid)
	}
	system.Root.Send(pid, ask{})
	if got := j.await(t, "all stashed", 1); len(got) != 1 {
		t.Errorf("replayed without a restart: %q", got)
	}
	system.Root.Send(pid, boom{})
	got := j.await(t, "0 sender=false", 1)
	if want := []string{"all stashed", "2 sender=false", "1 sender=false", "0 sender=false"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	poison(t, system, pid)
}

// Stashing a replayed message again is an endless loop. Rule: no Stash at all.
func TestStash_AgainDuringTheReplayNeverEnds(t *testing.T) {
	const enough = 10_000
	system, seen, out := newSystem(), 0, make(chan struct{})
	pid := system.Root.Spawn(incarnations(func(_ int, c actor.Context) {
		switch c.Message().(type) {
		case work:
			if seen++; seen == enough {
				close(out) // the test's way out of the loop
				return
			}
			c.Stash()
		case boom:
			panic("boom")
		}
	}))
	system.Root.Send(pid, work(1))
	system.Root.Send(pid, boom{})
	await(t, out, "ten thousand replays")
	poison(t, system, pid)
}

// The default strategy restarts at once, ten times in ten seconds, and stops
// the child at the eleventh failure; only its parent hears of it, unasked. Rule:
// every actor has a strategy of ours and a parent that handles Terminated.
func TestDefaultStrategy_StopsAfterTenRestartsAndTheParentHears(t *testing.T) {
	system, j := newSystem(), newJournal()
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			child := c.Spawn(incarnations(func(_ int, c actor.Context) {
				switch c.Message().(type) {
				case *actor.Started:
					j.note("child started")
				case boom:
					panic("boom")
				}
			}))
			for range 12 {
				c.Send(child, boom{})
			}
		case *actor.Terminated:
			j.note("parent told")
		}
	}))
	got := j.await(t, "parent told", 1)
	if n := len(got) - 1; n != 11 {
		t.Errorf("child started %d times; want 11", n)
	}
	poison(t, system, parent)
}

// A parent that also watches its child is told twice. Rule: nobody watches its
// own children.
func TestTerminated_ComesTwiceToAParentThatWatches(t *testing.T) {
	system, j := newSystem(), newJournal()
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			child := c.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
			c.Watch(child)
			c.Poison(child)
		case *actor.Terminated:
			j.note("told")
		}
	}))
	j.await(t, "told", 2)
	poison(t, system, parent)
}

// A panic in Started is a failure like any other: spawning returns a PID and no
// error. Rule: start-up work that can fail is done before the spawn or is a
// state, never a panic in Started.
func TestStarted_PanicIsNotSeenBySpawn(t *testing.T) {
	system, j := newSystem(), newJournal()
	strategy := actor.NewOneForOneStrategy(3, time.Minute, actor.DefaultDecider)
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			child, err := c.SpawnNamed(incarnations(func(_ int, c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					j.note("started")
					panic("no database")
				}
			}), "child")
			if child == nil || err != nil {
				t.Errorf("spawn = %v, %v; want a PID and no error", child, err)
			}
		case *actor.Terminated:
			j.note("told")
		}
	}, actor.WithSupervisor(strategy)))
	if got := j.await(t, "told", 1); len(got) != 5 {
		t.Errorf("notes = %q; want 4 starts (3 restarts), then told", got)
	}
	poison(t, system, parent)
}

// Escalate restarts the parent by its own parent's strategy, and the child is
// stopped with it. Rule: a store that cannot be trusted restarts the whole vm.
func TestEscalate_RestartsTheParent(t *testing.T) {
	system, j := newSystem(), newJournal()
	escalate := actor.NewOneForOneStrategy(3, time.Minute, func(any) actor.Directive { return actor.EscalateDirective })
	children := make(chan *actor.PID, 2)
	top := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); !ok {
			return
		}
		c.Spawn(incarnations(func(id int, c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				children <- c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					j.note(fmt.Sprintf("child of %d %s", id, lifecycle(c.Message())))
					if _, ok := c.Message().(boom); ok {
						panic("boom")
					}
				}))
			}
		}, actor.WithSupervisor(escalate)))
	}))
	child := await(t, children, "child")
	system.Root.Send(child, boom{})
	got := j.await(t, "child of 2 started", 1)
	if want := []string{"child of 1 started", "child of 1 ", "child of 1 stopping", "child of 1 stopped", "child of 2 started"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	poison(t, system, top)
}

// An actor under the root is governed by WithGuardian; its WithSupervisor is
// for its children only. Rule: the node's strategy is a guardian.
func TestGuardian_GovernsARootActor(t *testing.T) {
	stop := actor.NewOneForOneStrategy(0, time.Minute, func(any) actor.Directive { return actor.StopDirective })
	for _, c := range []struct {
		name string
		opt  actor.PropsOption
		want string
	}{
		{"guardian", actor.WithGuardian(stop), "stopped"},
		{"supervisor", actor.WithSupervisor(stop), "restarting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			system, j := newSystem(), newJournal()
			pid := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
				if _, ok := ctx.Message().(boom); ok {
					panic("boom")
				}
				j.note(lifecycle(ctx.Message()))
			}, c.opt))
			system.Root.Send(pid, boom{})
			j.await(t, c.want, 1)
			poison(t, system, pid)
		})
	}
}

const escalateToGuardian = "ACTORFACTS_ESCALATE"

// A guardian that escalates ends the process: the panic is raised where nothing
// recovers. Rule: a strategy on a root actor never escalates.
func TestGuardian_EscalationEndsTheProcess(t *testing.T) {
	if os.Getenv(escalateToGuardian) != "" {
		system := newSystem()
		escalate := actor.NewOneForOneStrategy(0, time.Minute, func(any) actor.Directive { return actor.EscalateDirective })
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(boom); ok {
				panic("boom")
			}
		}, actor.WithGuardian(escalate)))
		system.Root.Send(pid, boom{})
		<-time.After(patience) // the process is gone long before
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGuardian_EscalationEndsTheProcess$")
	cmd.Env = append(os.Environ(), escalateToGuardian+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "guardian cannot escalate failure") {
		t.Errorf("process = %v; want it ended by a panic: %s", err, out)
	}
}
