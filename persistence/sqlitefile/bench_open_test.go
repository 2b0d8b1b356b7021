package sqlitefile_test

import (
	"context"
	"database/sql/driver"
	"io"
	"path/filepath"
	"testing"

	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/persistence/sqlitefile"
)

// benchFile makes a database with 20,000 events.
func benchFile(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "vm.db")
	src, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	db, err := src.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	var waves [][]persistence.Stmt
	for _, text := range benchSchema {
		waves = append(waves, []persistence.Stmt{{SQL: text, Rows: [][]persistence.Value{{}}}})
	}
	if err := db.Tx(persistence.Tx{Key: benchKey, Waves: waves}); err != nil {
		b.Fatal(err)
	}
	for i := range int64(10) {
		if err := db.Tx(benchTx(i*2000, 2000)); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	if err := src.Release(); err != nil {
		b.Fatal(err)
	}
	return path
}

func benchRead(b *testing.B, q persistence.Querier, limit int64) {
	rows, err := q.Query(context.Background(), persistence.Query{SQL: benchPage, Args: []persistence.Value{"session-1", int64(19_000), limit}})
	if err != nil || int64(len(rows)) != limit {
		b.Fatalf("%d rows, %v", len(rows), err)
	}
}

// inspectLikeASchema is what a look at three versions costs.
func inspectLikeASchema(q persistence.Querier) error {
	for _, text := range []string{`SELECT name, sql FROM sqlite_schema WHERE type = 'table'`, `SELECT * FROM fence`, `SELECT count(*) FROM sessions`} {
		if _, err := q.Query(context.Background(), persistence.Query{SQL: text}); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkWake is what waking a sleeping VM costs here: lock, look, open, page.
func BenchmarkWake(b *testing.B) {
	path := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		src, err := sqlitefile.Acquire(path, sqlitefile.Options{})
		if err != nil {
			b.Fatal(err)
		}
		db, err := src.Open(inspectLikeASchema)
		if err != nil {
			b.Fatal(err)
		}
		benchRead(b, db, 20)
		b.StopTimer()
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		if err := src.Release(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func barePage(b *testing.B, s driver.Stmt, limit int64) {
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: "session-1"}, {Ordinal: 2, Value: int64(19_000)}, {Ordinal: 3, Value: limit}})
	if err != nil {
		b.Fatal(err)
	}
	dest, n := make([]driver.Value, 2), int64(0)
	for {
		if err := rows.Next(dest); err == io.EOF {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Close(); err != nil || n != limit {
		b.Fatal(n, err)
	}
}

func bareOpen(b *testing.B, path string) driver.Conn {
	conn, err := bareDriver(b).Open("file:" + path + "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_foreign_keys=1&_pragma=cache_size(-512)")
	if err != nil {
		b.Fatal(err)
	}
	return conn
}

func BenchmarkBareWake(b *testing.B) {
	path := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		conn := bareOpen(b, path)
		s, err := conn.Prepare(benchPage)
		if err != nil {
			b.Fatal(err)
		}
		barePage(b, s, 20)
		b.StopTimer()
		s.Close()
		conn.Close()
		b.StartTimer()
	}
}

func BenchmarkPage1000(b *testing.B) {
	path := benchFile(b)
	src, err := sqlitefile.Acquire(path, sqlitefile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	db, err := src.Open(inspectLikeASchema)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		benchRead(b, db, 1000)
	}
	b.StopTimer()
	db.Close()
	src.Release()
}

func BenchmarkBarePage1000(b *testing.B) {
	conn := bareOpen(b, benchFile(b))
	defer conn.Close()
	s, err := conn.Prepare(benchPage)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		barePage(b, s, 1000)
	}
}

// BenchmarkMemory is what a simulation pays for a database.
func BenchmarkMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		src, err := memdb.New()
		if err != nil {
			b.Fatal(err)
		}
		db, err := src.Open(func(persistence.Querier) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range []error{db.Close(), src.Release()} {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
