package sqlitefile

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// The names under which SQLite sees the two files of a snapshot.
const (
	mainName = "vm"
	logName  = "vm-wal"
)

// files is a file system of one database and its log, for reading.
type files struct {
	at  place
	rec *recorder // of what is read of the database; nil: nobody's
}

// Open implements fs.FS. SQLite insists on opening a log for a database whose
// header says that it has one, and would make it; it is given an empty one.
func (f files) Open(name string) (fs.File, error) {
	var suffix string
	var rec *recorder
	switch name {
	case mainName:
		rec = f.rec
	case logName:
		suffix = "-wal"
	default:
		return nil, fs.ErrNotExist
	}
	file, err := openRegular(f.at.file(suffix))
	if os.IsNotExist(err) && name == logName {
		return emptyFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &seeker{File: file, rec: rec}, nil
}

// Stat implements fs.StatFS: it is the truth, where Open makes up an empty log.
func (f files) Stat(name string) (fs.FileInfo, error) {
	if name != logName {
		return nil, fs.ErrNotExist
	}
	return os.Lstat(f.at.file("-wal"))
}

// seeker reads with one system call where a file needs two.
type seeker struct {
	*os.File
	at  int64
	rec *recorder
}

func (s *seeker) Seek(offset int64, _ int) (int64, error) {
	s.at = offset
	return offset, nil
}

func (s *seeker) Read(b []byte) (int, error) {
	n, err := s.ReadAt(b, s.at)
	s.rec.note(s.at, b[:n])
	s.at += int64(n)
	return n, err
}

// emptyFile is a file without bytes, and its own description.
type emptyFile struct{}

func (emptyFile) Stat() (fs.FileInfo, error)              { return emptyFile{}, nil }
func (emptyFile) Read([]byte) (int, error)                { return 0, io.EOF }
func (emptyFile) Seek(offset int64, _ int) (int64, error) { return offset, nil }
func (emptyFile) Close() error                            { return nil }
func (emptyFile) Name() string                            { return logName }
func (emptyFile) Size() int64                             { return 0 }
func (emptyFile) Mode() fs.FileMode                       { return 0o400 }
func (emptyFile) ModTime() time.Time                      { return time.Time{} }
func (emptyFile) IsDir() bool                             { return false }
func (emptyFile) Sys() any                                { return nil }
