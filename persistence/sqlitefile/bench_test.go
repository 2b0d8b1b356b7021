package sqlitefile_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
)

// What one commit of the store looks like: the fence, some events, one session.
const (
	benchFence   = `UPDATE fence SET last_key = ? WHERE singleton = 1 AND epoch = ? RETURNING 1`
	benchEvent   = `INSERT INTO events (session_id, sequence, payload_json) VALUES (?, ?, ?)`
	benchSession = `UPDATE sessions SET latest_sequence = ?, updated_at_ms = ? WHERE session_id = ?`
	benchPage    = `SELECT sequence, payload_json FROM events WHERE session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
)

var benchSchema = []string{
	`CREATE TABLE fence (singleton INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, last_key TEXT) STRICT`,
	`CREATE TABLE sessions (session_id TEXT PRIMARY KEY, latest_sequence INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL) STRICT`,
	`CREATE TABLE events (session_id TEXT NOT NULL, sequence INTEGER NOT NULL, payload_json TEXT NOT NULL, PRIMARY KEY (session_id, sequence)) STRICT`,
	`INSERT INTO fence VALUES (1, 1, '')`,
	`INSERT INTO sessions VALUES ('session-1', 0, 0)`,
}

var benchPayload = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("words of an agent ", 29) + `"}}`

const benchKey = "00000000-0000-4000-8000-000000000000"

var benchSizes = []int{1, 8, 64, 512}

// benchWarm is how many commits of one event warm the log past its first
// checkpoint, so that it is overwritten and not extended.
const benchWarm = 400

func benchHandle(b *testing.B) persistence.DB {
	b.Helper()
	src, err := sqlitefile.Acquire(filepath.Join(b.TempDir(), "vm.db"), sqlitefile.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	db, err := src.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
		if err := src.Release(); err != nil {
			b.Error(err)
		}
	})
	var waves [][]persistence.Stmt
	for _, text := range benchSchema {
		waves = append(waves, []persistence.Stmt{{SQL: text, Rows: [][]persistence.Value{{}}}})
	}
	if err := db.Tx(persistence.Tx{Key: benchKey, Waves: waves}); err != nil {
		b.Fatal(err)
	}
	return db
}

// benchTx is the transaction that adds n events after sequence at.
func benchTx(at int64, n int) persistence.Tx {
	events := persistence.Stmt{SQL: benchEvent, Rows: make([][]persistence.Value, n)}
	for i := range events.Rows {
		at++
		events.Rows[i] = []persistence.Value{"session-1", at, benchPayload}
	}
	return persistence.Tx{Key: benchKey, Waves: [][]persistence.Stmt{
		{{SQL: benchFence, Rows: [][]persistence.Value{{benchKey, int64(1)}}, Want: 1}},
		{events, {SQL: benchSession, Rows: [][]persistence.Value{{at, at, "session-1"}}}},
	}}
}

func BenchmarkTx(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db, at := benchHandle(b), int64(0)
			for range benchWarm {
				if err := db.Tx(benchTx(at, 1)); err != nil {
					b.Fatal(err)
				}
				at++
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := db.Tx(benchTx(at, n)); err != nil {
					b.Fatal(err)
				}
				at += int64(n)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// bare is the loop a person would write for this one transaction.
type bare struct {
	conn                                 driver.Conn
	begin, fence, event, session, commit driver.Stmt
}

// bareDriver is the driver without anything of ours.
func bareDriver(t testing.TB) driver.Driver {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.Driver()
}

func bareHandle(b *testing.B) *bare {
	b.Helper()
	conn, err := bareDriver(b).Open("file:" + filepath.Join(b.TempDir(), "vm.db") + "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_foreign_keys=1&_pragma=cache_size(-512)&_pragma=temp_store(MEMORY)&_pragma=journal_size_limit(8388608)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	h := &bare{conn: conn}
	for _, text := range benchSchema {
		if _, err := conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil); err != nil {
			b.Fatal(err)
		}
	}
	for text, s := range map[string]*driver.Stmt{"BEGIN IMMEDIATE": &h.begin, benchFence: &h.fence, benchEvent: &h.event, benchSession: &h.session, "COMMIT": &h.commit} {
		if *s, err = conn.Prepare(text); err != nil {
			b.Fatal(err)
		}
	}
	return h
}

func bareExec(s driver.Stmt, args ...driver.NamedValue) error {
	for i := range args {
		args[i].Ordinal = i + 1
	}
	_, err := s.(driver.StmtExecContext).ExecContext(context.Background(), args)
	return err
}

func (h *bare) tx(at int64, n int) error {
	if err := bareExec(h.begin); err != nil {
		return err
	}
	rows, err := h.fence.(driver.StmtQueryContext).QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: benchKey}, {Ordinal: 2, Value: int64(1)}})
	if err != nil {
		return err
	}
	if err := rows.Next(make([]driver.Value, 1)); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for range n {
		at++
		if err := bareExec(h.event, driver.NamedValue{Value: "session-1"}, driver.NamedValue{Value: at}, driver.NamedValue{Value: benchPayload}); err != nil {
			return err
		}
	}
	if err := bareExec(h.session, driver.NamedValue{Value: at}, driver.NamedValue{Value: at}, driver.NamedValue{Value: "session-1"}); err != nil {
		return err
	}
	return bareExec(h.commit)
}

func BenchmarkBare(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, at := bareHandle(b), int64(0)
			for range benchWarm {
				if err := h.tx(at, 1); err != nil {
					b.Fatal(err)
				}
				at++
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := h.tx(at, n); err != nil {
					b.Fatal(err)
				}
				at += int64(n)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
