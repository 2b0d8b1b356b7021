package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
	"agentos/protocol"
)

// The settings of the two connections. Each has its reason:
// FULL, with the log, is one flush a commit and every acknowledged commit on the
// disk; the cache is small because a node has many VMs and this memory is outside
// of Go's; the limit makes the log's file shrink after a reader held it up.
const (
	writerSettings = "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=1" +
		"&_pragma=cache_size(-512)&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(8388608)&_pragma=temp_store(MEMORY)"
	readerSettings = "mode=ro&_query_only=1&_busy_timeout=5000&_pragma=cache_size(-512)&_pragma=temp_store(MEMORY)"
)

// stuckLogFrames is how long a log may be that cannot be checkpointed before Idle
// complains: 16 MiB of pages. Some reader holds it up.
const stuckLogFrames = 4096

// dsn returns the driver's name for path. Only in this form does SQLite heed
// mode=ro.
func dsn(path, settings string) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings}).String()
}

// handle is an open database.
type handle struct {
	source *source
	writer *engine.Conn
	file   identity            // of the file that the writer has open
	asked  []persistence.Query // what its inspection asked

	closed  atomic.Bool
	writing sync.Mutex // held through every use of the writer
	mu      sync.Mutex // held through a Query; Idle closes the reader under it
	reader  *engine.Conn
	reads   int // that the writer has served since there was a reader last
}

// firstReads is how many reads the writer serves before there is a connection for
// them: to open one takes several times as long as what somebody wants to see of a
// VM that has just been opened.
const firstReads = 4

// identity tells one file from another; cheaper than a fs.FileInfo.
type identity struct{ dev, ino uint64 }

func identify(path string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return identity{}, err
	}
	return identity{uint64(st.Dev), uint64(st.Ino)}, nil
}

// openWriter opens the handle for reading and writing. This is where the first
// byte is changed.
func (s *source) openWriter() (*handle, error) {
	if err := s.notice(); err != nil {
		return nil, err
	}
	if err := s.at.prepare(); err != nil {
		return nil, err
	}
	file, err := s.at.stat()
	if err != nil {
		return nil, err
	}
	id, err := identify(s.at.file(""))
	if err != nil {
		return nil, fileError("find", s.at, err)
	}
	w, err := engine.Open(dsn(s.at.file(""), s.settings()))
	if err != nil {
		return nil, err
	}
	h := &handle{source: s, writer: w, file: id}
	if err := h.ready(); err != nil {
		return nil, and(err, w.Close())
	}
	s.file = file
	return h, nil
}

func (s *source) settings() string {
	if s.o.settings != "" {
		return s.o.settings
	}
	return writerSettings
}

// notice speaks up about an unsafe file system.
func (s *source) notice() error {
	if s.noticed || s.o.Notice == nil {
		return nil
	}
	ask := networkFileSystem
	if s.o.fileSystem != nil {
		ask = s.o.fileSystem
	}
	name, err := ask(s.at.dir)
	if err != nil {
		return fileError("find", s.at, err)
	}
	s.noticed = true
	if name != "" {
		s.o.Notice(fmt.Sprintf("%s is on a %s file system; SQLite needs locks and shared memory that such a file system may not give, and can lose data there: keep the VM on a local disk", s.at.file(""), name))
	}
	return nil
}

// ready sees to it that the writer is what it should be.
func (h *handle) ready() error {
	if err := h.writer.KeepWAL(); err != nil {
		return err
	}
	// SQLite takes a setting it cannot grant without an error.
	for _, want := range []struct {
		pragma string
		value  persistence.Value
	}{{"journal_mode", "wal"}, {"synchronous", int64(2)}, {"foreign_keys", int64(1)}} {
		row, err := h.writer.Exec("PRAGMA " + want.pragma)
		if err != nil {
			return err
		}
		if len(row) != 1 || row[0] != want.value {
			return protocol.Errorf(protocol.CodeStorageError, "%s: SQLite runs with %s = %v instead of %v; it would not be safe to write", h.source.at.file(""), want.pragma, row, want.value)
		}
	}
	if !h.source.suspect {
		return nil
	}
	// A flush that failed is not repeated by the system: what it was to write
	// can be read, and counts as committed from here on, but is on no disk.
	// Copying the log into the database and flushing that puts it there.
	if err := h.checkpoint("TRUNCATE"); err != nil {
		return err
	}
	h.source.suspect = false
	return nil
}

// checkpoint copies the log into the database. An error with ClassBusy says that
// a reader did not let it finish.
func (h *handle) checkpoint(mode string) error {
	row, err := h.writer.Exec("PRAGMA wal_checkpoint(" + mode + ")")
	if err != nil {
		return err
	}
	if len(row) != 3 {
		return trouble(persistence.ClassOther, fmt.Errorf("checkpoint: %d columns", len(row)))
	}
	busy, frames, copied := row[0], row[1].(int64), row[2].(int64)
	if busy != int64(0) || copied < frames && frames > stuckLogFrames {
		return trouble(persistence.ClassBusy, fmt.Errorf("checkpoint not complete: a reader holds %d of %d pages in the log", frames-copied, frames))
	}
	return nil
}

// Tx implements persistence.DB.
func (h *handle) Tx(tx persistence.Tx) error {
	if h.closed.Load() {
		return errClosed()
	}
	if err := h.inPlace(); err != nil {
		return err
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	err := h.write(tx)
	if e := persistence.AsError(err); e != nil && e.Outcome == persistence.Unknown && e.Class == persistence.ClassIO {
		h.source.suspect = true
	}
	return err
}

// inPlace refuses a file that is not at its path any more: SQLite would go on with
// one that has no name, and every commit would be gone with the last descriptor.
func (h *handle) inPlace() error {
	if id, err := identify(h.source.at.file("")); err != nil || id != h.file {
		return trouble(persistence.ClassClosed, errors.New("the database file was removed or replaced while it was open"))
	}
	return nil
}

// write runs a transaction, a relaxed one without a flush of its own: what it puts
// into the log is flushed with the next that is not.
func (h *handle) write(tx persistence.Tx) (err error) {
	if !tx.Relaxed {
		return h.writer.Tx(tx)
	}
	if _, err := h.writer.Exec("PRAGMA synchronous = OFF"); err != nil {
		return err
	}
	defer func() {
		if ferr := h.flushing(); ferr != nil {
			h.closed.Store(true) // nothing may be written without a flush
			err = errors.Join(err, ferr)
		}
	}()
	return h.writer.Tx(tx)
}

// flushing has every commit flushed again, and makes sure of it.
func (h *handle) flushing() error {
	if _, err := h.writer.Exec("PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	row, err := h.writer.Exec("PRAGMA synchronous")
	if err == nil && (len(row) != 1 || row[0] != int64(2)) {
		err = trouble(persistence.ClassOther, fmt.Errorf("synchronous = %v after a relaxed transaction", row))
	}
	return err
}

// Query implements persistence.Querier.
func (h *handle) Query(ctx context.Context, q persistence.Query) ([][]persistence.Value, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return nil, errClosed()
	}
	if h.reader == nil && h.reads < firstReads && h.writing.TryLock() {
		defer h.writing.Unlock()
		h.reads++
		return h.borrow(ctx, q)
	}
	if h.reader == nil {
		if err := h.openReader(); err != nil {
			return nil, err
		}
	}
	return h.reader.Query(ctx, q)
}

// borrow reads on the writer's connection, which cannot write meanwhile.
func (h *handle) borrow(ctx context.Context, q persistence.Query) (rows [][]persistence.Value, err error) {
	if err := h.inPlace(); err != nil {
		return nil, err
	}
	if _, err := h.writer.Exec("PRAGMA query_only = ON"); err != nil {
		return nil, err
	}
	defer func() {
		if _, oerr := h.writer.Exec("PRAGMA query_only = OFF"); oerr != nil {
			h.closed.Store(true)
			rows, err = nil, errors.Join(err, oerr)
		}
	}()
	return h.writer.Query(ctx, q)
}

func (h *handle) openReader() error {
	path := h.source.at.file("")
	r, err := engine.Open(dsn(path, readerSettings))
	if err != nil {
		return err
	}
	// Looked at after the opening: then the reader has the writer's file.
	if id, err := identify(path); err != nil || id != h.file {
		gone := trouble(persistence.ClassClosed, errors.New("the database file was removed or replaced while it was open"))
		return and(gone, r.Close())
	}
	h.reader = r
	return nil
}

// Idle implements persistence.DB. A Query that runs keeps its reader. The
// database stays usable whatever Idle returns; an error with ClassBusy says that
// a reader keeps the log from shrinking.
func (h *handle) Idle() error {
	if h.closed.Load() || h.writer.Lost() {
		return errClosed()
	}
	var errs []error
	if h.mu.TryLock() {
		errs = append(errs, h.closeReader())
		h.mu.Unlock()
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	errs = append(errs, h.checkpoint("PASSIVE"))
	_, err := h.writer.Exec("PRAGMA shrink_memory")
	return errors.Join(append(errs, err)...)
}

func (h *handle) closeReader() error {
	if h.reader == nil {
		return nil
	}
	r := h.reader
	h.reader, h.reads = nil, 0
	return r.Close()
}

// Close implements persistence.DB. The handle is released whatever it returns;
// its error says what could not be done before: with ClassBusy, that a reader of
// another process kept the log from being emptied, which loses nothing. Without
// an error it asks again what the inspection asked, for the next opening.
func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Swap(true) {
		return nil
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	errs := []error{h.closeReader()}
	if !h.writer.Lost() {
		errs = append(errs, h.lastCheckpoint())
	}
	errs = append(errs, h.writer.Close())
	h.source.open = false
	err := errors.Join(errs...)
	if err == nil {
		h.source.recall = remember(h.source.at, h.asked)
	}
	return err
}

// lastCheckpoint leaves an empty log behind, if it can do so soon: somebody is
// waiting for the end of the process.
func (h *handle) lastCheckpoint() error {
	if _, err := h.writer.Exec("PRAGMA busy_timeout = 500"); err != nil {
		return err
	}
	return h.checkpoint("TRUNCATE")
}

func errClosed() error {
	return trouble(persistence.ClassClosed, errors.New("the database is closed"))
}

// trouble is an error outside of any transaction.
func trouble(class persistence.Class, err error) *persistence.Error {
	return &persistence.Error{Outcome: persistence.NotCommitted, Class: class, Wave: -1, Stmt: -1, Err: err}
}

// snapshotHandle is the handle of a source that only reads.
type snapshotHandle struct {
	*snapshot
	source *source
}

// Tx implements persistence.DB: it refuses.
func (h *snapshotHandle) Tx(persistence.Tx) error {
	return trouble(persistence.ClassReadOnly, errors.New("the database was opened for reading"))
}

// Idle implements persistence.DB.
func (h *snapshotHandle) Idle() error { return nil }

// Close implements persistence.DB.
func (h *snapshotHandle) Close() error {
	h.source.open = false
	return h.snapshot.Close()
}
