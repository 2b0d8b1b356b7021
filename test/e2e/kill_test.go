package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentos/test/e2e/program"
)

// momentsOfALife is how often one VM is killed.
const momentsOfALife = 10

// outcome is where a kill has hit.
type outcome int

const (
	beforeTurn outcome = iota // nothing of the prompt is stored
	inTurn                    // the turn was left open
	afterTurn                 // its end was stored, the process still there
	tooLate                   // it had ended by itself
	outcomes
)

var outcomeNames = [outcomes]string{"before the turn", "in the turn", "after its end", "too late"}

// TestS6_4_KilledAtAnyMoment kills the runtime with SIGKILL, and wants nothing
// that it said to be lost, nothing to be sent twice, every turn to have one end
// (S6.4, S6.5, S6.10), the agent to come back with everything it was told (S10),
// and no process to be left.
func TestS6_4_KilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed, lives, only := killSettings(t)
	t.Logf("seed %d, %d lives; AGENTOS_E2E_KILL=%d:LIFE repeats one", seed, lives, seed)
	var mu sync.Mutex
	var hits [outcomes]int
	t.Run("lives", func(t *testing.T) {
		for n := range lives {
			if only >= 0 && n != only {
				continue
			}
			t.Run(fmt.Sprintf("AGENTOS_E2E_KILL=%d:%d", seed, n), func(t *testing.T) {
				t.Parallel()
				for _, o := range liveAndDie(t, seed, uint64(n)) {
					mu.Lock()
					hits[o]++
					mu.Unlock()
				}
			})
		}
	})
	for o, n := range hits {
		t.Logf("killed %s: %d", outcomeNames[o], n)
	}
	// Kills that all hit the same place would prove little.
	if all := lives * momentsOfALife; all >= 100 && only < 0 && (hits[beforeTurn] < all/20 || hits[inTurn] < all/10 || hits[afterTurn] < all/20) {
		t.Errorf("the kills are not spread: %v", hits)
	}
}

// killSettings reads the environment. only is the life to repeat, -1 for all.
func killSettings(t *testing.T) (seed uint64, lives, only int) {
	t.Helper()
	seed, lives, only = rand.Uint64(), 20, -1
	if testing.Short() {
		lives = 2
	}
	if text := os.Getenv("AGENTOS_E2E_MOMENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("AGENTOS_E2E_MOMENTS: %v", err)
		}
		lives = (n + momentsOfALife - 1) / momentsOfALife
	}
	if text := os.Getenv("AGENTOS_E2E_KILL"); text != "" {
		first, second, _ := strings.Cut(text, ":")
		var err, err2 error
		seed, err = strconv.ParseUint(first, 10, 64)
		only, err2 = strconv.Atoi(second)
		if err != nil || err2 != nil {
			t.Fatalf("AGENTOS_E2E_KILL=%s; want SEED:LIFE", text)
		}
		lives = max(lives, only+1)
	}
	return seed, lives, only
}

// liveAndDie is one VM's life: so many kills, and those that came too late. A
// moment that fails ends it: what comes after would only say so again.
func liveAndDie(t *testing.T, seed, n uint64) (hits []outcome) {
	binary := program.Binary()
	if n%4 == 3 { // it is so slow that all of them would take minutes
		binary = program.RacingBinary()
	}
	l := newLife(t, binary)
	if n%2 == 0 {
		l.agent = familyAgent(l.home)
	}
	for moment, kills := 0, 0; kills < momentsOfALife && moment < 3*momentsOfALife; moment++ {
		p := newPlan(seed, n, moment)
		ok := t.Run(fmt.Sprint(moment), func(t *testing.T) {
			t.Logf("%v", p)
			hit := l.die(t, p)
			if hits = append(hits, hit); hit != tooLate {
				kills++
			}
			l.next(t, fmt.Sprintf("#n%d", moment))
			l.home.AwaitNone(t)
		})
		if !ok {
			return hits
		}
	}
	l.look(t)
	return hits
}

// familyAgent is the command of a scripted agent with children, one of which has
// left its group and session: what it starts has to end with it.
func familyAgent(home *program.Home) []string {
	return []string{"--env", "AGENTOS_SCRIPTED_DIR=" + home.Agent, "--", "sh", "-c",
		`sleep 1000 & setsid sleep 1000 & exec "$0" adapter scripted`, home.Binary}
}

// die is one moment: a prompt, the kill, and a look at what is left.
func (l *life) die(t *testing.T, p plan) outcome {
	t.Helper()
	told := journalBytes(l.home.Agent)
	out, last := l.prompt(t, p.text, p.each, func(r *program.Run) func() { return l.shoot(p, r, told) })
	if out.Code > 0 && (last.Error == nil || last.Error.Code != "permission_required") {
		t.Fatalf("it was not killed, and ended with %d: %s", out.Code, out.Stderr)
	}
	if p.patient {
		l.home.AwaitNone(t)
	}
	open := l.openTurn(t)
	if p.recovery > 0 {
		r := l.home.Start(t, nil, "sessions", "--json")
		timer := time.AfterFunc(p.recovery, r.Kill)
		r.Wait(t)
		timer.Stop()
	}
	turns := l.look(t)
	var mine *turnRow
	for i, row := range turns {
		if l.history[row.first-1].text() == p.text {
			mine = &turns[i]
		}
	}
	l.compareLastWord(t, mine, last, open)
	l.home.AwaitNone(t)
	switch {
	case mine == nil:
		return beforeTurn
	case open:
		return inTurn
	case out.Code < 0:
		return afterTurn
	default:
		return tooLate
	}
}

// each kills behind the line that the plan names.
func (p plan) each(r *program.Run, n int, _ []byte) {
	if p.aim == afterLine && n == p.line {
		p.kill(r)
	}
}

// kill kills the runtime after the delay.
func (p plan) kill(r *program.Run) {
	if p.delay == 0 {
		r.Kill()
		return
	}
	time.AfterFunc(p.delay, r.Kill) // it may have ended by then
}

// shoot kills the runtime when time says so, or when the agent has written more
// than so many bytes. The function it returns waits until nothing of that goes on.
func (l *life) shoot(p plan, r *program.Run, told int64) (done func()) {
	switch p.aim {
	case afterTime:
		timer := time.AfterFunc(time.Duration(p.part*float64(l.usual+p.pauses)), r.Kill)
		return func() { timer.Stop() }
	case whenTold:
		ended, gone := make(chan struct{}), make(chan struct{})
		go func() { // ended and awaited by done
			defer close(gone)
			tick := time.NewTicker(100 * time.Microsecond)
			defer tick.Stop()
			for journalBytes(l.home.Agent) == told {
				select {
				case <-tick.C:
				case <-ended:
					return
				}
			}
			p.kill(r)
		}()
		return func() { close(ended); <-gone }
	}
	return func() {}
}

// compareLastWord holds the turn's end against what the killed process had said
// of it, if it came to that, and against whether the turn was left open.
func (l *life) compareLastWord(t *testing.T, row *turnRow, last lastWord, open bool) {
	t.Helper()
	said := last.Result != nil || last.Error != nil
	switch {
	case row == nil && (said || open):
		t.Errorf("the turn is not stored; it had said %+v, and was open: %v", last, open)
	case row == nil:
	case open && row.code != "prompt_delivery_uncertain":
		t.Errorf("the turn was left open and has become %+v", *row)
	case open && said:
		t.Errorf("the turn was left open, and had said %+v", last)
	case !open && row.code == "prompt_delivery_uncertain":
		t.Errorf("the turn was not left open and has become %+v", *row)
	case last.Result != nil && row.state != "completed", last.Error != nil && row.code != last.Error.Code:
		t.Errorf("the turn had said %+v and has become %+v", last, *row)
	}
}
