package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Facts are those of the machine without which figures cannot be read.
type Facts struct {
	CPUs       int
	FileSystem string        // of the directory; "" if the system does not tell
	Sync       time.Duration // median of writing 12 KiB over and flushing them: no commit can be quicker
}

// String returns the facts as a line for people.
func (f Facts) String() string {
	fs := f.FileSystem
	if fs == "" {
		fs = "a file system without a name"
	}
	cpus := "cpus"
	if f.CPUs == 1 {
		cpus = "cpu"
	}
	return fmt.Sprintf("%d %s, %s, raw write of 12 KiB + fdatasync %s µs", f.CPUs, cpus, fs, Digits(micros(f.Sync)))
}

// commitBytes is what a small commit appends to the write-ahead log: three pages
// with their headers.
const commitBytes = 3 * (4096 + 24)

// Bounds of the search for the physical limit.
const (
	syncRounds = 300
	syncTime   = time.Second
)

// Inspect finds the facts, with a file in dir that is removed again. It takes
// about a second at most.
func Inspect(ctx context.Context, dir string) (f Facts, err error) {
	f.CPUs = runtime.GOMAXPROCS(0)
	if f.FileSystem, err = FileSystem(dir); err != nil {
		return f, err
	}
	file, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return f, fmt.Errorf("make file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	var took times
	block := make([]byte, commitBytes)
	for begin := time.Now(); len(took) <= syncRounds && time.Since(begin) < syncTime || len(took) < fewest; {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		d, err := clock(func() error {
			if _, err := file.WriteAt(block, 0); err != nil {
				return err
			}
			return flush(file)
		})
		if err != nil {
			return f, fmt.Errorf("write %s: %w", file.Name(), err)
		}
		took = append(took, d)
	}
	f.Sync = took[1:].median() // the first one made the file longer
	return f, nil
}

// InMemory reports whether a file system keeps nothing on a disk, so that a flush
// costs nothing.
func InMemory(fileSystem string) bool { return fileSystem == "tmpfs" || fileSystem == "ramfs" }

// mounts is where Linux tells what is mounted.
const mounts = "/proc/self/mountinfo"

// FileSystem returns the name of the file system that dir is on, "" if the system
// does not tell.
func FileSystem(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("find directory: %w", err)
	}
	f, err := os.Open(mounts)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // not Linux
	}
	if err != nil {
		return "", fmt.Errorf("read what is mounted: %w", err)
	}
	name, err := mountedOn(bufio.NewScanner(f), dir)
	return name, errors.Join(err, f.Close())
}

// mountedOn finds the file system of dir in lines of mountinfo: the longest mount
// point above it, of two alike the later one, which hides the other.
func mountedOn(lines *bufio.Scanner, dir string) (name string, err error) {
	longest := -1
	for lines.Scan() {
		// id parent device root MOUNTPOINT options optional... - NAME source options
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) == 0 {
			continue
		}
		point := unescaped(fields[4])
		if above := strings.TrimSuffix(point, "/") + "/"; strings.HasPrefix(dir+"/", above) && len(point) >= longest {
			longest, name = len(point), kind[0]
		}
	}
	return name, lines.Err()
}

// unescaped replaces \040 and the like.
func unescaped(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
