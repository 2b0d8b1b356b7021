package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// plan is one kill: what is asked, and when the runtime is killed. It follows
// from the seed alone, but for how long things usually take on this machine.
type plan struct {
	text, tag string
	pauses    time.Duration // that the agent makes on purpose
	// The kill: behind the line-th line of output and delay, or, if line is 0, at
	// that part of the usual time.
	line  int
	delay time.Duration
	part  float64
	// patient looks at what is left only when every process is gone: otherwise
	// the next runtime meets the last one's agent.
	patient bool
}

func (p plan) String() string {
	when := fmt.Sprintf("at %.2f of the usual time", p.part)
	if p.line > 0 {
		when = fmt.Sprintf("%v after line %d", p.delay, p.line)
	}
	return fmt.Sprintf("%q, killed %s, patient: %v", p.text, when, p.patient)
}

// newPlan draws the plan of one moment of one life.
func newPlan(seed, life uint64, moment int) plan {
	rng := rand.New(rand.NewPCG(seed, life<<20|uint64(moment)))
	p := plan{tag: fmt.Sprintf("#t%d", moment), patient: rng.IntN(2) == 0}
	words := []string{fmt.Sprintf("moment %d %s", moment, p.tag)}
	lines := 4 // of a plain prompt, about
	for range rng.IntN(4) {
		word, n := p.directive(rng)
		words = append(words, word)
		if lines += n; word == askWord {
			break // the turn ends there
		}
	}
	p.text = strings.Join(words, " ")
	if rng.IntN(2) == 0 {
		p.line = 1 + rng.IntN(lines)
		if rng.IntN(2) == 0 {
			p.delay = time.Duration(rng.IntN(8000)) * time.Microsecond
		}
		return p
	}
	p.part = rng.Float64() * 1.2
	return p
}

const askWord = "[[ask]]"

// directive draws one and returns it with the number of lines it makes, about.
func (p *plan) directive(rng *rand.Rand) (word string, lines int) {
	switch rng.IntN(8) {
	case 0, 1:
		n, ms := 2+rng.IntN(12), 1+rng.IntN(30)
		p.pauses += time.Duration((n-1)*ms) * time.Millisecond
		return fmt.Sprintf("[[slow %d %d]]", n, ms), n + 1
	case 2:
		return "[[tool grep]]", 3
	case 3:
		n := 1 + rng.IntN(40)
		return fmt.Sprintf("[[calls %d]]", n), n
	case 4:
		return "[[think]]", 3
	case 5:
		n := 1 + rng.IntN(60)
		return fmt.Sprintf("[[chunks %d]]", n), n + 1
	case 6:
		return fmt.Sprintf("[[big %d]]", 1+rng.IntN(300_000)), 2
	default:
		// Nobody is there to be asked: the turn ends as permission_required.
		return askWord, 4
	}
}
