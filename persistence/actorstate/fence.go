package actorstate

import (
	"context"
	"errors"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// The fence's statements.
const (
	readFence = `SELECT epoch, last_key FROM agentos_actor_fence WHERE singleton = 1`
	takeFence = `UPDATE agentos_actor_fence SET epoch = ?, owner_json = ?, last_key = ? WHERE singleton = 1 AND epoch = ? RETURNING 1`
	guard     = `UPDATE agentos_actor_fence SET last_key = ? WHERE singleton = 1 AND epoch = ? RETURNING 1`
)

// errNoFence is a database whose fence row is gone.
var errNoFence = errors.New("the fence has no row")

// TakeFence makes the caller the one process that may write, by taking the next
// epoch, and returns that epoch. From then on every other process fails its
// next write. ownerJSON is a JSON object that says who the caller is, for
// people; key is the fresh key of the transaction.
//
// Errors are *protocol.Error. CodeVMFenced: somebody else took the same epoch
// at the same moment. CodeStorageOutcomeUnknown: reopen, and take the fence
// again; an epoch that nobody uses is no harm.
func TakeFence(ctx context.Context, db persistence.DB, ownerJSON, key string) (epoch int64, err error) {
	last, _, err := ReadFence(ctx, db)
	if err != nil {
		return 0, err
	}
	return TakeFenceAfter(db, last, ownerJSON, key)
}

// TakeFenceAfter is TakeFence for a caller that has read the newest epoch, last,
// already; it only writes. If that is not the newest any more it fails with
// CodeVMFenced and has changed nothing.
func TakeFenceAfter(db persistence.DB, last int64, ownerJSON, key string) (epoch int64, err error) {
	epoch = last + 1
	// Whoever could still hold an older epoch sees this one at once. After a power
	// cut nobody does, and an epoch under which nothing was written is as good again.
	err = db.Tx(persistence.Tx{Key: key, Relaxed: true, Waves: [][]persistence.Stmt{{{
		SQL:  takeFence,
		Rows: [][]persistence.Value{{epoch, ownerJSON, key, last}},
		Want: 1,
	}}}})
	if Fenced(err) {
		return 0, protocol.Errorf(protocol.CodeVMFenced, "another process has just taken this VM over").Because(err)
	}
	if err != nil {
		return 0, fmt.Errorf("take fence: %w", persistence.Err(err))
	}
	return epoch, nil
}

// Guard is the first statement of every write transaction of the process that
// holds epoch; key is the transaction's. If the epoch is no longer the newest
// the transaction is refused, and Fenced reports it.
func Guard(epoch int64, key string) persistence.Stmt {
	return persistence.Stmt{SQL: guard, Rows: [][]persistence.Value{{key, epoch}}, Want: 1}
}

// Fenced reports whether err is that of a transaction whose first statement of
// its first wave, the Guard, found another epoch.
func Fenced(err error) bool {
	e := persistence.AsError(err)
	return e != nil && e.Class == persistence.ClassMismatch && e.Wave == 0 && e.Stmt == 0
}

// ReadFence returns the newest epoch and the key of the last write transaction
// that committed. After an unknown outcome a last key equal to the
// transaction's says that it committed, any other that it did not (S2.7).
func ReadFence(ctx context.Context, q persistence.Querier) (epoch int64, lastKey string, err error) {
	rows, err := q.Query(ctx, persistence.Query{SQL: readFence})
	if err != nil {
		return 0, "", fmt.Errorf("read fence: %w", persistence.Err(err))
	}
	if len(rows) != 1 {
		return 0, "", fmt.Errorf("read fence: %w", damaged(errNoFence))
	}
	epoch, isEpoch := rows[0][0].(int64)
	lastKey, isKey := rows[0][1].(string)
	if !isEpoch || !isKey {
		return 0, "", fmt.Errorf("read fence: %w", damaged(fmt.Errorf("a %T and a %T", rows[0][0], rows[0][1])))
	}
	return epoch, lastKey, nil
}

func damaged(cause error) error {
	return protocol.Errorf(protocol.CodeStorageError,
		"the VM's database is damaged (table agentos_actor_fence); run agentos doctor").Because(cause)
}
