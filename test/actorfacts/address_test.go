package actorfacts

import (
	"errors"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// A dead letter carries its message, address and sender, and its handlers have
// run when the send returns, in the sender's goroutine. Rule: what a stopped
// actor leaves behind is answered from there, so such a handler must not block.
func TestDeadLetter_CarriesTheMessageSynchronously(t *testing.T) {
	system := newSystem()
	letters := deadLetters[work](system)
	sender := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	gone := system.NewLocalPID("gone")
	system.Root.RequestWithCustomSender(gone, work(7), sender)
	select {
	case letter := <-letters:
		if letter.Message != work(7) || !letter.PID.Equal(gone) || !letter.Sender.Equal(sender) {
			t.Errorf("dead letter = %v; want work 7 to %v from %v", letter, gone, sender)
		}
	default:
		t.Error("the send returned before the handler had run")
	}
	poison(t, system, sender)
}

// A request to an actor that is gone fails at once. Rule: a caller that asks a
// stopped session gets its typed error without waiting.
func TestRequest_ToNobodyFailsAtOnce(t *testing.T) {
	system := newSystem()
	pid := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	poison(t, system, pid)
	if err := await(t, ended(system.Root.RequestFuture(pid, ask{}, 2*patience)), "end of the request"); !errors.Is(err, actor.ErrDeadLetter) {
		t.Errorf("request = %v; want %v", err, actor.ErrDeadLetter)
	}
}

// Names are paths under the parent. A taken name gives the PID that exists and
// an error, and the producer has run by then. Rule: parents mint names, and
// producers have no side effects.
func TestSpawnNamed_PathsAndTakenNames(t *testing.T) {
	system, j := newSystem(), newJournal()
	produced := 0
	child := actor.PropsFromProducer(func() actor.Actor {
		produced++
		return actor.ReceiveFunc(func(actor.Context) {})
	})
	vm, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); !ok {
			return
		}
		first, err := c.SpawnNamed(child, "session")
		if first.Id != "vm/session" || err != nil {
			t.Errorf("first spawn = %v, %v; want vm/session", first, err)
		}
		second, err := c.SpawnNamed(child, "session")
		if !second.Equal(first) || !errors.Is(err, actor.ErrNameExists) {
			t.Errorf("second spawn = %v, %v; want %v and %v", second, err, first, actor.ErrNameExists)
		}
		if produced != 2 || len(c.Children()) != 1 {
			t.Errorf("produced = %d, children = %d; want 2 and 1", produced, len(c.Children()))
		}
		j.note("done")
	}), "vm")
	if vm.Id != "vm" || err != nil {
		t.Errorf("root spawn = %v, %v; want vm", vm, err)
	}
	j.await(t, "done", 1)
	poison(t, system, vm)
}

// A name is free again as soon as Stopped is delivered, but the parent still
// counts the child until Terminated. Rule: a new incarnation of a child is
// spawned from Terminated.
func TestSpawnNamed_NameIsFreeOnTerminated(t *testing.T) {
	system, j := newSystem(), newJournal()
	child := actor.PropsFromFunc(func(actor.Context) {})
	var first *actor.PID
	parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			first, _ = c.SpawnNamed(child, "route")
			c.Poison(first)
		case *actor.Terminated:
			if c.Message().(*actor.Terminated).Who != first {
				return // the end of the test
			}
			if len(c.Children()) != 0 {
				t.Errorf("children = %v; want none", c.Children())
			}
			if _, err := c.SpawnNamed(child, "route"); err != nil {
				t.Errorf("spawn again = %v; want nil", err)
			}
			j.note("again")
		}
	}))
	j.await(t, "again", 1)
	poison(t, system, parent)
}

// box wraps a mailbox and stands between it and the actor.
type box struct {
	actor.Mailbox
	invoker actor.MessageInvoker
	seen    *journal
}

func (b *box) RegisterHandlers(invoker actor.MessageInvoker, d actor.Dispatcher) {
	b.invoker = invoker
	b.Mailbox.RegisterHandlers(b, d)
}
func (b *box) InvokeUserMessage(m any) {
	b.seen.note("user")
	b.invoker.InvokeUserMessage(m)
}
func (b *box) InvokeSystemMessage(m any) {
	b.seen.note("system")
	b.invoker.InvokeSystemMessage(m)
}
func (b *box) EscalateFailure(reason, m any) { b.invoker.EscalateFailure(reason, m) }

// A mailbox can be wrapped on both sides, and the invoker behind it is the
// actor's Context. Rule: the mailbox of ours counts for admission, and answers
// what is left when its actor has gone from the registry.
func TestMailbox_CanBeWrapped(t *testing.T) {
	system, j := newSystem(), newJournal()
	base := actor.Unbounded()
	made := make(chan *box, 1)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Stopped); ok && registered(system, c.Self()) {
			t.Error("still registered in Stopped; want gone")
		}
	}, actor.WithMailbox(func() actor.Mailbox {
		b := &box{Mailbox: base(), seen: j}
		made <- b
		return b
	})))
	b := await(t, made, "mailbox")
	if c, ok := b.invoker.(actor.Context); !ok || !c.Self().Equal(pid) {
		t.Errorf("invoker is a %T; want the actor's Context", b.invoker)
	}
	j.await(t, "system", 1)
	system.Root.Send(pid, work(1))
	j.await(t, "user", 1)
	if err := system.Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := j.all(), []string{"system", "user", "system", "system"}; !slices.Equal(got, want) { // Started; work; Watch of the future, Stop
		t.Errorf("invoked = %q; want %q", got, want)
	}
}

// System messages overtake user messages. Rule: Stop and a child's failure are
// seen before the work that waits, so order between them is never assumed.
func TestMailbox_SystemMessagesOvertake(t *testing.T) {
	system, j := newSystem(), newJournal()
	watched := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	gate, held := make(chan struct{}), make(chan struct{})
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(watched)
		case work:
			if m == 0 {
				close(held)
				<-gate
				return
			}
			j.note("work")
		case *actor.Terminated:
			j.note("terminated")
		}
	}))
	system.Root.Send(pid, work(0))
	await(t, held, "first message")
	system.Root.Send(pid, work(1))
	letter := deadLetters[*actor.Stop](system)
	poison(t, system, watched)
	system.Root.Stop(watched) // a dead letter: the watchers have been told
	await(t, letter, "dead letter of the stop")
	close(gate)
	got := j.await(t, "work", 1)
	if want := []string{"terminated", "work"}; !slices.Equal(got, want) {
		t.Errorf("notes = %q; want %q", got, want)
	}
	poison(t, system, pid)
}
