package actors

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/actors/kernel"
	"agentos/actors/store"
)

// Close ends the VM from the leaves up: turns are settled, adapters stopped with
// all their processes, the store drained, checkpointed and closed.
func (v *VM) Close(ctx context.Context) error {
	v.closed.Store(true)
	m := beginClose{kernel.NewPromise[closing]()}
	v.send(m)
	parts, err := m.Wait(ctx)
	if err != nil {
		return v.explain(err)
	}
	err = v.unload(ctx, parts.sessions)
	for _, pid := range parts.sessions {
		err = errors.Join(err, v.node.poison(pid))
	}
	if parts.store != nil {
		err = errors.Join(err, v.drain(ctx, parts.store), v.node.poison(parts.store))
	}
	err = errors.Join(err, v.node.poison(v.pid))
	gone := forgetVM{name: v.name, pid: v.pid, Promise: kernel.NewPromise[kernel.Done]()}
	v.node.system.Root.Send(v.node.root, gone)
	_, ferr := gone.Wait(ctx)
	return errors.Join(err, ignoreStopping(ferr))
}

func (v *VM) unload(ctx context.Context, pids []*actor.PID) error {
	ctx, cancel := context.WithTimeout(ctx, unloadGrace)
	defer cancel()
	asked := make([]kernel.Promise[kernel.Done], len(pids))
	for i, pid := range pids {
		m := unloadRequest{kernel.NewPromise[kernel.Done]()}
		asked[i] = m.Promise
		v.node.system.Root.Send(pid, m)
	}
	var errs []error
	for _, p := range asked {
		_, err := p.Wait(ctx)
		errs = append(errs, ignoreStopping(err))
	}
	return errors.Join(errs...)
}

func (v *VM) drain(ctx context.Context, pid *actor.PID) error {
	ctx, cancel := context.WithTimeout(ctx, drainGrace)
	defer cancel()
	m := store.Drain{Promise: kernel.NewPromise[kernel.Done]()}
	v.node.system.Root.Send(pid, m)
	_, err := m.Wait(ctx)
	return ignoreStopping(err)
}
