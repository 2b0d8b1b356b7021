package sqlitefile

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io/fs"
	"os"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
)

// recall is what the inspection of a database was told when the database was last
// closed, and the bytes it was told from. It is kept in the lock file while nobody
// holds the lock, so that the next opening need not make SQLite parse the schema
// once more only to hear the same.
//
// What SQLite answers is decided by the bytes it reads, so a recall is good as
// long as those bytes are in the file, whatever happened to the rest of it: no
// clock, inode or boot takes part. Times would not do. The file's own are not
// flushed with a commit (fdatasync), and two changes within a tick of the kernel's
// clock have the same ones.
type recall struct {
	SQLite  string   `json:"sqlite"` // the version that answered
	Size    int64    `json:"size"`   // of the database
	Reads   []extent `json:"reads"`  // in the order in which SQLite read
	Sum     []byte   `json:"sum"`    // SHA-256 of what it read
	Answers []answer `json:"answers"`
}

// extent is a place in a file: offset and length.
type extent [2]int64

// Bounds of a recall: a larger one is not kept, and not believed either. An
// inspection reads the schema and a row of each owner.
const (
	maxReads     = 256
	maxReadBytes = 1 << 20
	maxAnswers   = 16
)

// holds reports whether the database at the place is, in all that counts, the one
// that the recall is of. Whatever it cannot make sure of is a no.
func (r *recall) holds(at place) bool {
	if r.SQLite != engine.Version || len(r.Reads) == 0 || len(r.Reads) > maxReads {
		return false
	}
	// What lies in a log or in a journal changes what the file says.
	for _, suffix := range []string{"-wal", "-journal"} {
		info, err := os.Lstat(at.file(suffix))
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || !info.Mode().IsRegular() || info.Size() > 0) {
			return false
		}
	}
	f, err := openRegular(at.file(""))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && info.Size() == r.Size && r.sameBytes(f)
}

func (r *recall) sameBytes(f *os.File) bool {
	sum, total := sha256.New(), int64(0)
	var room []byte
	for _, e := range r.Reads {
		at, n := e[0], e[1]
		if total += n; at < 0 || n <= 0 || n > maxReadBytes || total > maxReadBytes {
			return false
		}
		if int64(len(room)) < n {
			room = make([]byte, n)
		}
		if _, err := f.ReadAt(room[:n], at); err != nil {
			return false
		}
		sum.Write(room[:n])
	}
	return string(sum.Sum(nil)) == string(r.Sum)
}

// recorder notes what SQLite reads through files.
type recorder struct {
	reads []extent
	total int64
	sum   hash.Hash
	lost  bool // it read more than is kept
}

func (r *recorder) note(at int64, b []byte) {
	if r == nil || len(b) == 0 || r.lost {
		return
	}
	r.total += int64(len(b))
	r.lost = len(r.reads) == maxReads || r.total > maxReadBytes
	r.reads = append(r.reads, extent{at, int64(len(b))})
	r.sum.Write(b)
}

// remember asks a database that was just closed once more what its inspection has
// asked. It returns nil if the answers cannot be kept: then the next opening looks
// for itself.
func remember(at place, asked []persistence.Query) *recall {
	if len(asked) > maxAnswers {
		return nil
	}
	rec := &recorder{sum: sha256.New()}
	look, err := lookInto(at, rec)
	if err != nil {
		return nil
	}
	r := &recall{SQLite: engine.Version}
	kept := r.keep(look, asked)
	if err := look.Close(); err != nil || !kept || rec.lost {
		return nil
	}
	info, err := at.stat()
	if err != nil || info == nil {
		return nil
	}
	r.Size, r.Reads, r.Sum = info.Size(), rec.reads, rec.sum.Sum(nil)
	// What was read from a log, of a program that heeds no lock, is not in the sum.
	if !r.holds(at) {
		return nil
	}
	return r
}

// keep asks and keeps the answers; false if one of them cannot be kept.
func (r *recall) keep(q persistence.Querier, asked []persistence.Query) bool {
	for _, question := range asked {
		key, ok := keyOf(question)
		rows, err := q.Query(context.Background(), question)
		if !ok || err != nil {
			return false
		}
		a := answer{Key: key, Rows: make([][]string, len(rows))}
		for i, values := range rows {
			if a.Rows[i], ok = keepRow(values); !ok {
				return false
			}
		}
		r.Answers = append(r.Answers, a)
	}
	return true
}

// inspector is what an inspection asks. It notes the questions, and answers from
// a recall what that can answer.
type inspector struct {
	at     place
	recall *recall   // nil: there is none that holds
	look   *snapshot // nil until it is needed, if there is a recall
	asked  []persistence.Query
}

// Query implements persistence.Querier.
func (i *inspector) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if rows, ok := i.recall.answer(q); ok {
		i.asked = append(i.asked, q)
		return rows, nil
	}
	if i.look == nil {
		look, err := openSnapshot(i.at)
		if err != nil {
			return nil, err
		}
		i.look = look
	}
	rows, err := i.look.Query(ctx, q)
	if err == nil {
		i.asked = append(i.asked, q)
	}
	return rows, err
}

func (i *inspector) close() error {
	if i.look == nil {
		return nil
	}
	return i.look.Close()
}

func (r *recall) answer(q persistence.Query) ([][]persistence.Value, bool) {
	if r == nil {
		return nil, false
	}
	key, ok := keyOf(q)
	if !ok {
		return nil, false
	}
	for _, a := range r.Answers {
		if a.Key != key {
			continue
		}
		var rows [][]persistence.Value
		for _, kept := range a.Rows {
			values, ok := backRow(kept)
			if !ok {
				return nil, false
			}
			rows = append(rows, values)
		}
		return rows, true
	}
	return nil, false
}
