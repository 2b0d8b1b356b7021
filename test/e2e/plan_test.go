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
	aim       aim
	line      int           // afterLine
	part      float64       // afterTime: of the usual time
	delay     time.Duration // afterLine and whenTold: that much later
	// patient looks at what is left only when every process is gone: otherwise
	// the next runtime meets the last one's agent.
	patient bool
	// recovery, if not 0, kills the first process that would settle what was left
	// open that long after its start.
	recovery time.Duration
}

// aim is what the moment of a kill is measured from.
type aim int

const (
	afterTime aim = iota // from the start
	afterLine            // from a line of output
	whenTold             // from the moment at which the agent writes down a session or the prompt
)

func (p plan) String() string {
	var when string
	switch p.aim {
	case afterTime:
		when = fmt.Sprintf("at %.2f of the usual time", p.part)
	case afterLine:
		when = fmt.Sprintf("%v after line %d", p.delay, p.line)
	case whenTold:
		when = fmt.Sprintf("%v after the agent was told", p.delay)
	}
	return fmt.Sprintf("%q, killed %s, patient: %v, recovery killed after %v", p.text, when, p.patient, p.recovery)
}

// newPlan draws the plan of one moment of one life.
func newPlan(seed, life uint64, moment int) plan {
	rng := rand.New(rand.NewPCG(seed, life<<20|uint64(moment)))
	p := plan{tag: fmt.Sprintf("#t%d", moment), patient: rng.IntN(2) == 0}
	if rng.IntN(4) == 0 {
		p.recovery = time.Duration(rng.IntN(40_000)) * time.Microsecond
	}
	words := []string{fmt.Sprintf("moment %d %s", moment, p.tag)}
	lines, last := 4, "" // of a plain prompt, about
	for range rng.IntN(4) {
		word, n := p.directive(rng)
		words, last = append(words, word), word
		if lines += n; word == ask || word == hang {
			break // the turn ends there, or never
		}
	}
	p.text = strings.Join(words, " ")
	switch n := rng.IntN(10); {
	case n < 4 && last != hang: // there may be fewer lines than that
		p.aim, p.line = afterLine, 1+rng.IntN(lines)
	case n < 6:
		p.aim = whenTold
	default:
		p.part = rng.Float64() * 1.1
		return p
	}
	if rng.IntN(2) == 0 {
		p.delay = time.Duration(rng.IntN(8000)) * time.Microsecond
	}
	return p
}

const (
	ask  = "[[ask]]"       // nobody is there to be asked: the turn ends as permission_required
	hang = "[[hang hard]]" // and the end of its input and SIGTERM do not end it either
)

// directive draws one and returns it with the number of lines it makes, about.
func (p *plan) directive(rng *rand.Rand) (word string, lines int) {
	switch rng.IntN(16) {
	case 0, 1, 2:
		n, ms := 2+rng.IntN(12), 1+rng.IntN(30)
		p.pauses += time.Duration((n-1)*ms) * time.Millisecond
		return fmt.Sprintf("[[slow %d %d]]", n, ms), n + 1
	case 3, 4:
		return "[[tool grep]]", 3
	case 5, 6, 7:
		n := 1 + rng.IntN(40)
		return fmt.Sprintf("[[calls %d]]", n), n
	case 8, 9:
		return "[[think]]", 3
	case 10, 11:
		n := 1 + rng.IntN(60)
		return fmt.Sprintf("[[chunks %d]]", n), n + 1
	case 12, 13:
		return fmt.Sprintf("[[big %d]]", 1+rng.IntN(300_000)), 2
	case 14:
		return ask, 4
	default:
		return hang, 0
	}
}
