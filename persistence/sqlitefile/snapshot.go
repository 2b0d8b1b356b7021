package sqlitefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite/vfs"

	"agentos/persistence"
	"agentos/persistence/sqlitefile/engine"
)

// snapshot reads a database without being able to change it or to make a file
// beside it.
//
// SQLite opened with mode=ro is not enough: on a database with a write-ahead log
// it makes or rewrites PATH-shm and leaves PATH-wal behind. With immutable=1 it
// does not see what a killed process left in the log. So it reads through a file
// system of ours that has no way to write, with the index of the log in its own
// memory; that takes PRAGMA locking_mode, which is about the connection and not
// about the file. Without locks this is right only under the lock file.
type snapshot struct {
	*engine.Conn
	done []func() error // after the Conn
}

// Close ends the reading.
func (s *snapshot) Close() error {
	errs := []error{s.Conn.Close()}
	for _, f := range s.done {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// openSnapshot opens what is at the place; nothing at all and an empty file are
// an empty database. It fails on what is not SQLite.
func openSnapshot(at place) (*snapshot, error) { return lookInto(at, nil) }

// lookInto is openSnapshot that notes in rec, if that is not nil, what is read of
// a database that is opened where it lies; of a copy it notes nothing.
func lookInto(at place, rec *recorder) (*snapshot, error) {
	info, err := at.stat()
	if err != nil {
		return nil, err
	}
	if info == nil || info.Size() == 0 {
		c, err := engine.Open(":memory:?_query_only=1")
		return &snapshot{Conn: c}, err
	}
	if err := checkMagic(at); err != nil {
		return nil, err
	}
	hot, err := hotJournal(at)
	if err != nil {
		return nil, err
	}
	open := func() (*snapshot, error) { return openFiles(at, rec) }
	if hot {
		open = func() (*snapshot, error) { return openCopy(at) }
	}
	s, err := open()
	if err != nil {
		return nil, err
	}
	// A damaged header shows here, before anybody is asked to judge it.
	if _, err := s.Query(context.Background(), persistence.Query{SQL: "SELECT count(*) FROM sqlite_schema"}); err != nil {
		return nil, and(err, s.Close())
	}
	return s, nil
}

// errNotSQLite says that a file does not begin as a database does.
var errNotSQLite = errors.New("the file does not begin as a SQLite database")

func isNotADatabase(err error) bool {
	return errors.Is(err, errNotSQLite) || engine.NotADatabase(err)
}

func checkMagic(at place) error {
	f, err := openRegular(at.file(""))
	if err != nil {
		return fileError("read", at, err)
	}
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(f, begin)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // too short; the comparison says so
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fileError("read", at, err)
	}
	if !bytes.Equal(begin, magic) {
		return &persistence.Error{Class: persistence.ClassCorrupt, Wave: -1, Stmt: -1, Err: errNotSQLite}
	}
	return nil
}

var magic = []byte("SQLite format 3\x00")

// hotJournal reports whether a rollback journal lies beside the database that
// must be played back before the database can be read.
func hotJournal(at place) (bool, error) {
	f, err := openRegular(at.file("-journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fileError("read", at, err)
	}
	first := []byte{0} // a journal that was done with is empty or begins with zeros
	_, err = io.ReadFull(f, first)
	if err == io.EOF {
		err = nil
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fileError("read", at, err)
	}
	return first[0] != 0, nil
}

// openFiles opens the database where it lies.
func openFiles(at place, rec *recorder) (*snapshot, error) {
	name, registered, err := vfs.New(files{at: at, rec: rec})
	if err != nil {
		return nil, fmt.Errorf("register file system: %w", err)
	}
	c, err := engine.Open("file:" + mainName + "?mode=ro&_query_only=1&_pragma=locking_mode(EXCLUSIVE)&vfs=" + name)
	if err != nil {
		return nil, and(err, registered.Close())
	}
	return &snapshot{Conn: c, done: []func() error{registered.Close}}, nil
}

// openCopy opens a private copy of a database that was left in the middle of a
// transaction in a journal mode that is not ours: playing the journal back needs
// a file that can be written.
func openCopy(at place) (_ *snapshot, err error) {
	dir, err := os.MkdirTemp("", "agentos-look-") // 0700
	if err != nil {
		return nil, fileError("copy", at, err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	copied := filepath.Join(dir, mainName)
	for _, suffix := range []string{"", "-journal"} {
		if err := copyFile(copied+suffix, at.file(suffix)); err != nil {
			return nil, and(fileError("copy", at, err), remove())
		}
	}
	c, err := engine.Open(dsn(copied, "_query_only=1"))
	if err != nil {
		return nil, and(err, remove())
	}
	return &snapshot{Conn: c, done: []func() error{remove}}, nil
}

func copyFile(to, from string) error {
	in, err := openRegular(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return and(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), in.Close())
}

// openRegular opens a regular file for reading, through no symlink.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, and(err, f.Close())
	}
	return f, nil
}

// and returns err as it is, or with what went wrong while cleaning up after it.
func and(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return errors.Join(err, cleanup)
}
