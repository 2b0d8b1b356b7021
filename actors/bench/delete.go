package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"agentos/actors"
	"agentos/protocol"
)

var deleteMeasure = Measure{Name: "turn-beside-delete", run: besideDelete, Works: []Work{{
	Name: "turn-beside-delete", Unit: "µs", Target: Target{AtMost: 1.3},
	About: "A one-chunk turn while the rows of a deleted session, half a million events (a fifth of that with --quick), are being removed from the same VM. Against the same turn in a VM where nothing else happens.",
}}}

// fewestSwept is what takes long enough to be swept for a few turns beside it.
const fewestSwept = 5_000

// largeSession is how many times the long history the deleted session has.
const largeSession = 5

func besideDelete(t *trial) ([]figure, error) {
	events := t.config.events(fewestSwept)
	if t.pace.Time == 0 || t.pace.Time >= usualTime {
		events *= largeSession
	}
	large := authors(1)
	path, _, err := t.create("large", large, events)
	if err != nil {
		return nil, err
	}
	busy, err := t.startMachineOn(path)
	if err != nil {
		return nil, err
	}
	calm, err := t.startMachine()
	if err != nil {
		return nil, err
	}
	turn := func(m *machine) side {
		return func() (time.Duration, error) {
			took, err := clock(func() error { return m.prompt("[[chunks 1]]") })
			if err == nil {
				_, err = m.take()
			}
			return took, err
		}
	}
	for range 20 { // warm, before there is anything beside it
		for _, m := range []*machine{busy, calm} {
			if _, err := turn(m)(); err != nil {
				return nil, err
			}
		}
	}
	swept, err := busy.delete(large[0].row.ID)
	if err != nil {
		return nil, err
	}
	t.pace.Again = func() bool {
		select {
		case <-swept:
			return false
		default:
			return true
		}
	}
	m, err := t.rounds(0, turn(busy), turn(calm))
	if err != nil {
		return nil, err
	}
	if len(m[0]) == 0 {
		return nil, errors.New("the rows were gone before a turn was over")
	}
	return []figure{{
		value: micros(m[0].median()), ratio: m[0].over(m[1]),
		against: fmt.Sprintf("a calm VM, %s µs; nine of ten turns within %s against %s µs", Digits(micros(m[1].median())),
			Digits(micros(m[0].quantile(0.9))), Digits(micros(m[1].quantile(0.9)))),
	}}, nil
}

// delete deletes a session and returns what is closed when nothing is left of it,
// which the opening of another of the same name waits for.
func (m *machine) delete(id protocol.SessionID) (swept <-chan struct{}, err error) {
	if err := m.vm.Delete(m.trial.ctx, id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(m.trial.ctx)
	done := make(chan struct{})
	go func() { // ends with the sweep, or with the trial, which waits for it
		defer close(done)
		_ = m.vm.Open(ctx, actors.OpenSession{Session: id, Spec: protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk}})
	}()
	m.trial.atEnd(func() error { cancel(); <-done; return nil })
	return done, nil
}

// startMachine starts a runtime on a new database. It ends with the trial.
func (t *trial) startMachine() (*machine, error) {
	dir, err := t.mkdir()
	if err != nil {
		return nil, err
	}
	return t.startMachineOn(filepath.Join(dir, "vm.db"))
}
