package bench

import (
	"testing"
	"time"
)

// turn is one durable turn through the whole runtime, with an agent that is
// running already: from the prompt to the answer, everything in between stored.
// It is measured against the same turn of the same agent spoken to directly,
// plus the commits of the turn on the bare driver.
func turn(prompt string) func(*trial) {
	return func(t *trial) {
		m, agent, twin := t.startMachine(), t.startDirect(), authors(1)
		twinPath, epoch := t.create("bare", twin, 0)
		bare := t.openBare(twinPath, epoch)

		m.prompt(prompt) // starts the agent
		commits := m.take()
		for !commits[0].accepts { // before its session there is nothing to compare
			commits = commits[1:]
		}
		bare.turn(twin[0], commits)
		turns, stored := 0, 0
		took := t.rounds(t.either(200, 0),
			func() time.Duration {
				d := clock(func() { m.prompt(prompt) })
				commits = m.take()
				turns, stored = turns+1, stored+len(commits)
				return d
			},
			func() time.Duration { return clock(func() { agent.prompt(prompt) }) },
			func() time.Duration { return clock(func() { bare.turn(twin[0], commits) }) },
		)
		if a, b := t.holds(m.path), t.holds(twinPath); a.events != b.events || a.latest != b.latest {
			t.Fatalf("the runtime's database holds %v, the bare driver's %v", a, b)
		}
		least := took[1].plus(took[2])
		t.report(took[0].over(least), "x-direct+bare")
		t.report(1.5, "x-max")
		t.micros(took[0].median(), "ours")
		t.micros(took[1].median(), "direct")
		t.micros(took[2].median(), "bare")
		t.report(float64(stored)/float64(turns), "commits/turn")
	}
}

var turns = []struct{ name, prompt string }{
	{"one-chunk", "[[chunks 1]]"},
	{"100-chunks", "[[chunks 100]]"},
	{"20-calls", "[[calls 20]]"},
}

func BenchmarkTurn(b *testing.B) {
	for _, c := range turns {
		b.Run(c.name, func(b *testing.B) { measured(b, turn(c.prompt)) })
	}
}
