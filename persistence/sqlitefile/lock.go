package sqlitefile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"agentos/protocol"
)

// lock is a held lock file.
type lock struct {
	file     *os.File
	writable bool
	left     []byte // what the last holder left in the file for the next; read before it is overwritten
}

// holder is the one line of a lock file that is held: whoever holds it.
type holder struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"` // clock ticks since boot; 0 where the system does not say
	Command   string `json:"command"`
	Socket    string `json:"socket"`
}

func thisProcess(o Options) holder {
	return holder{PID: os.Getpid(), StartTime: ownStartTime(), Command: o.Command, Socket: o.Socket}
}

var ownStartTime = sync.OnceValue(func() uint64 { return startTime(os.Getpid()) })

// alive reports whether the process is there and is the one that wrote the line.
// Process ids are used again; with the time of their start they are not.
func (h holder) alive() bool {
	if h.PID <= 0 {
		return false
	}
	if err := unix.Kill(h.PID, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	now := startTime(h.PID)
	return h.StartTime == 0 || now == 0 || now == h.StartTime
}

// lockMode says what to do about a lock file that is missing or not writable.
type lockMode int

const (
	lockOrCreate   lockMode = iota // make it
	lockExisting                   // fs.ErrNotExist
	lockIfPossible                 // make it; lock it without writing; or go without
)

// How long a lock that is held by nobody who can be named is tried again: a
// holder that has just begun has not written its line, and the one before may be
// a process that dies or that is between fork and exec in this moment.
const (
	settle      = time.Second
	settlePause = 10 * time.Millisecond
)

// errHeld says that somebody else holds the lock.
var errHeld = errors.New("the lock is held")

// takeLock locks the file at path and writes h into it. It returns a nil lock
// only for lockIfPossible.
func takeLock(path string, how lockMode, h holder) (*lock, error) {
	for until := time.Now().Add(settle); ; time.Sleep(settlePause) {
		l, err := tryLock(path, how)
		if err == nil && l != nil && l.writable {
			l.left = l.read()
			if err = l.write(h); err != nil {
				err = errors.Join(lockError(path, err), l.release(nil))
			}
		}
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, err
		}
		other, known := readHolder(path)
		if alive := known && other.alive(); alive || time.Now().After(until) {
			return nil, inUse(path, other, known, alive)
		}
	}
}

// tryLock tries once. It returns errHeld, fs.ErrNotExist or a *protocol.Error.
func tryLock(path string, how lockMode) (*lock, error) {
	const safely = unix.O_NOFOLLOW | unix.O_NONBLOCK // O_CLOEXEC is the library's
	flags := os.O_RDWR | safely
	if how != lockExisting {
		flags |= os.O_CREATE
	}
	l := &lock{writable: true}
	var err error
	l.file, err = os.OpenFile(path, flags, 0o600)
	if how == lockIfPossible && unwritable(err) {
		l.writable = false
		l.file, err = os.OpenFile(path, os.O_RDONLY|safely, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, lockError(path, err)
	}
	if err := l.take(path); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
}

func (l *lock) take(path string) error {
	info, err := l.file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return lockError(path, err)
	}
	for {
		err = unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	if err != nil {
		return lockError(path, err)
	}
	if !l.stillAt(path) {
		// Somebody deleted the file between our open and our lock.
		return errHeld
	}
	return nil
}

// stillAt reports whether the locked file is the one at path.
func (l *lock) stillAt(path string) bool {
	ours, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

// write replaces the line. A reader in between sees the whole new line first:
// it reads to the end of the first line.
func (l *lock) write(h holder) error {
	if err := private(l.file); err != nil {
		return err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := l.file.WriteAt(line, 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(line)))
}

// read returns the lines of a recall, or nothing.
func (l *lock) read() []byte {
	lines := make([]byte, maxRecallBytes+1)
	n, err := l.file.ReadAt(lines, 0)
	if err != io.EOF || n == 0 || n > maxRecallBytes { // no EOF: there is more
		return nil
	}
	return lines[:n:n]
}

// release gives the lock back. The line goes first, so that nobody takes this
// process, which lives on, for the next holder; left, if it is not empty, is put
// in its place for the next one. Unlocking is said outright: a child between fork
// and exec has a copy of the descriptor.
func (l *lock) release(left []byte) error {
	var errs []error
	if l.writable {
		errs = append(errs, l.file.Truncate(0))
		if len(left) > 0 {
			// A part of it, on a full disk, is no recall: its hash is missing.
			// That makes the next opening slower, and this one no failure.
			_, _ = l.file.WriteAt(left, 0)
		}
	}
	errs = append(errs, unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
	return errors.Join(errs...)
}

// readHolder reads the line of a lock file that somebody else holds.
func readHolder(path string) (holder, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return holder{}, false
	}
	defer f.Close()
	return parseHolder(f)
}

// maxHolderBytes bounds a line that another program may have written.
const maxHolderBytes = 64 << 10

func parseHolder(r io.Reader) (holder, bool) {
	line, err := bufio.NewReader(io.LimitReader(r, maxHolderBytes)).ReadBytes('\n')
	var h holder
	if err != nil || json.Unmarshal(line, &h) != nil || h.PID <= 0 {
		return holder{}, false
	}
	return h, true
}

func inUse(path string, h holder, known, alive bool) error {
	e := &protocol.Error{Code: protocol.CodeVMInUse}
	db := path[:len(path)-len(".lock")]
	switch {
	case !known:
		e.Message = fmt.Sprintf("%s is in use by a process that has not said who it is; try again", db)
		return e
	case alive:
		e.Message = fmt.Sprintf("%s is in use by process %d (%s); stop it or wait until it ends", db, h.PID, h.Command)
	default:
		e.Message = fmt.Sprintf("%s is in use; its lock file names process %d (%s), which cannot be seen from here", db, h.PID, h.Command)
	}
	return e.With("pid", h.PID).With("command", h.Command).With("socket", h.Socket)
}

func lockError(path string, err error) error {
	if unwritable(err) {
		return (&protocol.Error{Code: protocol.CodeStorageReadOnly, Message: readOnlyText(path)}).Because(err)
	}
	return protocol.Errorf(protocol.CodeStorageError, "lock %s: %v", path, err).Because(err)
}
