package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence/core"
	"agentos/persistence/faultdb"
	"agentos/protocol"
	"agentos/sessions"
)

// callLimit is what a call may take at most in a stress run: a forced cancel has
// 10 s, everything else is quicker.
const callLimit = 25 * time.Second

// stress is one run: a seed, some sessions of one VM, and what was seen.
type stress struct {
	t    *testing.T
	r    *rig
	plan *faultdb.Plan
	seed uint64

	mu       sync.Mutex
	vm       *actors.VM
	seen     map[protocol.SessionID]map[protocol.Sequence]string
	prompts  map[protocol.SessionID]protocol.PromptID // last ones that were seen running
	requests map[protocol.SessionID][]protocol.RequestID
	trace    []string
	answered atomic.Int64
	serial   atomic.Int64
	watching sync.WaitGroup
}

// TestAttack_Stress runs random histories: AGENTOS_STRESS_SECONDS sets for how
// long, AGENTOS_STRESS_SEED makes one run again.
func TestAttack_Stress(t *testing.T) {
	budget := 8 * time.Second
	if s, err := strconv.Atoi(os.Getenv("AGENTOS_STRESS_SECONDS")); err == nil {
		budget = time.Duration(s) * time.Second
	}
	end := time.Now().Add(budget)
	if seed, err := strconv.ParseUint(os.Getenv("AGENTOS_STRESS_SEED"), 10, 64); err == nil {
		stressRun(t, seed)
		return
	}
	first := rand.Uint64N(1 << 40)
	runs := 0
	for seed := first; time.Now().Before(end) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { stressRun(t, seed) })
		runs++
	}
	t.Logf("%d runs from seed %d", runs, first)
}

func stressRun(t *testing.T, seed uint64) {
	plan := faultdb.New()
	r := newRig(t, func(r *rig) { r.source = faultdb.Wrap(r.source, plan) }).start()
	s := &stress{t: t, r: r, plan: plan, seed: seed, vm: r.vm,
		seen:     map[protocol.SessionID]map[protocol.Sequence]string{},
		prompts:  map[protocol.SessionID]protocol.PromptID{},
		requests: map[protocol.SessionID][]protocol.RequestID{},
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	watchers, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	ids := []protocol.SessionID{"a", "b", "c"}[:1+rng.IntN(3)]
	for i, id := range ids {
		for actor := range 3 {
			own := rand.New(rand.NewPCG(seed, uint64(10+10*i+actor)))
			wg.Go(func() {
				for range 6 {
					s.step(own, id, actor, watchers)
				}
			})
		}
	}
	own := rand.New(rand.NewPCG(seed, 2))
	wg.Go(func() {
		for range 5 {
			s.weather(own)
		}
	})
	if !within(t, 2*callLimit, "seed "+fmt.Sprint(seed), wg.Wait) {
		s.dump()
		t.FailNow()
	}
	s.finish(ids)
	stop()
	s.watching.Wait()
	if t.Failed() {
		s.dump()
	}
}

func (s *stress) dump() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.trace {
		s.t.Log(line)
	}
	if os.Getenv("AGENTOS_STRESS_LOG") != "" {
		s.r.dump()
	}
	s.t.Logf("plan: %s", s.plan)
}

func (s *stress) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (s *stress) current() *actors.VM {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vm
}

// bounded runs a call and fails the test if it is not answered in time.
func (s *stress) bounded(what string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	err := f(ctx)
	s.note("%s: %v", what, err)
	var pe *protocol.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		s.t.Errorf("seed %d: %s was not answered in %v", s.seed, what, callLimit)
	case err != nil && !errors.As(err, &pe):
		s.t.Errorf("seed %d: %s: %v; want a protocol error", s.seed, what, err)
	}
}

var scripts = []string{
	"plain", "[[chunks 3]]", "[[slow 6 3]]", "[[tool ls]] [[chunks 2]]", "[[think]] [[usage]]", "[[calls 3]]",
	"[[ask]]", "[[asks 2]]", "[[wait]]", "[[error -32603]]", "[[exit 3]]", "[[half]]", "[[drop]]", "[[noise]] [[chunks 2]]",
	"[[late 20]]", "[[big 70000]]", "[[title x]] hi", "[[stop max_tokens]]", "[[slow 30 2]] [[tool x]]",
}

func (s *stress) step(rng *rand.Rand, id protocol.SessionID, actor int, watchers context.Context) {
	vm := s.current()
	rest := time.Duration(rng.IntN(12)) * time.Millisecond
	defer pause(rest)
	if actor == 0 || rng.IntN(6) == 0 {
		script := scripts[rng.IntN(len(scripts))]
		ifAsked := sessions.WaitForAnswer
		if rng.IntN(4) == 0 {
			ifAsked = sessions.EndTurn
		}
		n := s.serial.Add(1)
		s.bounded(fmt.Sprintf("prompt %s %d %s", id, n, script), func(ctx context.Context) error {
			guard := time.AfterFunc(800*time.Millisecond, func() { // nobody may ever answer an ask or a wait
				_ = s.current().Cancel(ctx, id, "")
			})
			defer guard.Stop()
			_, err := vm.Prompt(ctx, actors.Prompt{
				Session: id, Content: text(fmt.Sprintf("%s n%d", script, n)), IfAsked: ifAsked,
				Open: &actors.OpenSession{Session: id, Spec: spec()},
			})
			s.answered.Add(1)
			return err
		})
		return
	}
	switch rng.IntN(9) {
	case 0:
		s.bounded("cancel "+string(id), func(ctx context.Context) error { return vm.Cancel(ctx, id, "") })
	case 1:
		s.bounded("stale cancel "+string(id), func(ctx context.Context) error { return vm.Cancel(ctx, id, "stale") })
	case 2:
		s.mu.Lock()
		p := s.prompts[id]
		s.mu.Unlock()
		s.bounded("cancel by id "+string(id), func(ctx context.Context) error { return vm.Cancel(ctx, id, p) })
	case 3, 4:
		s.mu.Lock()
		list := s.requests[id]
		s.requests[id] = nil
		s.mu.Unlock()
		for _, q := range list {
			option := []string{"allow", "reject", "nonsense"}[rng.IntN(3)]
			s.bounded("permit "+string(id), func(ctx context.Context) error { _, err := vm.Permit(ctx, id, q, option); return err })
		}
	case 5:
		s.bounded("unload "+string(id), func(ctx context.Context) error { return vm.Unload(ctx, id) })
	case 6:
		s.bounded("session panic "+string(id), func(ctx context.Context) error { return vm.SessionPanic(ctx, id) })
	default:
		s.bounded("watch "+string(id), func(ctx context.Context) error {
			after := protocol.Sequence(rng.IntN(4))
			sub, err := vm.Watch(ctx, id, after)
			if err == nil {
				slow := time.Duration(rng.IntN(3)) * time.Millisecond
				life := time.Duration(20+rng.IntN(300)) * time.Millisecond
				s.watching.Go(func() { s.follow(watchers, id, sub, after, slow, life) })
			}
			return err
		})
	}
}

// follow reads a subscription and remembers what it was shown.
func (s *stress) follow(ctx context.Context, id protocol.SessionID, sub *feed.Subscription, last protocol.Sequence, slow, life time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	first := true
	for {
		item, err := sub.Next(ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		switch {
		case item.Event != nil:
			e := *item.Event
			if e.Sequence != last+1 && !(first && e.Sequence > last) {
				s.t.Errorf("seed %d: %s: event %d after %d", s.seed, id, e.Sequence, last)
			}
			first, last = false, e.Sequence
			if s.seen[id] == nil {
				s.seen[id] = map[protocol.Sequence]string{}
			}
			if had, ok := s.seen[id][e.Sequence]; ok && had != string(e.Payload) {
				s.t.Errorf("seed %d: %s: event %d was shown as %s and as %s", s.seed, id, e.Sequence, had, e.Payload)
			}
			s.seen[id][e.Sequence] = string(e.Payload)
			if e.Kind == protocol.KindPermissionRequest {
				s.requests[id] = append(s.requests[id], e.Request)
			}
		case item.State != nil:
			s.prompts[id] = item.State.Prompt
		case item.Delta != nil && item.Delta.After < last:
			s.t.Errorf("seed %d: %s: delta behind %d after event %d", s.seed, id, item.Delta.After, last)
		}
		s.mu.Unlock()
		pause(slow)
	}
}

var ways = []faultdb.Fault{
	{Way: faultdb.Refused}, {Way: faultdb.NotCommitted}, {Way: faultdb.CommittedUnanswered}, {Way: faultdb.LostUnanswered},
	{Way: faultdb.Full}, {Way: faultdb.FullAtCommit}, {Way: faultdb.Unreadable, Applied: true, Times: 2},
	{Way: faultdb.Unreadable, Times: 3}, {Way: faultdb.Panic, Applied: true}, {Way: faultdb.Panic}, {Way: faultdb.Slow},
	{Way: faultdb.QueryFails},
}

// weather is what happens to all sessions at once.
func (s *stress) weather(rng *rand.Rand) {
	pause(time.Duration(5+rng.IntN(40)) * time.Millisecond)
	switch n := rng.IntN(10); {
	case n < 5:
		f := ways[rng.IntN(len(ways))]
		f.At = 1 + rng.IntN(4)
		if f.Way == faultdb.Slow {
			until := make(chan struct{})
			time.AfterFunc(time.Duration(rng.IntN(60))*time.Millisecond, func() { close(until) })
			f.Until = until
		}
		s.note("arm %s", f)
		s.plan.Arm(f)
		if n < 2 { // and a second one right behind it
			f := ways[rng.IntN(6)]
			f.At = 1 + rng.IntN(6)
			s.note("arm %s", f)
			s.plan.Arm(f)
		}
	case n < 7:
		s.note("kill all agents")
		s.r.agents.kill()
	case n == 7:
		s.bounded("vm panic", func(ctx context.Context) error { return s.current().VMPanic(ctx) })
	default:
		vm := s.current()
		s.bounded("close", vm.Close)
		for n := range 100 {
			var next *actors.VM
			s.bounded("open", func(ctx context.Context) (err error) {
				next, err = s.r.node.Open(ctx, "test", protocol.Descriptor{SQLiteFile: "/memory"})
				return err
			})
			if next != nil {
				s.mu.Lock()
				s.vm = next
				s.mu.Unlock()
				return
			}
			pause(time.Duration(n) * time.Millisecond)
		}
		s.t.Errorf("seed %d: the VM cannot be opened again", s.seed)
	}
}

// finish lets the weather clear and looks at what is left.
func (s *stress) finish(ids []protocol.SessionID) {
	for range 12 { // let what was armed fire or run out
		if len(s.plan.Pending()) == 0 {
			break
		}
		s.bounded("calm", func(ctx context.Context) error {
			vm, err := s.r.node.Open(ctx, "test", protocol.Descriptor{SQLiteFile: "/memory"})
			if err != nil {
				return err
			}
			s.vm = vm
			_, err = vm.Prompt(ctx, actors.Prompt{Session: "calm", Content: text(fmt.Sprint("calm ", s.serial.Add(1))),
				Open: &actors.OpenSession{Session: "calm", Spec: spec()}})
			return err
		})
	}
	for _, id := range ids {
		var err error
		for range 8 {
			s.bounded("last prompt "+string(id), func(ctx context.Context) error {
				vm, oerr := s.r.node.Open(ctx, "test", protocol.Descriptor{SQLiteFile: "/memory"})
				if err = oerr; oerr != nil {
					return oerr
				}
				s.vm = vm
				_, err = vm.Prompt(ctx, actors.Prompt{Session: id, Content: text(fmt.Sprintf("last %s %d", id, s.serial.Add(1))),
					Open: &actors.OpenSession{Session: id, Spec: spec()}})
				return err
			})
			if err == nil {
				break
			}
		}
		if err != nil {
			s.t.Errorf("seed %d: session %s does not work any more: %v", s.seed, id, err)
		}
	}
	s.r.vm = s.vm
	for range 8 { // what is armed for a read, or dark for some, runs out
		if _, err := s.vm.Check(s.r.ctx()); err == nil {
			break
		}
	}
	s.audit(ids)
	if err := s.vm.Close(context.Background()); err != nil {
		s.t.Errorf("seed %d: close VM: %v", s.seed, err)
	}
	if left := s.r.node.Descendants(); len(left) != 0 {
		s.t.Errorf("seed %d: actors left: %v", s.seed, left)
	}
	if running, _ := s.r.agents.counts(); running != 0 {
		s.t.Errorf("seed %d: %d agents left", s.seed, running)
	}
	if err := s.r.node.Close(context.Background()); err != nil {
		s.t.Errorf("seed %d: close node: %v", s.seed, err)
	}
	s.r.host.rested(s.t)
}

func (s *stress) audit(ids []protocol.SessionID) {
	s.r.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		var zero protocol.Sequence
		page, err := s.vm.History(s.r.ctx(), id, core.PageRequest{After: &zero, Limit: 10_000})
		if err != nil {
			s.t.Errorf("seed %d: history of %s: %v", s.seed, id, err)
			continue
		}
		for i, e := range page.Events {
			if e.Sequence != protocol.Sequence(i+1) {
				s.t.Errorf("seed %d: %s: event %d has sequence %d", s.seed, id, i, e.Sequence)
			}
			if had, ok := s.seen[id][e.Sequence]; ok && had != string(e.Payload) {
				s.t.Errorf("seed %d: %s: event %d was shown as %s and is stored as %s", s.seed, id, e.Sequence, had, e.Payload)
			}
		}
		for n := range s.seen[id] {
			if int(n) > len(page.Events) {
				s.t.Errorf("seed %d: %s: event %d was shown and is not stored", s.seed, id, n)
			}
		}
		if info := s.r.info(id); info.State != protocol.StateIdle {
			s.t.Errorf("seed %d: %s is %s after a good prompt", s.seed, id, info.State)
		}
	}
	s.r.agents.mu.Lock()
	defer s.r.agents.mu.Unlock()
	for line, n := range s.r.agents.prompts {
		if n > 1 {
			s.t.Errorf("seed %d: sent %d times: %.120s", s.seed, n, line)
		}
	}
}
