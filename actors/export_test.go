package actors

import (
	"context"
	"strings"

	"agentos/actors/kernel"
	"agentos/protocol"
)

// boom is a request that no session and no VM knows: handling it panics.
type boom struct{ kernel.Promise[kernel.Done] }

// SessionPanic makes a session's actor panic and returns what its caller was
// told.
func (v *VM) SessionPanic(ctx context.Context, id protocol.SessionID) error {
	m := boom{kernel.NewPromise[kernel.Done]()}
	_, err := ask(ctx, v, id, m, m.Promise)
	return err
}

// VMPanic makes the VM's actor panic.
func (v *VM) VMPanic(ctx context.Context) error {
	m := boom{kernel.NewPromise[kernel.Done]()}
	v.send(m)
	_, err := m.Wait(ctx)
	return v.explain(err)
}

// Descendants returns the ids of the actors below the node.
func (n *Node) Descendants() []string {
	var ids []string
	for _, bucket := range n.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range bucket.Keys() {
			if strings.HasPrefix(id, n.root.GetId()+"/") {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
