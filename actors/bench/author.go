package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// payload is an update of about 600 bytes, the usual size of a stored event.
var payload = update(28)

// update is an update with that many times 18 bytes of text.
func update(words int) []byte {
	return []byte(`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"` +
		strings.Repeat("words of an agent ", words) + `"}}`)
}

// startMS is the time of every first event: rows of the same width on all sides.
const startMS protocol.TimeMS = 1_760_000_000_000

// author writes one session: each batch appends events.
type author struct {
	row    protocol.Record
	number uint64 // commits sent in this epoch
}

func newAuthor(id protocol.SessionID) *author {
	return &author{row: protocol.Record{
		ID: id, State: protocol.StateIdle, OldestRetained: 1, CreatedAt: startMS, UpdatedAt: startMS, LastAt: startMS,
		Spec: protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk},
	}}
}

func authors(n int) []*author {
	list := make([]*author, n)
	for i := range list {
		list[i] = newAuthor(protocol.SessionID(fmt.Sprintf("session-%04d", i)))
	}
	return list
}

// open is the batch that creates the session.
func (a *author) open() protocol.Batch {
	return protocol.Batch{Session: a.row.ID, Changes: []protocol.Change{protocol.SessionOpened{Record: a.row}}, Row: a.row}
}

// append is the batch of more events, one for each payload.
func (a *author) append(payloads ...[]byte) protocol.Batch {
	b := protocol.Batch{
		Session: a.row.ID, Changes: make([]protocol.Change, len(payloads)),
		Base: protocol.Base{Exists: true, Latest: a.row.Latest, State: a.row.State},
	}
	for i, p := range payloads {
		b.Changes[i] = protocol.EventAppended{Event: a.event(p)}
	}
	b.Row = a.row
	return b
}

// event is the next event; the row counts it.
func (a *author) event(payload []byte) protocol.Event {
	a.row.Latest++
	a.row.RetainedEvents++
	a.row.RetainedBytes += int64(len(payload))
	a.row.LastAt++
	return protocol.Event{Sequence: a.row.Latest, At: a.row.LastAt, ACP: 1, Kind: protocol.KindUpdate, Payload: payload}
}

// groupEvents is how many events a transaction stores that only fills a database.
const groupEvents = 1000

// create makes a VM's database with the sessions of authors, each with that many
// events of payload, and returns its path and the epoch of its fence.
func (t *trial) create(name string, list []*author, events int) (path string, epoch int64, err error) {
	group := make([][]byte, min(events, groupEvents))
	for i := range group {
		group[i] = payload
	}
	path, epoch, err = t.database(name, list, func(write func(...protocol.Batch) error) error {
		for _, a := range list {
			for left := events; left > 0; left -= groupEvents {
				if err := write(a.append(group[:min(left, groupEvents)]...)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return path, epoch, err
}

// database makes a VM's database with the sessions of authors, has fill write into
// it, and closes it.
func (t *trial) database(name string, list []*author, fill func(write func(...protocol.Batch) error) error) (path string, epoch int64, err error) {
	dir, err := t.mkdir()
	if err != nil {
		return "", 0, err
	}
	path = filepath.Join(dir, name+".db")
	src, err := t.config.Sources(protocol.Descriptor{SQLiteFile: path})
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, src.Release()) }()
	var plan schema.Plan
	db, err := src.Open(func(q persistence.Querier) (err error) {
		plan, err = schema.Inspect(q, []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner})
		return err
	})
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := schema.Run(db, plan, newID); err != nil {
		return "", 0, err
	}
	if epoch, err = actorstate.TakeFence(context.Background(), db, `{"client":"bench"}`, newID()); err != nil {
		return "", 0, err
	}
	write := func(group ...protocol.Batch) error {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		waves, err := core.Compile(group)
		if err != nil {
			return err
		}
		return db.Tx(persistence.Tx{Key: newID(), Waves: waves})
	}
	batches := make([]protocol.Batch, len(list))
	for i, a := range list {
		batches[i] = a.open()
	}
	if err := write(batches...); err != nil {
		return "", 0, err
	}
	return path, epoch, fill(write)
}

// duplicate copies a database that is closed.
func (t *trial) duplicate(path string) (twin string, err error) {
	dir, err := t.mkdir()
	if err != nil {
		return "", err
	}
	from, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("copy database: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	twin = filepath.Join(dir, "twin.db")
	to, err := os.OpenFile(twin, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("copy database: %w", err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return "", fmt.Errorf("copy database: %w", err)
	}
	return twin, nil
}

// watched is a source whose transactions are seen by seen, after each commit, on
// the goroutine that writes.
type watched struct {
	persistence.Source
	seen func(persistence.Tx)
}

// Open implements persistence.Source.
func (w watched) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	db, err := w.Source.Open(inspect)
	if err != nil {
		return nil, err
	}
	return watchedDB{db, w.seen}, nil
}

type watchedDB struct {
	persistence.DB
	seen func(persistence.Tx)
}

// Tx implements persistence.DB.
func (w watchedDB) Tx(tx persistence.Tx) error {
	err := w.DB.Tx(tx)
	if err == nil {
		w.seen(tx)
	}
	return err
}
