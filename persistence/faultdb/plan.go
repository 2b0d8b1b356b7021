package faultdb

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Plan says which transactions and reads go wrong, over all openings of the
// sources it is given to, and what did. It is safe for concurrent use. The zero
// value is an empty plan.
type Plan struct {
	mu      sync.Mutex
	faults  []Fault // in the order in which they were given; At is absolute
	spent   []bool  // by index in faults: its number has come
	fired   []Fault
	txs     int // transactions begun so far
	queries int // reads begun so far
	dark    int // openings and reads that fail from here on

	slow    chan struct{} // closed by Resume; made when first needed
	changed chan struct{} // closed and made anew when something fired
}

// New returns a plan with the given faults. It panics on a fault that can never
// fire, a mistake of the test: an unknown way, At below 1.
func New(faults ...Fault) *Plan {
	p := &Plan{}
	for _, f := range faults {
		if err := f.check(); err != nil {
			panic(err)
		}
	}
	p.faults = slices.Clone(faults)
	p.spent = make([]bool, len(faults))
	return p
}

// Parse reads what String wrote: faults separated by white space or semicolons.
func Parse(text string) (*Plan, error) {
	p := &Plan{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == ';' }) {
		f, err := ParseFault(word)
		if err != nil {
			return nil, fmt.Errorf("parse plan: %w", err)
		}
		p.faults = append(p.faults, f)
	}
	p.spent = make([]bool, len(p.faults))
	return p, nil
}

// String returns the whole plan, what was armed later and what has fired
// included, so that a run that counts the same way from its start can be made
// again from this one line. A channel in a fault is not part of it.
func (p *Plan) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := make([]string, len(p.faults))
	for i, f := range p.faults {
		words[i] = f.String()
	}
	return strings.Join(words, " ")
}

// Arm adds a fault that counts from now: At 1 is the next transaction (the next
// read, for QueryFails). It panics as New does.
func (p *Plan) Arm(f Fault) {
	if err := f.check(); err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.Way == QueryFails {
		f.At += p.queries
	} else {
		f.At += p.txs
	}
	p.faults = append(p.faults, f)
	p.spent = append(p.spent, false)
}

// Fired returns the faults that came about, in order.
func (p *Plan) Fired() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.fired)
}

// Pending returns the faults whose number has not come yet.
func (p *Plan) Pending() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Fault
	for i, f := range p.faults {
		if !p.spent[i] {
			out = append(out, f)
		}
	}
	return out
}

// Transactions and Queries return how many were begun, in all openings.
func (p *Plan) Transactions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.txs
}

// Queries is described with Transactions.
func (p *Plan) Queries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queries
}

// Changed returns a channel that is closed when the next fault fires, for tests
// that wait for a Slow transaction to be under way. Take it before the cause.
func (p *Plan) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *channel(&p.changed)
}

// Resume lets every Slow transaction without a channel of its own go on, those
// that block now and those to come.
func (p *Plan) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := channel(&p.slow)
	select {
	case <-*c:
	default:
		close(*c)
	}
}

// channel makes *c if there is none.
func channel(c *chan struct{}) *chan struct{} {
	if *c == nil {
		*c = make(chan struct{})
	}
	return c
}

// nextTx counts a transaction and returns its fault, if it has one.
func (p *Plan) nextTx() (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.txs++
	return p.take(p.txs, false)
}

// nextQuery counts a read and reports whether it is to fail.
func (p *Plan) nextQuery() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries++
	f, ok := p.take(p.queries, true)
	if ok {
		p.fire(f)
	}
	return p.darkness() || ok
}

// nextOpen reports whether an opening is to fail.
func (p *Plan) nextOpen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.darkness()
}

// darkness uses up one failure of an Unreadable. The caller holds mu.
func (p *Plan) darkness() bool {
	if p.dark == 0 {
		return false
	}
	p.dark--
	return true
}

// take returns the fault for number n, the first one given if there are several;
// the others have missed their chance. The caller holds mu.
func (p *Plan) take(n int, query bool) (found Fault, ok bool) {
	for i, f := range p.faults {
		if p.spent[i] || f.At != n || (f.Way == QueryFails) != query {
			continue
		}
		p.spent[i] = true
		if !ok {
			found, ok = f, true
		}
	}
	return found, ok
}

// came records that f came about.
func (p *Plan) came(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fire(f)
}

// fire is came for a caller that holds mu.
func (p *Plan) fire(f Fault) {
	p.fired = append(p.fired, f)
	if f.Way == Unreadable {
		p.dark += f.Times
	}
	close(*channel(&p.changed))
	p.changed = nil
}

// gate returns the channel on which a Slow fault waits.
func (p *Plan) gate(f Fault) <-chan struct{} {
	if f.Until != nil {
		return f.Until
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return *channel(&p.slow)
}
