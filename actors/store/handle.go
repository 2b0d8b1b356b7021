package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

// owners are the three owners of every VM database (S2.2).
var owners = []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner}

// Sources finds the database behind a descriptor and takes its lock.
type Sources func(protocol.Descriptor) (persistence.Source, error)

// handle is the VM's database as the store's goroutines use it: one writes, one
// reads, and a lost answer to COMMIT is cleared up by reopening (S2.7).
type handle struct {
	env    *kernel.Env
	source persistence.Source
	owner  string // JSON that the fence row shows

	mu    sync.RWMutex // held for writing while db is replaced
	db    persistence.DB
	epoch int64 // the fence: ours as long as the row holds it
	found int64 // the epoch before ours; 0 if it was not read yet
}

// openHandle takes the VM's lock, validates all owners before it changes
// anything, migrates, and takes the fence. It also returns what a lost runtime left.
func openHandle(e *kernel.Env, d protocol.Descriptor, sources Sources) (opened *handle, left leftovers, err error) {
	if err := d.Validate(); err != nil {
		return nil, leftovers{}, err
	}
	source, err := sources(d)
	if err != nil {
		return nil, leftovers{}, err
	}
	h := &handle{env: e, source: source, owner: `{"client":"agentos"}`}
	defer func() {
		if r := recover(); r != nil {
			opened, left, err = nil, leftovers{}, errors.Join(panicError(r), h.close())
		}
	}()
	if err := h.open(); err != nil {
		return nil, leftovers{}, errors.Join(err, source.Release())
	}
	left, err = h.begin()
	if err != nil {
		return nil, leftovers{}, errors.Join(err, h.close())
	}
	return h, left, nil
}

// leftovers are the sessions that a lost runtime was busy with.
type leftovers struct{ accepted, deleting []protocol.SessionID }

// begin takes the fence and lists what was left. The look at the database has read
// the epoch already, unless the fence's table was not there yet.
func (h *handle) begin() (left leftovers, err error) {
	ctx := context.Background()
	if h.found == 0 {
		h.epoch, err = actorstate.TakeFence(ctx, h.db, h.owner, h.env.IDs())
	} else {
		h.epoch, err = actorstate.TakeFenceAfter(h.db, h.found, h.owner, h.env.IDs())
	}
	if err == nil {
		left.accepted, err = core.AcceptedSessions(ctx, h)
	}
	if err == nil {
		left.deleting, err = core.DeletingSessions(ctx, h)
	}
	if err != nil {
		return leftovers{}, storageError(err)
	}
	return left, nil
}

func (h *handle) open() error {
	var plan schema.Plan
	db, err := h.source.Open(func(q persistence.Querier) (err error) {
		if plan, err = schema.Inspect(q, owners); err == nil && plan.Steps() == 0 {
			h.found, _, err = actorstate.ReadFence(context.Background(), q)
		}
		return err
	})
	if err != nil {
		return storageError(err)
	}
	if err := schema.Run(db, plan, h.env.IDs); err != nil {
		return errors.Join(storageError(err), db.Close())
	}
	h.db = db
	return nil
}

// close releases the handle and the lock.
func (h *handle) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.db != nil {
		err = h.db.Close()
		h.db = nil
	}
	return errors.Join(err, h.source.Release())
}

// Query implements persistence.Querier for the reading goroutine.
func (h *handle) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.db == nil {
		return nil, &persistence.Error{Class: persistence.ClassClosed, Wave: -1, Stmt: -1, Err: errors.New("database is closed")}
	}
	if q.MaxBytes <= 0 {
		q.MaxBytes = h.env.Limits.ResultBytes
	}
	return h.db.Query(ctx, q)
}

// fate is what became of one batch of a group.
type fate struct {
	batch *protocol.Batch
	err   *protocol.Error // nil: durable
}

// group is one run of the writer over consecutive batches.
type group struct {
	h      *handle
	fates  []fate
	broken map[protocol.SessionID]bool // a batch of it was refused: none behind it may be stored
	fatal  error                       // the database cannot be used any more
}

// write stores batches in order in as few transactions as it can and returns
// the fate of each. The error is not nil if the handle is of no use any more:
// memory may be ahead of disk then.
func (h *handle) write(commits []*Commit) (fates []fate, fatal error) {
	g := &group{h: h, fates: make([]fate, len(commits)), broken: map[protocol.SessionID]bool{}}
	for i, c := range commits {
		g.fates[i].batch = &c.Batch
	}
	g.write(0, len(commits))
	return g.fates, g.fatal
}

// write stores the batches [from, to) in one transaction. If one of them is
// refused for its own sake, the halves are tried apart, so that it cannot hurt
// the others (architecture rule 3).
func (g *group) write(from, to int) {
	live := g.live(from, to)
	if len(live) == 0 {
		return
	}
	waves, err := core.Compile(live)
	if err == nil {
		err = g.commit(waves)
	}
	switch {
	case err == nil:
	case g.fatal != nil:
		g.refuse(from, to, storageError(err))
	case persistence.Definite(err) && len(live) > 1:
		mid := from + (to-from)/2
		g.write(from, mid)
		g.write(mid, to)
	default:
		g.refuse(from, to, storageError(err))
	}
}

// live returns the batches of [from, to) that may still be stored.
func (g *group) live(from, to int) []protocol.Batch {
	live := make([]protocol.Batch, 0, to-from)
	for i := from; i < to; i++ {
		f := &g.fates[i]
		switch {
		case f.err != nil:
		case g.fatal != nil:
			f.err = storageError(g.fatal)
		case g.broken[f.batch.Session]:
			f.err = errGap(f.batch.Session)
		default:
			live = append(live, *f.batch)
		}
	}
	return live
}

func (g *group) refuse(from, to int, err *protocol.Error) {
	for i := from; i < to; i++ {
		f := &g.fates[i]
		if f.err == nil {
			f.err = err
			g.broken[f.batch.Session] = true
		}
	}
}

// commit runs one transaction behind the fence. A lost answer is cleared up
// before it returns: an error then means "not stored", or g.fatal is set.
func (g *group) commit(waves [][]persistence.Stmt) error {
	h := g.h
	tx := persistence.Tx{Key: h.env.IDs(), Waves: waves}
	// In the first wave, so that the fence costs a socket no wait of its own.
	tx.Waves[0] = append([]persistence.Stmt{actorstate.Guard(h.epoch, tx.Key)}, waves[0]...)
	err := h.db.Tx(tx)
	if err == nil {
		return nil
	}
	if actorstate.Fenced(err) {
		g.fatal = protocol.Errorf(protocol.CodeVMFenced, "another process has taken this VM over; this one stops using it")
		return g.fatal
	}
	pe := persistence.AsError(err)
	if pe == nil || pe.Outcome != persistence.Unknown {
		return err
	}
	committed, rerr := h.resolve(tx.Key)
	switch {
	case rerr != nil:
		h.env.Log.Error("commit outcome unknown", zap.Error(err), zap.NamedError("reopen", rerr))
		g.fatal = err
		return err
	case committed:
		return nil
	default:
		known := *pe
		known.Outcome = persistence.NotCommitted
		return &known
	}
}

// resolve reopens the database and reads whether the transaction with this key
// is in it.
func (h *handle) resolve(key string) (committed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cerr := h.db.Close(); cerr != nil {
		// The answer to COMMIT was lost already; what counts is what reopening finds.
		h.env.Log.Warn("close after a lost answer", zap.Error(cerr))
	}
	h.db = nil
	if err := h.open(); err != nil {
		return false, err
	}
	epoch, last, err := actorstate.ReadFence(context.Background(), h.db)
	if err != nil {
		return false, err
	}
	if epoch != h.epoch {
		return false, fmt.Errorf("fence epoch is %d, ours is %d", epoch, h.epoch)
	}
	return last == key, nil
}

// storageError returns what a caller is shown of a storage failure.
func storageError(err error) *protocol.Error {
	return protocol.AsError(persistence.Err(err), "storage")
}

func errGap(id protocol.SessionID) *protocol.Error {
	return protocol.Errorf(protocol.CodeStorageError, "an earlier write of session %q was refused, so this one was not stored", id)
}
