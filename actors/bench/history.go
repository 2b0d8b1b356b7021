package bench

import (
	"fmt"
	"time"

	"agentos/actors"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/protocol/public"
)

func pageMeasure(size int) Measure {
	name := fmt.Sprint("page-", size)
	return Measure{Name: name, run: func(t *trial) ([]figure, error) { return page(t, size) }, Works: []Work{{
		Name: name, Unit: "events/s", Target: Target{AtLeast: 0.7},
		About: fmt.Sprintf("History in pages of %d events through the runtime, as public JSON, all over a session. Against the bare driver reading the same rows.", size),
	}}}
}

func page(t *trial, size int) ([]figure, error) {
	ours := authors(1)
	path, _, err := t.create("ours", ours, max(2*size, t.config.events(1)/5))
	if err != nil {
		return nil, err
	}
	twinPath, err := t.duplicate(path)
	if err != nil {
		return nil, err
	}
	bare, err := t.openPager(twinPath)
	if err != nil {
		return nil, err
	}
	t.atEnd(bare.conn.Close)
	node, err := t.startNode(t.config.Sources)
	if err != nil {
		return nil, err
	}
	vm, err := node.Open(t.ctx, "bench", protocol.Descriptor{SQLiteFile: path})
	if err != nil {
		return nil, err
	}
	id, last := ours[0].row.ID, int(ours[0].row.Latest)-size
	var round [2]int
	next := func(side int) protocol.Sequence { // the same pages on both sides
		after := round[side] * size % (last + 1)
		round[side]++
		return protocol.Sequence(after)
	}
	var out []byte
	m, err := t.rounds(10,
		func() (time.Duration, error) {
			after := next(0)
			return clock(func() (err error) { out, err = t.readPage(vm, out[:0], id, after, size); return err })
		},
		func() (time.Duration, error) {
			after := next(1)
			return clock(func() error { return bare.page(id, after, size) })
		},
	)
	if err != nil {
		return nil, err
	}
	return []figure{{
		value: rate(size, m[0].median()), ratio: m[1].over(m[0]),
		against: fmt.Sprintf("bare driver, %s rows/s", Digits(rate(size, m[1].median()))),
	}}, nil
}

// readPage appends a page to out, an event a line, and checks that it is whole.
func (t *trial) readPage(vm *actors.VM, out []byte, id protocol.SessionID, after protocol.Sequence, size int) ([]byte, error) {
	p, err := vm.History(t.ctx, id, core.PageRequest{After: &after, Limit: size})
	if err != nil {
		return out, err
	}
	if len(p.Events) != size {
		return out, fmt.Errorf("a page of %d events has %d", size, len(p.Events))
	}
	for _, e := range p.Events {
		out = append(public.AppendEvent(out, id, e), '\n')
	}
	return out, nil
}

var wakeMeasure = Measure{Name: "wake", run: wake, Works: []Work{{
	Name: "wake", Unit: "µs", Target: Target{AtMost: 2},
	About: "A sleeping VM with a long history is opened (lock, look, fence, recovery) and shows the 20 newest events as public JSON. Against the bare driver, which only opens and reads.",
}, {
	Name: "wake-growth", Unit: "µs", Target: Target{AtMost: 1.3},
	About: "The same, against a VM with 100 events: waking must not depend on how long the history is.",
}}}

// firstPage is how many events somebody who comes back sees first.
const firstPage = 20

// shortHistory is the one that a wake must not be quicker with.
const shortHistory = 100

// sleeper is a VM that sleeps.
type sleeper struct {
	path   string
	author *author
}

func (t *trial) sleeper(name string, events int) (sleeper, error) {
	list := authors(1)
	path, _, err := t.create(name, list, events)
	return sleeper{path, list[0]}, err
}

func (s sleeper) newest() protocol.Sequence { return s.author.row.Latest - firstPage }

func wake(t *trial) ([]figure, error) {
	long, err := t.sleeper("long", t.config.events(shortHistory))
	if err != nil {
		return nil, err
	}
	short, err := t.sleeper("short", shortHistory)
	if err != nil {
		return nil, err
	}
	twinPath, err := t.duplicate(long.path)
	if err != nil {
		return nil, err
	}
	node, err := t.startNode(t.config.Sources)
	if err != nil {
		return nil, err
	}
	m, err := t.rounds(5, t.awake(node, long), t.awake(node, short),
		func() (time.Duration, error) { return t.bareWake(sleeper{twinPath, long.author}) })
	if err != nil {
		return nil, err
	}
	value := micros(m[0].median())
	return []figure{{
		value: value, ratio: m[0].over(m[2]),
		against: fmt.Sprintf("bare driver, %s µs", Digits(micros(m[2].median()))),
	}, {
		value: value, ratio: m[0].over(m[1]),
		against: fmt.Sprintf("a VM with %d events, %s µs", shortHistory, Digits(micros(m[1].median()))),
	}}, nil
}

// awake is a side that wakes a VM and puts it to sleep again, which does not
// count.
func (t *trial) awake(node *actors.Node, s sleeper) side {
	times := 0
	return func() (time.Duration, error) {
		times++
		name := fmt.Sprintf("%s-%d", s.author.row.ID, times)
		var vm *actors.VM
		took, err := clock(func() (err error) {
			if vm, err = node.Open(t.ctx, name, protocol.Descriptor{SQLiteFile: s.path}); err != nil {
				return err
			}
			_, err = t.readPage(vm, nil, s.author.row.ID, s.newest(), firstPage)
			return err
		})
		if err != nil {
			return 0, err // an open VM is closed with the node
		}
		return took, vm.Close(t.ctx)
	}
}

// bareWake opens a database with the bare driver, reads a page and closes it,
// which does not count.
func (t *trial) bareWake(s sleeper) (time.Duration, error) {
	var p *pager
	took, err := clock(func() (err error) {
		if p, err = t.openPager(s.path); err != nil {
			return err
		}
		return p.page(s.author.row.ID, s.newest(), firstPage)
	})
	if p != nil {
		if cerr := p.conn.Close(); err == nil {
			err = cerr
		}
	}
	return took, err
}
