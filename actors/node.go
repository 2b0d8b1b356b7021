package actors

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"agentos/actors/kernel"
	"agentos/protocol"
)

// Bounds of a shutdown. They add up to what Close may take at most.
const (
	unloadGrace = 45 * time.Second // sessions settle and routes end
	drainGrace  = 30 * time.Second // the store writes what waits
	stopGrace   = 35 * time.Second // an actor's own end
)

// Node is one process's runtime: a tree of actors with one VM or many.
type Node struct {
	env    *env
	system *actor.ActorSystem
	root   *actor.PID

	mu     sync.Mutex
	vms    map[string]*VM
	closed bool
}

// Start returns a running node. The caller closes it.
func Start(c Config) (*Node, error) {
	if c.Sources == nil || c.Adapters == nil {
		return nil, errors.New("start node: Config needs Sources and Adapters")
	}
	e := newEnv(c)
	n := &Node{env: e, vms: map[string]*VM{}}
	n.system = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return frameworkLog(e.Log) }),
		actor.WithDeadLetterRequestLogging(false), // it prints messages, and those hold secrets
		actor.WithDeadLetterThrottleCount(0),
	)
	n.system.EventStream.Subscribe(func(event any) {
		if d, ok := event.(*actor.DeadLetterEvent); ok {
			kernel.Refuse(d.Message) // nobody is there: the caller learns it now
		}
	})
	n.root = n.system.Root.Spawn(e.RootProps(func() actor.Actor { return &nodeActor{env: e, node: n} }, vmSupervision))
	return n, nil
}

// frameworkLog passes the framework's own lines on from Warn up, but for dead
// letters, whose lines carry payloads.
func frameworkLog(log *zap.Logger) *slog.Logger {
	core := zapslog.NewHandler(log.Core(), zapslog.WithName("protoactor"))
	return slog.New(quiet{core})
}

type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if len(r.Message) > 12 && r.Message[:12] == "[DeadLetter]" {
		return nil
	}
	return q.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, r.Message, r.PC)) // without values
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// Open opens the VM called name on the database that d describes, and returns
// when it is ready: validated, migrated, and with everything settled that a
// lost runtime left running. A VM that is open already is returned as it is.
func (n *Node) Open(ctx context.Context, name string, d protocol.Descriptor) (*VM, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	spawn := spawnVM{name: name, descriptor: d, Promise: kernel.NewPromise[spawned]()}
	n.system.Root.Send(n.root, spawn)
	found, err := spawn.Wait(ctx)
	if err != nil {
		return nil, err
	}
	vm := n.handle(name, found.pid)
	ready := whenReady{kernel.NewPromise[kernel.Done]()}
	n.system.Root.Send(vm.pid, ready)
	if _, err := ready.Wait(ctx); err != nil {
		if ctx.Err() != nil || !found.fresh {
			return nil, err // others have it, or wait for it
		}
		return nil, errors.Join(err, ignoreStopping(vm.Close(context.WithoutCancel(ctx))))
	}
	return vm, nil
}

// ignoreStopping drops the error of closing something that was never open.
func ignoreStopping(err error) error {
	if protocol.CodeOf(err) == protocol.CodeShuttingDown {
		return nil
	}
	return err
}

func (n *Node) handle(name string, pid *actor.PID) *VM {
	n.mu.Lock()
	defer n.mu.Unlock()
	if vm := n.vms[name]; vm != nil && vm.pid.Equal(pid) {
		return vm
	}
	vm := &VM{node: n, name: name, pid: pid}
	n.vms[name] = vm
	return vm
}

// Close closes every VM, then the node. A second call does nothing.
func (n *Node) Close(ctx context.Context) error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	vms := make([]*VM, 0, len(n.vms))
	for _, vm := range n.vms {
		vms = append(vms, vm)
	}
	n.mu.Unlock()
	var err error
	for _, vm := range vms {
		err = errors.Join(err, ignoreStopping(vm.Close(ctx)))
	}
	err = errors.Join(err, n.poison(n.root))
	n.system.Shutdown()
	return err
}

// poison ends an actor after what is queued for it, in bounded time. The
// framework's own future gives up too early, so the end is watched for.
func (n *Node) poison(pid *actor.PID) error {
	gone := make(chan struct{})
	watcher := n.system.Root.Spawn(n.env.RootProps(func() actor.Actor { return &undertaker{pid: pid, gone: gone} }, kernel.StopFailed))
	defer n.system.Root.Stop(watcher)
	select {
	case <-gone:
		return nil
	case <-time.After(stopGrace):
		return protocol.Errorf(protocol.CodeInternal, "an actor did not end in %s", stopGrace)
	}
}

// undertaker poisons an actor and waits for its end.
type undertaker struct {
	pid  *actor.PID
	gone chan struct{}
	once sync.Once
}

// Receive implements actor.Actor.
func (u *undertaker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		c.Watch(u.pid)
		c.Poison(u.pid)
	case *actor.Terminated:
		if m.Who.Equal(u.pid) {
			u.once.Do(func() { close(u.gone) })
		}
	}
}

// spawnVM starts a VM, or finds it.
type spawnVM struct {
	name       string
	descriptor protocol.Descriptor
	kernel.Promise[spawned]
}

// spawned is a VM's actor; fresh tells the one caller for whom it was started.
type spawned struct {
	pid   *actor.PID
	fresh bool
}

// forgetVM is answered when the node knows that a VM is gone, so that its name
// can be opened again.
type forgetVM struct {
	name string
	pid  *actor.PID
	kernel.Promise[kernel.Done]
}

// nodeActor is the parent of all VMs. Its supervision restarts a failed VM and
// gives up on one that fails too often.
type nodeActor struct {
	env  *env
	node *Node
	vms  map[string]*actor.PID
}

// Receive implements actor.Actor.
func (a *nodeActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.vms = map[string]*actor.PID{}
	case spawnVM:
		pid := a.vms[m.name]
		fresh := pid == nil
		if fresh {
			pid = c.Spawn(a.env.Props(func() actor.Actor {
				return &vmActor{env: a.env, name: m.name, descriptor: m.descriptor}
			}, memberSupervision))
			a.vms[m.name] = pid
		}
		m.Resolve(spawned{pid, fresh})
	case forgetVM:
		if pid := a.vms[m.name]; pid != nil && pid.Equal(m.pid) {
			delete(a.vms, m.name)
			a.node.ended(m.name, pid)
		}
		m.Resolve(kernel.Done{})
	case *actor.Terminated:
		for name, pid := range a.vms {
			if pid.Equal(m.Who) {
				delete(a.vms, name)
				a.node.ended(name, pid)
			}
		}
	}
}

// ended marks a VM that is gone; unless it was closed, it has failed.
func (n *Node) ended(name string, pid *actor.PID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if vm := n.vms[name]; vm != nil && vm.pid.Equal(pid) {
		delete(n.vms, name)
		if !vm.closed.Load() {
			vm.failed.Store(true)
			n.env.Log.Error("VM failed too often and was stopped", zap.String("vm", name))
		}
	}
}
