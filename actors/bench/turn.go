package bench

import (
	"errors"
	"fmt"
	"time"
)

// turnMeasure is one durable turn through the whole runtime. commits is how many
// the bare driver makes of it at most; 0 means as many as the runtime.
func turnMeasure(name, prompt string, commits int) Measure {
	name = "turn-" + name
	bare := "its commits"
	if commits > 0 {
		bare = fmt.Sprintf("its %d commits", commits)
	}
	return Measure{Name: name, run: func(t *trial) ([]figure, error) { return turn(t, prompt, commits) }, Works: []Work{{
		Name: name, Unit: "µs", Target: Target{AtMost: 1.5},
		About: fmt.Sprintf("The prompt %s through the whole runtime to a running agent, until its end is on the disk. Against the same turn of the same agent over its pipes plus %s on the bare driver.", prompt, bare),
	}}}
}

func turn(t *trial, prompt string, atMost int) ([]figure, error) {
	m, err := t.startMachine()
	if err != nil {
		return nil, err
	}
	agent, err := t.startDirect()
	if err != nil {
		return nil, err
	}
	other := authors(1)
	bare, err := t.startTwin(other)
	if err != nil {
		return nil, err
	}
	var commits []shape
	ours := func() (time.Duration, error) {
		took, err := clock(func() error { return m.prompt(prompt) })
		if err == nil {
			commits, err = m.take()
		}
		return took, err
	}
	if _, err := ours(); err != nil { // starts the agent
		return nil, err
	}
	for len(commits) > 0 && !commits[0].accepts { // before its session there is nothing to compare
		commits = commits[1:]
	}
	byHand := func() (time.Duration, error) {
		list := merged(commits, atMost)
		return clock(func() error { return bare.turn(other[0], list) })
	}
	if _, err := byHand(); err != nil {
		return nil, err
	}
	turns, stored, least := 0, 0, 0
	took, err := t.rounds(200,
		func() (time.Duration, error) {
			d, err := ours()
			turns, stored, least = turns+1, stored+len(commits), least+len(merged(commits, atMost))
			return d, err
		},
		func() (time.Duration, error) { return clock(func() error { return agent.prompt(prompt) }) },
		byHand,
	)
	if err != nil {
		return nil, err
	}
	floor := took[1].plus(took[2])
	return []figure{{
		value: micros(took[0].median()), ratio: took[0].over(floor),
		against: fmt.Sprintf("direct stdio + %s bare commits, %s + %s µs (ours %s commits)",
			few(least, turns), Digits(micros(took[1].median())), Digits(micros(took[2].median())), few(stored, turns)),
	}}, t.sameTurns(m.path, bare.path)
}

// few is a number of commits a turn, without digits that are nothing.
func few(commits, turns int) string { return fmt.Sprintf("%.3g", float64(commits)/float64(turns)) }

// merged makes at most that many transactions of a turn: the last one takes what
// is over. 0 means as many as they are.
func merged(commits []shape, atMost int) []shape {
	if atMost == 0 || len(commits) <= atMost {
		return commits
	}
	list := append([]shape(nil), commits[:atMost]...)
	last := &list[atMost-1]
	last.events = append([]string(nil), last.events...)
	for _, c := range commits[atMost:] {
		last.events = append(last.events, c.events...)
		last.accepts = last.accepts || c.accepts
		if c.result != "" {
			last.result = c.result
		}
	}
	return list
}

// sameTurns is same for turns: the runtime's own session was opened otherwise, so
// bytes are not compared.
func (t *trial) sameTurns(ours, bare string) error {
	a, err := t.holds(ours)
	if err != nil {
		return err
	}
	b, err := t.holds(bare)
	if err != nil {
		return err
	}
	if a.events != b.events || a.latest != b.latest {
		return fmt.Errorf("the runtime's database holds %v, the bare driver's %v: they did not do the same work", a, b)
	}
	if a.events == int64(0) {
		return errors.New("no turn was stored")
	}
	return nil
}
