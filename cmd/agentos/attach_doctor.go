package main

import (
	"context"
	"slices"

	"agentos/persistence/core"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// examinePasses is how often a VM that is in use is looked at: what is written
// meanwhile looks wrong once, and not each time.
const examinePasses = 3

// examineHeld has the process that holds the VM look at it. refused is why this one
// cannot. What only the file itself tells, SQLite's own check and the schema's
// versions, is left out.
func examineHeld(ctx context.Context, p place, refused error) (*checkup, error) {
	h, held := sqlitefile.HolderOf(p.path)
	if !held {
		return nil, refused
	}
	vm, how := knock(ctx, p, h)
	if how != reached {
		return nil, refused
	}
	defer vm.Close()
	c := &checkup{
		VM: p.name, Path: p.path, Through: &vmHolder{h.PID, h.Command},
		Owners: []ownerVersion{}, OpenTurns: []protocol.SessionID{}, Findings: []finding{},
	}
	found, err := vm.Check(ctx)
	for pass := 1; pass < examinePasses && len(found) > 0 && err == nil; pass++ {
		var again []core.Finding
		again, err = vm.Check(ctx)
		found = slices.DeleteFunc(found, func(f core.Finding) bool { return !slices.Contains(again, f) })
	}
	if err != nil {
		return nil, err
	}
	c.report(found)
	err = c.count(func(cursor string) ([]protocol.SessionInfo, string, error) {
		return vm.Sessions(ctx, cursor, sessionPage)
	})
	c.Clean = len(c.Findings) == 0
	return c, err
}
