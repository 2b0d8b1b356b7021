package store

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Store is a directory of sessions.
type Store struct{ dir string }

const (
	idPrefix = "scripted-"
	suffix   = ".jsonl"
)

// Open finds the directory from the environment, and makes it if needed:
// AGENTOS_SCRIPTED_DIR, else one per user, by XDG.
func Open(env func(string) string) (*Store, error) {
	dir := directory(env)
	if dir == "" {
		return nil, errors.New("find a place for sessions: set AGENTOS_SCRIPTED_DIR, XDG_STATE_HOME or HOME")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the session directory: %w", err)
	}
	return &Store{dir: dir}, nil
}

// directory names the directory; "" when the environment has no place for it.
func directory(env func(string) string) string {
	if dir := env("AGENTOS_SCRIPTED_DIR"); dir != "" {
		return dir
	}
	// XDG wants relative values ignored.
	if state := env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "agentos", "scripted")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "agentos", "scripted")
	}
	if cache := env("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		return filepath.Join(cache, "agentos", "scripted")
	}
	return ""
}

// NewID returns a session id that no other process has: the one thing that the
// scripted agent leaves to chance.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return idPrefix + hex.EncodeToString(b[:])
}

// ValidID tells whether id can be one of NewID. Any other could name something
// else than a session's file.
func ValidID(id string) bool {
	digits, ours := strings.CutPrefix(id, idPrefix)
	return ours && digits != "" && len(digits) <= 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+suffix) }

// append adds a line to a session's file in one write, and makes the file if
// there is none.
func (s *Store) append(id, line string) error {
	if !ValidID(id) {
		return fmt.Errorf("append to session: %w", fs.ErrNotExist)
	}
	f, err := os.OpenFile(s.path(id), os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("append to session: %w", err)
	}
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append to session: %w", err)
	}
	return nil
}

// Read returns what is known of a session; fs.ErrNotExist if there is none.
func (s *Store) Read(id string) (*Past, error) {
	if !ValidID(id) {
		return nil, fs.ErrNotExist
	}
	file, err := readFile(s.path(id))
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	p, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return p, nil
}

// Restore reads a session that will be written to again. A line that a killed
// process left unfinished is cut off first, or the next would become part of it.
func (s *Store) Restore(id string) (*Past, error) {
	p, err := s.Read(id)
	if err != nil || !p.torn {
		return p, err
	}
	if err := os.Truncate(s.path(id), p.whole); err != nil {
		return nil, fmt.Errorf("cut an unfinished line: %w", err)
	}
	return p, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Listed is one session of a list.
type Listed struct {
	ID, Cwd, Title string
	UpdatedAt      time.Time
}

// List returns the sessions of a working directory ("": of all), newest first.
// A session that cannot be read is left out: it must not hide the others.
func (s *Store) List(cwd string) ([]Listed, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []Listed
	for _, f := range files {
		id, ours := strings.CutSuffix(f.Name(), suffix)
		info, err := f.Info()
		if !ours || err != nil {
			continue
		}
		p, err := s.Read(id)
		if err != nil || (cwd != "" && p.Cwd != cwd) {
			continue
		}
		all = append(all, Listed{ID: id, Cwd: p.Cwd, Title: p.Title, UpdatedAt: info.ModTime()})
	}
	slices.SortFunc(all, func(a, b Listed) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}
