package actors_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
)

var raceSeeds = flag.Int("race-seeds", 0, "how many orders TestRace_S9_1_OneEnd tries; 0 for a few")

// puppet is an agent that asks for permission as soon as it is prompted, and then
// does what it is told.
type puppet struct {
	pipeAdapter
	agent  *jsonrpc.Peer
	input  *breakable
	asked  chan struct{} // closed when the permission request is on its way
	mu     sync.Mutex
	prompt jsonrpc.ID // "" once it is answered
}

func newPuppet(h actors.Hooks) *puppet {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &puppet{asked: make(chan struct{})}
	p.exited, p.closer = make(chan struct{}), []io.Closer{inR, inW, outR, outW}
	ready := make(chan struct{})
	p.agent = jsonrpc.New(inR, outW, func(m jsonrpc.Message) { <-ready; p.take(m) }, jsonrpc.Options{})
	p.input = &breakable{WriteCloser: inW}
	p.peer = jsonrpc.New(outR, p.input, func(m jsonrpc.Message) { <-ready; h.Message(m) }, jsonrpc.Options{})
	close(ready)
	go func() { // ends with the pipes, which Stop or exit closes
		<-p.agent.Done()
		p.kill()
		_ = p.agent.Close()
		_ = p.peer.Close()
		close(p.exited)
	}()
	return p
}

// breakable is an agent's input that the agent can close and live on.
type breakable struct {
	io.WriteCloser
	broken atomic.Bool
}

func (b *breakable) Write(p []byte) (int, error) {
	if b.broken.Load() {
		return 0, io.ErrClosedPipe
	}
	return b.WriteCloser.Write(p)
}

// take answers what the runtime asks.
func (p *puppet) take(m jsonrpc.Message) {
	switch m.Method {
	case acp.MethodInitialize:
		_ = p.agent.Reply(m.ID, []byte(`{"protocolVersion":1}`))
	case acp.MethodNew:
		_ = p.agent.Reply(m.ID, []byte(`{"sessionId":"puppet"}`))
	case acp.MethodPrompt:
		p.mu.Lock()
		p.prompt = m.ID
		p.mu.Unlock()
		_, _ = p.agent.Call(acp.MethodRequestPermission, []byte(`{"sessionId":"puppet","toolCall":{"toolCallId":"t"},"options":[`+
			`{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`), func(jsonrpc.Response) {})
		close(p.asked)
	case acp.MethodCancel:
		p.answer(`{"stopReason":"cancelled"}`)
	}
}

// answer ends the prompt, once.
func (p *puppet) answer(result string) {
	p.mu.Lock()
	id := p.prompt
	p.prompt = ""
	p.mu.Unlock()
	if id != "" {
		_ = p.agent.Reply(id, []byte(result))
	}
}

// race is one turn with everything that can end it at once.
type race struct {
	*rig
	seed   uint64
	puppet chan *puppet
}

// Cancel, answer of a person, the agent's answer, its exit, unload and delete
// against each other in any order: the turn has one end, the same in SQLite, in the
// events and at every caller, and its permission has one outcome (S8.3, S9.1).
func TestRace_S9_1_OneEnd(t *testing.T) {
	n := *raceSeeds
	if n == 0 {
		n = 300
	}
	puppets := make(chan *puppet, 1)
	r := newRig(t)
	r.config.Adapters = func(_ context.Context, _ protocol.Record, h actors.Hooks) (actors.Adapter, error) {
		p := newPuppet(h)
		puppets <- p
		return p, nil
	}
	r.start()
	for seed := range n {
		(&race{rig: r, seed: uint64(seed), puppet: puppets}).run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	r.host.rested(t)
	r.check()
}

func (r *race) run() {
	random := rand.New(rand.NewPCG(r.seed, 1))
	id := protocol.SessionID(fmt.Sprintf("s%d", r.seed))
	w := r.watch(id, 0)
	deletes := random.IntN(4) == 0
	callers := 1 // or two, of which one joins by the key; behind a deletion it would open the session anew
	if !deletes {
		callers += random.IntN(2)
	}
	ends := make(chan string, callers)
	prompt := actors.Prompt{Session: id, Content: text("go"), Key: "k", Open: &actors.OpenSession{Session: id, Spec: spec()}}
	for range callers {
		go func() { // answered by the session, always
			a, err := r.vm.Prompt(r.ctx(), prompt)
			ends <- endOf(a, err)
		}()
	}
	p := <-r.puppet
	<-p.asked
	request := w.until(r.tb, "request", func(i feed.Item) bool {
		return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest
	}).Event.Request
	r.fight(random, deletes, id, request, p)
	first := <-ends
	for range callers - 1 {
		if other := <-ends; other != first {
			r.tb.Errorf("two callers of one turn: %s, and %s", first, other)
		}
	}
	if err := r.vm.Unload(r.ctx(), id); err != nil {
		r.tb.Errorf("unload: %v", err)
	}
	w.stop()
	if !deletes {
		r.one(prompt, first)
	}
}

// fight lets a random choice of ends loose at once.
func (r *race) fight(random *rand.Rand, deletes bool, id protocol.SessionID, request protocol.RequestID, p *puppet) {
	accepted := make(chan protocol.PermissionAnswer, 2)
	permit := func(option string) func() {
		return func() {
			if a, err := r.vm.Permit(r.ctx(), id, request, option); err == nil {
				accepted <- a
			}
		}
	}
	moves := []func(){
		func() { _ = r.vm.Cancel(r.ctx(), id, "") },
		permit("yes"), permit("no"),
		func() { p.answer(`{"stopReason":"end_turn"}`) },
		p.kill,
		func() { _ = r.vm.Unload(r.ctx(), id) },
	}
	if deletes {
		moves = append(moves, func() { _ = r.vm.Delete(r.ctx(), id) })
	}
	random.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
	moves = moves[:2+random.IntN(len(moves)-1)]
	var wg sync.WaitGroup
	for _, move := range moves {
		yields := random.IntN(30)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range yields {
				runtime.Gosched()
			}
			move()
		}()
	}
	wg.Wait()
	p.answer(`{"stopReason":"end_turn"}`) // if nothing has ended it
	close(accepted)
	won := 0
	for a := range accepted {
		if a.Status == protocol.OutcomeAccepted {
			won++
		}
	}
	if won > 1 {
		r.tb.Errorf("%d answers to one question were accepted", won)
	}
}

// endOf is an end of a turn in a word.
func endOf(a *protocol.Answer, err error) string {
	if err != nil {
		return string(protocol.CodeOf(err))
	}
	return "completed " + a.StopReason
}

// one holds the one end: what is stored is what the callers were told, and the
// events tell of one question with one outcome.
func (r *race) one(prompt actors.Prompt, told string) {
	a, err := r.vm.Prompt(r.ctx(), prompt) // recalled: the key was used
	if again := endOf(a, err); again != told {
		r.tb.Errorf("stored %s, told %s", again, told)
	}
	if info := r.info(prompt.Session); (info.State == protocol.StateFailed) != (err != nil) || info.Prompt == "" != (err == nil) {
		r.tb.Errorf("session is %s of %s; the turn was told %s", info.State, info.Prompt, told)
	}
	asked, answered := 0, 0
	for _, e := range r.history(prompt.Session) {
		switch e.Kind {
		case protocol.KindPermissionRequest:
			asked++
		case protocol.KindPermissionResponse:
			answered++
		}
	}
	if asked != 1 || answered != 1 {
		r.tb.Errorf("asked %d times, answered %d times", asked, answered)
	}
}
