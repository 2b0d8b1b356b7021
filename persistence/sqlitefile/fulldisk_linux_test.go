package sqlitefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// smallDisk mounts a file system of a megabyte.
func smallDisk(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("mounting a small file system needs rights: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// ballast takes the room that is left but for so many bytes, and returns what
// gives it back.
func ballast(t testing.TB, dir string, leave int64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	info, err := f.Stat()
	must(t, err)
	must(t, errors.Join(f.Truncate(info.Size()-leave), f.Close()))
	return func() { must(t, os.Remove(path)) }
}

func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "vm.db")
	src, h := openNew(t, path)
	must(t, run(h, createRows))
	free := ballast(t, dir, 200<<10)
	stored := int64(0)
	refusals := map[persistence.Outcome]int{}
	for n := int64(1); n <= 60; n++ {
		err := run(h, addRow, n, strings.Repeat("x", int(n%5)*20_000))
		if err == nil {
			stored++
			continue
		}
		e := wantClass(t, err, persistence.ClassFull)
		refusals[e.Outcome]++
		if e.Outcome == persistence.Unknown {
			if err := h.Close(); err != nil {
				wantClass(t, err, persistence.ClassFull)
			}
			if h, err = src.Open(accept); err != nil {
				t.Fatalf("Open on a full disk = %v", err)
			}
		}
		if got := read(t, h, countRows); got[0] != stored {
			t.Fatalf("%v rows after row %d was refused; want %d", got[0], n, stored)
		}
	}
	if stored == 0 || len(refusals) == 0 {
		t.Errorf("%d stored, refused by outcome: %v; want some of both", stored, refusals)
	}
	free()
	must(t, run(h, addRow, int64(1000), "x"))
	closeAll(t, src, h)
}

func TestNewDatabaseOnAFullDisk(t *testing.T) {
	dir := smallDisk(t)
	src := acquire(t, filepath.Join(dir, "vm.db"), sqlitefile.Options{Create: true})
	free := ballast(t, dir, 0)
	_, err := src.Open(accept)
	wantCode(t, err, protocol.CodeStorageFull)
	free()
	h, err := src.Open(accept)
	must(t, err)
	closeAll(t, src, h)
}
