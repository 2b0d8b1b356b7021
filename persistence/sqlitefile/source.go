// Package sqlitefile is the storage of a VM in a SQLite file on this machine: the
// exclusive lock on it, a look at what is there before a byte is changed, and the
// handle that writes and reads.
//
// It never knows tables, sessions or schema versions: whoever opens judges the
// database in the inspect function. It never follows a symlink at the last
// component of the path, deletes a database, or repairs one.
//
// # Files
//
// For PATH there are PATH (0600), PATH-wal and PATH-shm of SQLite, and PATH.lock
// of ours, which is never deleted: deleting a lock file lets two processes hold
// two files of that name. While it is held it has one line, which says by whom.
// After a clean end it has a recall: what the inspection was told, and a hash of
// the bytes that this follows from, which spares the next opening a connection.
//
// # Concurrency
//
// A Source is used by one goroutine at a time. A handle is used as
// persistence.DB says: Tx, Idle and Close by one goroutine, Query by one other.
// The package starts no goroutine; the driver starts one for the length of a
// Query whose context can be cancelled.
//
// # Ownership
//
// Acquire's caller calls Release, after closing the handle. The lock is the
// process's: it ends with it, however it ends.
package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentos/persistence"
	"agentos/protocol"
)

// Options says how to acquire a database.
type Options struct {
	// Create makes the directory (0700) and, at the first Open, the file if they
	// are missing. Without it a missing or empty file is CodeVMNotFound.
	Create bool
	// ReadOnly opens handles that see the database as it was when they were
	// opened and change nothing in it or beside it but the lock file; where not
	// even that can be written it goes without.
	ReadOnly bool
	// Command is told to whoever finds the database locked. It MUST NOT hold
	// anything secret: give the name of the command, not its arguments.
	Command string
	// Socket is the path of the door through which the holder can be reached;
	// empty if it has none.
	Socket string
	// Notice is called at most once, before the first byte is written, with a
	// text for people about a file system on which SQLite is not safe. nil: the
	// text is dropped.
	Notice func(text string)

	fileSystem func(dir string) (string, error) // a test's; nil: networkFileSystem
	settings   string                           // a test's; empty: writerSettings
}

// source is a locked database.
type source struct {
	at      place
	o       Options
	lock    *lock // nil: read-only where no lock file can be made
	open    bool  // a handle is open
	file    fs.FileInfo
	suspect bool // the log may hold a commit that no disk holds; see openWriter
	noticed bool
	recall  *recall // what Release leaves behind for the next Open; nil: nothing
}

// Acquire locks the database at path for this process. Errors are
// *protocol.Error: CodeVMInUse (details pid, command, socket, as far as known)
// if another process or another Source of this one holds it; CodeVMNotFound;
// CodeNotAVMDatabase for a symlink, a directory, another special file or a file
// that does not begin as a SQLite database; CodeStorageReadOnly if the lock file
// cannot be written; CodeInvalidArgument for a path that names no file.
//
// Acquire changes nothing in the database. Of one that has no lock file yet it
// reads the first bytes, and makes no lock file beside what is no database.
func Acquire(path string, o Options) (persistence.Source, error) {
	if o.ReadOnly {
		o.Create = false
	}
	at, err := locate(path, o.Create)
	if err != nil {
		return nil, err
	}
	present, err := at.present()
	if err != nil {
		return nil, err
	}
	if present {
		if err := at.recognize(); err != nil {
			return nil, err
		}
	}
	how := lockOrCreate
	switch {
	case !present && !o.Create:
		how = lockExisting // whoever holds it may be making the database
	case o.ReadOnly:
		how = lockIfPossible
	}
	l, err := takeLock(at.file(".lock"), how, thisProcess(o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(at)
	}
	if err != nil {
		return nil, err
	}
	s := &source{at: at, o: o, lock: l}
	if l != nil {
		s.recall = parseRecall(l.left)
		l.left = nil // a lock is held for as long as a VM is awake
	}
	// Only under the lock is the answer good: the last holder may just have
	// created it.
	if present, err = at.present(); err == nil && !present && !o.Create {
		err = notFound(at)
	}
	if err != nil {
		return nil, and(err, s.Release())
	}
	return s, nil
}

func notFound(at place) error {
	return protocol.Errorf(protocol.CodeVMNotFound, "there is no VM at %s", at.file(""))
}

// Open implements persistence.Source. Its errors, but for those of inspect, are
// *protocol.Error: CodeNotAVMDatabase for a file that is not SQLite,
// CodeStorageReadOnly, CodeStorageFull, CodeStorageUnavailable if another
// program locks the file, CodeVMFenced if the lock file is not the one locked
// any more, CodeStorageError for a damaged file, one replaced while this Source
// held it, and anything else.
//
// An inspection MUST ask only what the database alone decides, no clock and no
// chance: if not a byte that decides it has changed since the database was last
// closed, its questions are answered as they were then.
func (s *source) Open(inspect func(persistence.Querier) error) (persistence.DB, error) {
	if s.open {
		return nil, protocol.Errorf(protocol.CodeInternal, "open %s: the last handle of this source is still open", s.at.base)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.o.ReadOnly {
		return s.openReadOnly(inspect)
	}
	i, err := s.inspector()
	if err != nil {
		return nil, s.openError(err)
	}
	if err := inspect(i); err != nil {
		return nil, and(err, i.close())
	}
	if err := i.close(); err != nil {
		return nil, s.openError(err)
	}
	s.recall = nil // from here on it may not be true any more
	h, err := s.openWriter()
	if err != nil {
		return nil, s.openError(err)
	}
	s.open, h.asked = true, i.asked
	return h, nil
}

// inspector returns what an inspection asks. Without a recall that holds, what is
// no sound database is refused here, before anybody is asked to judge it.
func (s *source) inspector() (*inspector, error) {
	if s.recall != nil && s.recall.holds(s.at) {
		return &inspector{at: s.at, recall: s.recall}, nil
	}
	s.recall = nil
	look, err := openSnapshot(s.at)
	if err != nil {
		return nil, err
	}
	return &inspector{at: s.at, look: look}, nil
}

// openReadOnly opens a handle that reads what the inspection reads.
func (s *source) openReadOnly(inspect func(persistence.Querier) error) (persistence.DB, error) {
	look, err := openSnapshot(s.at)
	if err != nil {
		return nil, s.openError(err)
	}
	if err := inspect(look); err != nil {
		return nil, and(err, look.Close())
	}
	s.open = true
	return &snapshotHandle{snapshot: look, source: s}, nil
}

// recognize refuses a file that is no database, while nothing has been made
// beside it. Without a lock file nobody of ours is writing what it looks at; with
// one, Open looks, under the lock.
func (p place) recognize() error {
	if _, err := os.Lstat(p.file(".lock")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := checkMagic(p)
	if isNotADatabase(err) {
		return notSQLite(p, err)
	}
	return err
}

func notSQLite(at place, err error) error {
	return protocol.Errorf(protocol.CodeNotAVMDatabase,
		"%s is not a SQLite database; name a VM's database or a new file", at.file("")).Because(err)
}

// check refuses to go on with a lock or a file that is not ours any more. A
// directory that was deleted and made again has another lock file, which another
// process may hold; and a log that was written for one file, replayed into
// another one put in its place, destroys it.
func (s *source) check() error {
	if s.lock != nil && !s.lock.stillAt(s.at.file(".lock")) {
		return protocol.Errorf(protocol.CodeVMFenced, "the lock file of %s was removed or replaced; another process may have the VM", s.at.file(""))
	}
	if s.file != nil && !s.at.holds(s.file) {
		return protocol.Errorf(protocol.CodeStorageError, "%s was removed or replaced while it was open; stop every process that uses this VM and look at the file", s.at.file(""))
	}
	return nil
}

// Release implements persistence.Source.
func (s *source) Release() error {
	if s.open {
		return protocol.Errorf(protocol.CodeInternal, "release %s: a handle is still open", s.at.base)
	}
	if s.lock == nil {
		return nil
	}
	return s.lock.release(s.recall.encode())
}

// openError turns what went wrong into the error of Open.
func (s *source) openError(err error) error {
	var already *protocol.Error
	if errors.As(err, &already) {
		return err
	}
	e := persistence.AsError(err)
	if e == nil {
		return fileError("open", s.at, err)
	}
	path := s.at.file("")
	code, text := protocol.CodeStorageError, fmt.Sprintf("%s cannot be opened", path)
	switch {
	case isNotADatabase(err):
		return notSQLite(s.at, err)
	case e.Class == persistence.ClassCorrupt:
		text = fmt.Sprintf("%s is damaged, so that SQLite cannot read it; nothing was changed, keep a copy of it and restore a backup", path)
	case e.Class == persistence.ClassReadOnly:
		code, text = protocol.CodeStorageReadOnly, readOnlyText(path)
	case e.Class == persistence.ClassFull:
		code, text = protocol.CodeStorageFull, fmt.Sprintf("there is no room on the disk to open %s", path)
	case e.Class == persistence.ClassBusy:
		code, text = protocol.CodeStorageUnavailable, fmt.Sprintf("%s is locked by a program that is not agentos; close it and try again", path)
	}
	return (&protocol.Error{Code: code, Message: text}).Because(err)
}

func readOnlyText(path string) string {
	return fmt.Sprintf("%s cannot be written; check the owner and mode of the file and of %s", path, filepath.Dir(path))
}
