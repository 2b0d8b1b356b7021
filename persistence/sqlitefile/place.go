package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"agentos/protocol"
)

// place is the path of a database. Invariant: dir is absolute and has no
// symlink in it, so that one database has one lock file whatever way leads there.
type place struct{ dir, base string }

// file returns the path of the database (suffix "") or of a file beside it.
func (p place) file(suffix string) string { return filepath.Join(p.dir, p.base+suffix) }

// locate resolves path and makes its directory if create says so.
func locate(path string, create bool) (place, error) {
	base := filepath.Base(path)
	if path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) || base == "." || base == ".." {
		return place{}, protocol.Errorf(protocol.CodeInvalidArgument, "%q is not the path of a file", path)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	at := place{dir: dir, base: base}
	if err != nil {
		return at, fileError("find", at, err)
	}
	if create {
		if err := makeDir(dir); err != nil {
			return at, fileError("create the directory of", at, err)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return at, notFound(at)
	}
	if err != nil {
		return at, fileError("find", at, err)
	}
	return place{dir: real, base: base}, nil
}

// makeDir makes dir and what is missing above it. Each new name is on the disk
// when it returns; what is there already stays as it is.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The umask may have taken the owner's own bits.
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// stat returns what is at the path, nil if nothing is, and refuses whatever is
// not a regular file.
func (p place) stat() (fs.FileInfo, error) {
	info, err := os.Lstat(p.file(""))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fileError("find", p, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, protocol.Errorf(protocol.CodeNotAVMDatabase, "%s is a symlink; name the file that it points to", p.file(""))
	case info.IsDir():
		return nil, protocol.Errorf(protocol.CodeNotAVMDatabase, "%s is a directory; name the database file in it", p.file(""))
	case !info.Mode().IsRegular():
		return nil, protocol.Errorf(protocol.CodeNotAVMDatabase, "%s is not a regular file", p.file(""))
	}
	return info, nil
}

// present reports whether there is a database; an empty file is none.
func (p place) present() (bool, error) {
	info, err := p.stat()
	return info != nil && info.Size() > 0, err
}

// holds reports whether the file at the path is still the given one.
func (p place) holds(file fs.FileInfo) bool {
	info, err := os.Lstat(p.file(""))
	return err == nil && os.SameFile(info, file)
}

// prepare makes the file if it is missing, sees to its mode and to that of its
// companions, and refuses what cannot be written.
func (p place) prepare() error {
	// A file that can be written in a directory that cannot: SQLite would fail
	// later, when it makes the log, and say that it cannot open something. First
	// of all, so that what is refused keeps its mode.
	if err := unix.Faccessat(unix.AT_FDCWD, p.dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fileError("write", p, err)
	}
	// SQLite would make the file with whatever the umask leaves, and gives its
	// companions the mode of the file.
	made := false
	f, err := os.OpenFile(p.file(""), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		made = true
		f, err = os.OpenFile(p.file(""), os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	}
	if err != nil {
		return fileError("write", p, err)
	}
	if err := errors.Join(private(f), f.Close()); err != nil {
		return fileError("protect", p, err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := privateIfThere(p.file(suffix)); err != nil {
			return fileError("protect", p, err)
		}
	}
	if made {
		if err := syncDir(p.dir); err != nil {
			return fileError("create", p, err)
		}
	}
	return nil
}

// private takes a file away from everybody but its owner (S15).
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm() == 0o600 {
		return nil
	}
	return f.Chmod(0o600)
}

func privateIfThere(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(private(f), f.Close())
}

// fileError describes what the operating system said about a place. The path is
// shown; it is the person's own.
func fileError(verb string, p place, err error) error {
	switch {
	case unwritable(err) && verb == "read":
		return protocol.Errorf(protocol.CodeStorageError, "%s cannot be read; check its owner and mode", p.file("")).Because(err)
	case unwritable(err) && verb == "find":
		return protocol.Errorf(protocol.CodeStorageError, "%s cannot be reached; check the owner and mode of %s", p.file(""), p.dir).Because(err)
	case unwritable(err):
		return (&protocol.Error{Code: protocol.CodeStorageReadOnly, Message: readOnlyText(p.file(""))}).Because(err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return protocol.Errorf(protocol.CodeStorageFull, "%s %s: there is no room on the disk", verb, p.file("")).Because(err)
	case errors.Is(err, unix.ENOTDIR):
		return protocol.Errorf(protocol.CodeInvalidArgument, "%s %s: a part of the path is not a directory", verb, p.file("")).Because(err)
	}
	return protocol.Errorf(protocol.CodeStorageError, "%s %s: %v", verb, p.file(""), err).Because(err)
}
