package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// work is one kind of turn.
type work struct {
	name, prompt string
	target       float64 // how many times faster than AgentOS we want to be; 0 if nothing is said
}

var works = []work{
	{"one-chunk prompt", "[[chunks 1]]", 50},
	{"100 chunks", "[[chunks 100]]", 0},
	{"20 tool calls", "[[calls 20]]", 0},
}

// The other kinds of work.
const (
	workCreate = "new VM"
	workFirst  = "new VM to first answer"
	workBytes  = "database bytes per event"
)

// pageSizes are those that history is read in.
var pageSizes = []int64{200, 1000}

func workPage(size int64) string { return fmt.Sprintf("history in pages of %d", size) }

// fillTurn is what fills a history: many events from one prompt.
var fillTurn = works[2].prompt

// plan is how much is done.
type plan struct {
	rounds int // turns of each kind that count, and reads of each page size
	warm   int // rounds before them that do not
	fresh  int // new VMs of each
	fill   int // events that are added to a history at least, for its size to be taken
	// late bounds the wait for output that a contender hands over after its answer.
	late time.Duration
}

// cell is one figure of the table.
type cell struct{ work, who string }

// results are what was measured.
type results struct {
	contenders []string // names, in the order of the table
	took       map[cell]times
	// growth is the bytes by which a keeper's database grew for each event, payload
	// the bytes of ACP in each; 0 if no contender can tell.
	growth  map[string]float64
	payload float64
}

// carryOut has the contenders do the work, in turns.
func (p plan) carryOut(ctx context.Context, list []entry, progress io.Writer) (*results, error) {
	r := &results{took: map[cell]times{}, growth: map[string]float64{}}
	for _, e := range list {
		r.contenders = append(r.contenders, e.name)
	}
	for _, phase := range []struct {
		name string
		run  func(context.Context, []entry, *results) error
	}{
		{"turns", p.turns}, {"the same work", p.sameWork}, {"new VMs", p.births}, {"size of databases", p.growths}, {"history", p.pages},
	} {
		start := time.Now()
		if err := phase.run(ctx, list, r); err != nil {
			return nil, fmt.Errorf("%s: %w", phase.name, err)
		}
		fmt.Fprintf(progress, "%s: %.1f s\n", phase.name, time.Since(start).Seconds())
	}
	return r, nil
}

// inTurn calls f for every contender, in an order that rotates and reverses with
// the round: nobody always follows the same one.
func inTurn(list []entry, round int, f func(entry) error) error {
	for _, i := range order(len(list), round) {
		if err := f(list[i]); err != nil {
			return fmt.Errorf("%s: %w", title(list[i].name), err)
		}
	}
	return nil
}

// order returns the numbers below n in the order of a round.
func order(n, round int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (i + round/2) % n
	}
	if round%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// note keeps a time, if the round counts.
func (r *results) note(round int, work, who string, d time.Duration) {
	if round >= 0 {
		r.took[cell{work, who}] = append(r.took[cell{work, who}], d)
	}
}

// turns runs two turns a visit and counts the second: while AgentOS has the
// machine for 60 ms, the quick ones lose their caches, and to come back to a cold
// processor would be most of their time.
func (p plan) turns(ctx context.Context, list []entry, r *results) error {
	for i := range p.warm + p.rounds {
		for _, w := range works {
			err := inTurn(list, i, func(e entry) error {
				if _, err := e.prompt(ctx, w.prompt); err != nil {
					return err
				}
				d, err := e.prompt(ctx, w.prompt)
				r.note(i-p.warm, w.name, e.name, d)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lateLook is the time between two looks for output that is late.
const lateLook = 20 * time.Millisecond

// sameWork fails unless all contenders have the text and the calls that the first,
// which is direct, has seen.
func (p plan) sameWork(ctx context.Context, list []entry, _ *results) error {
	want, err := list[0].tally(ctx)
	if err != nil {
		return err
	}
	end := time.Now().Add(p.late)
	for _, e := range list[1:] {
		for {
			got, err := e.tally(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", title(e.name), err)
			}
			if got.Text == want.Text && got.Calls == want.Calls {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("%s has %d bytes of text and %d calls, %s %d and %d",
					title(e.name), got.Text, got.Calls, title(list[0].name), want.Text, want.Calls)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lateLook):
			}
		}
	}
	return nil
}

func (p plan) births(ctx context.Context, list []entry, r *results) error {
	for i := range p.fresh {
		err := inTurn(list, i, func(e entry) error {
			n, ok := e.contender.(newcomer)
			if !ok {
				return nil
			}
			b, err := n.fresh(ctx, works[0].prompt)
			if b.created > 0 {
				r.note(i, workCreate, e.name, b.created)
			}
			r.note(i, workFirst, e.name, b.first)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
