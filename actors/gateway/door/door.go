// Package door is the private Unix socket through which other processes of the
// same person reach the process that holds a VM.
//
// It never speaks: what is said through a door is the caller's. It never opens one
// where somebody else could put another in its place, and never follows a symlink
// to one.
//
// # Safety
//
// A door is a socket of mode 0600 in a directory that its owner alone can enter or
// change. Whoever comes in is asked by the kernel for his user id, and so is
// whoever answers: both have to be the same user, but root may come in. Where the
// system does not tell, the modes have to do.
//
// # Names
//
// The path of a socket has at most MaxPath bytes, so a door is named by a hash of
// what it leads to and some random bytes: no two processes ever want the same
// name, and a door that can be seen is open. Doors that dead processes left behind
// are removed by the next one that is made for the same thing.
//
// # Concurrency and ownership
//
// All functions may be called from any goroutine; none is started. Whoever made a
// Listener closes it, which removes the socket.
package door

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// MaxPath is how long the path of a socket may be everywhere: the smallest
// sun_path of the systems we know, without its NUL.
const MaxPath = 103

const (
	suffix     = ".sock"
	hashBytes  = 6
	ownBytes   = 6
	nameLength = 2*hashBytes + 1 + 2*ownBytes + len(suffix)
)

var (
	// ErrNotPrivate says that a directory is not its owner's alone, or not ours.
	ErrNotPrivate = errors.New("the directory is not private")
	// ErrStranger says that a door is another user's, or no door at all.
	ErrStranger = errors.New("the door is a stranger's")
)

// Listener accepts who may come in.
type Listener struct {
	*net.UnixListener
	path  string
	close func() error // once; a server closes what it serves a second time
}

// Listen opens a door in dir, which must be ours and nobody else's to write
// (Private), to what key names. It also removes what dead processes have left
// there for the same key.
func Listen(dir, key string) (*Listener, error) {
	if err := Private(dir); err != nil {
		return nil, fmt.Errorf("open a door: %w", err)
	}
	prefix := prefixOf(key)
	var own [ownBytes]byte
	if _, err := rand.Read(own[:]); err != nil {
		return nil, fmt.Errorf("open a door: %w", err)
	}
	path := filepath.Join(dir, prefix+hex.EncodeToString(own[:])+suffix)
	if len(path) > MaxPath {
		return nil, fmt.Errorf("open a door: %s is too long a path for a socket", path)
	}
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("open a door: %w", err)
	}
	sweep(dir, prefix, path)
	return l, nil
}

func prefixOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:hashBytes]) + "-"
}

// Sweep removes what dead processes have left in dir for key.
func Sweep(dir, key string) { sweep(dir, prefixOf(key), "") }

// listen makes the socket under another name first: one that can be seen under its
// own is open, so that one that is not was left behind.
func listen(path string) (*Listener, error) {
	hidden := path[:len(path)-len(suffix)] + ".new"
	inner, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	inner.SetUnlinkOnClose(false)
	l := &Listener{UnixListener: inner, path: path}
	l.close = sync.OnceValue(func() error {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, inner.Close())
	})
	if err = os.Chmod(hidden, 0o600); err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		return nil, errors.Join(err, inner.Close(), os.Remove(hidden))
	}
	return l, nil
}

// Path returns the absolute path of the socket.
func (l *Listener) Path() string { return l.path }

// acceptPause is how long Accept waits when the system has no file left.
const acceptPause = 50 * time.Millisecond

// Accept implements net.Listener. Who may not come in is sent away.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			time.Sleep(acceptPause)
			continue
		case err != nil:
			return nil, err
		}
		uid, known, err := peer(c)
		if err == nil && (!known || uid == 0 || uid == os.Geteuid()) {
			return c, nil
		}
		_ = c.Close() // it was told nothing
	}
}

// Close implements net.Listener. The socket goes first: nobody is to find it
// closed.
func (l *Listener) Close() error { return l.close() }

// Dial goes to a door and makes sure that one of users answers there; else the
// error is ErrStranger, which it also is for what is no socket.
func Dial(ctx context.Context, path string, users ...int) (net.Conn, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("go to the door: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("go to the door: %s is no socket: %w", path, ErrStranger)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if err != nil {
		return nil, fmt.Errorf("go to the door: %w", err)
	}
	there, known, err := peer(c.(*net.UnixConn))
	if err == nil && known && !slices.Contains(users, there) {
		err = fmt.Errorf("user %d answers: %w", there, ErrStranger)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("go to the door: %w", err), c.Close())
	}
	return c, nil
}

// Private reports whether dir is a directory of ours that nobody else can change
// or look into; the error is ErrNotPrivate or why it cannot be told.
func Private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: %w", dir, ErrNotPrivate)
	}
	return nil
}

// Fits reports whether a door in dir has a path that is short enough.
func Fits(dir string) bool { return len(dir)+1+nameLength <= MaxPath }

// sweep removes the doors of a key behind which nobody is.
func sweep(dir, prefix, own string) {
	others, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*"+suffix))
	if err != nil {
		return // what is left behind does no harm
	}
	for _, path := range others {
		if path == own {
			continue
		}
		c, err := net.DialTimeout("unix", path, time.Second)
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path) // another process may have done it
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

// escape takes the meaning of a pattern away from a path.
func escape(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}
