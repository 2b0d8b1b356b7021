package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agentos/actors"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/public"
)

// page reads pages of history through the runtime, as public JSON, against the
// rows of the bare driver.
func page(size int) func(*trial) {
	return func(t *trial) {
		ours := authors(1)
		path, epoch := t.create("ours", ours, t.either(20_000, size+1))
		twin := t.openBare(t.duplicate(path), epoch)
		vm, err := t.startNode(file).Open(context.Background(), "bench", protocol.Descriptor{SQLiteFile: path})
		t.must(err)

		id, last := ours[0].row.ID, int(ours[0].row.Latest)-size
		at := func(round int) int64 { return int64(round * size % (last + 1)) } // pages all over the file
		var out []byte
		var round [2]int
		m := t.rounds(t.either(10, 1),
			func() time.Duration {
				after := protocol.Sequence(at(round[0]))
				round[0]++
				return clock(func() { out = readPage(t, vm, out[:0], id, after, size) })
			},
			func() time.Duration {
				after := at(round[1])
				round[1]++
				return clock(func() {
					if n := twin.page.rows(string(id), after, int64(size)); n != size {
						t.Fatalf("the bare driver read %d rows instead of %d", n, size)
					}
				})
			},
		)
		t.report(m[1].over(m[0]), "x-bare-rows/s")
		t.report(0.7, "x-min")
		t.rate(size, m[0].median(), "ours")
		t.rate(size, m[1].median(), "bare")
	}
}

// readPage appends a page to out, an event a line, and checks that it is whole.
func readPage(t *trial, vm *actors.VM, out []byte, id protocol.SessionID, after protocol.Sequence, size int) []byte {
	p, err := vm.History(context.Background(), id, core.PageRequest{After: &after, Limit: size})
	t.must(err)
	if len(p.Events) != size {
		t.Fatalf("a page of %d events has %d", size, len(p.Events))
	}
	for _, e := range p.Events {
		out = append(public.AppendEvent(out, id, e), '\n')
	}
	return out
}

// firstPage is how many events somebody who comes back sees first.
const firstPage = 20

// wake opens a VM that sleeps, with everything that makes it ready (lock, look,
// fence, recovery), and reads its newest events; against the bare driver, which
// only opens and reads. A short history is woken beside it, for the growth.
func wake(t *trial) {
	long, short := authors(1), authors(1)
	longPath, _ := t.create("long", long, t.either(100_000, 1000))
	shortPath, _ := t.create("short", short, 100)
	twinPath := t.duplicate(longPath)
	node, opened := t.startNode(file), 0

	awake := func(path string, a *author) func() time.Duration {
		return func() time.Duration {
			var vm *actors.VM
			opened++
			name := fmt.Sprintf("bench-%d", opened)
			d := clock(func() {
				var err error
				vm, err = node.Open(context.Background(), name, protocol.Descriptor{SQLiteFile: path})
				t.must(err)
				readPage(t, vm, nil, a.row.ID, a.row.Latest-firstPage, firstPage)
			})
			t.must(vm.Close(context.Background()))
			return d
		}
	}
	m := t.rounds(t.either(5, 0), awake(longPath, long[0]), awake(shortPath, short[0]),
		func() time.Duration { return t.bareWake(twinPath, long[0]) })
	t.report(m[0].over(m[2]), "x-bare")
	t.report(2, "x-max")
	t.report(m[0].over(m[1]), "x-100-events")
	t.micros(m[0].median(), "ours")
	t.micros(m[2].median(), "bare")
}

// bareWake opens a database with the bare driver, reads a page and closes it,
// which does not count.
func (t *trial) bareWake(path string, a *author) time.Duration {
	var b *bareReader
	d := clock(func() {
		b = t.openReader(path)
		if n := b.page.rows(string(a.row.ID), int64(a.row.Latest)-firstPage, int64(firstPage)); n != firstPage {
			t.Fatalf("the bare driver read %d rows instead of %d", n, firstPage)
		}
	})
	t.must(b.close())
	return d
}

func BenchmarkPage(b *testing.B) {
	for _, size := range []int{200, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { measured(b, page(size)) })
	}
}

func BenchmarkWake(b *testing.B) { measured(b, wake) }
