package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/sqlitefile"
	"agentos/persistence/vfs"
	"agentos/protocol"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// payload is an update of about 600 bytes, the usual size of a stored event.
var payload = []byte(`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"` +
	strings.Repeat("words of an agent ", 28) + `"}}`)

// startMS is the time of every first event: rows of the same width on all sides.
const startMS protocol.TimeMS = 1_760_000_000_000

// author writes one session: each batch appends one event.
type author struct {
	row    protocol.Record
	number uint64 // commits sent in this epoch
}

func newAuthor(n int) *author {
	id := protocol.SessionID(fmt.Sprintf("session-%04d", n))
	return &author{row: protocol.Record{
		ID: id, State: protocol.StateIdle, OldestRetained: 1, CreatedAt: startMS, UpdatedAt: startMS, LastAt: startMS,
		Spec: protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk},
	}}
}

func authors(n int) []*author {
	list := make([]*author, n)
	for i := range list {
		list[i] = newAuthor(i)
	}
	return list
}

// open is the batch that creates the session.
func (a *author) open() protocol.Batch {
	return protocol.Batch{Session: a.row.ID, Changes: []protocol.Change{protocol.SessionOpened{Record: a.row}}, Row: a.row}
}

// append is the batch of n more events.
func (a *author) append(n int) protocol.Batch {
	b := protocol.Batch{
		Session: a.row.ID, Changes: make([]protocol.Change, n),
		Base: protocol.Base{Exists: true, Latest: a.row.Latest, State: a.row.State},
	}
	for i := range b.Changes {
		b.Changes[i] = protocol.EventAppended{Event: a.event(payload)}
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

// create makes a VM's database with the sessions of authors, each with that many
// events, and returns its path and the epoch of its fence.
func (t *trial) create(name string, list []*author, events int) (path string, epoch int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name+".db")
	src, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	t.must(err)
	var plan schema.Plan
	db, err := src.Open(func(q persistence.Querier) (err error) {
		plan, err = schema.Inspect(q, []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner})
		return err
	})
	t.must(err)
	t.must(schema.Run(db, plan, newID))
	epoch, err = actorstate.TakeFence(context.Background(), db, `{"client":"bench"}`, newID())
	t.must(err)
	batches := make([]protocol.Batch, len(list))
	for i, a := range list {
		batches[i] = a.open()
	}
	t.write(db, batches)
	for _, a := range list {
		for left := events; left > 0; left -= min(left, 1000) {
			t.write(db, []protocol.Batch{a.append(min(left, 1000))})
		}
	}
	t.must(db.Close())
	t.must(src.Release())
	return path, epoch
}

func (t *trial) write(db persistence.DB, group []protocol.Batch) {
	t.Helper()
	waves, err := core.Compile(group)
	t.must(err)
	t.must(db.Tx(persistence.Tx{Key: newID(), Waves: waves}))
}

// duplicate copies a database that is closed.
func (t *trial) duplicate(path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	t.must(err)
	twin := filepath.Join(t.TempDir(), "twin.db")
	t.must(os.WriteFile(twin, data, 0o600))
	return twin
}

// file acquires the database of a descriptor, as the command line does.
func file(d protocol.Descriptor) (persistence.Source, error) {
	return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true})
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
