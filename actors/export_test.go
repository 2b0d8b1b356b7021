package actors

import (
	"context"
	"strings"

	"agentos/protocol"
)

// boom is a request that no session and no VM knows: handling it panics.
type boom struct{ promise[done] }

// SessionPanic makes a session's actor panic and returns what its caller was
// told.
func (v *VM) SessionPanic(ctx context.Context, id protocol.SessionID) error {
	m := boom{newPromise[done]()}
	return v.ask(ctx, id, m, m.promise)
}

// VMPanic makes the VM's actor panic.
func (v *VM) VMPanic(ctx context.Context) error {
	m := boom{newPromise[done]()}
	v.send(m)
	_, err := m.wait(ctx)
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

// Group is what a test gives to a handle's writer.
type Group = []protocol.Batch

// WriteGroup runs the store's writer on a handle of its own.
func WriteGroup(c Config, g Group) ([]*protocol.Error, error) {
	h, err := openHandle(newEnv(c), protocol.Descriptor{SQLiteFile: "/memory"})
	if err != nil {
		return nil, err
	}
	fates, fatal := h.write(g)
	errs := make([]*protocol.Error, len(fates))
	for i, f := range fates {
		errs[i] = f.err
	}
	if cerr := h.close(); cerr != nil && fatal == nil {
		fatal = cerr
	}
	return errs, fatal
}
