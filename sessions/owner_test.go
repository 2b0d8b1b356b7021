package sessions_test

import (
	"fmt"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentos/protocol"
	"agentos/sessions"
)

// tester is what the owner needs of a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// slot is a batch under way with what follows from it.
type slot struct {
	batch protocol.Batch
	then  []sessions.Effect
}

// owner drives a machine as a session actor does: one order of effects, batches
// stored by the twin in their order, and after a refusal or a crash a new
// machine from what is stored.
type owner struct {
	t       tester
	limits  protocol.Limits
	machine *sessions.Session
	shadow  *sessions.Session // is fed the same and must want the same
	stored  *twin
	slow    bool // batches wait for commit
	flight  []slot
	lives   int
	last    sessions.Route // of all lives
	// seen is called with each batch handed over ("write") and each effect as it
	// is delivered: "now", or "then" if a commit came before it.
	wrote     func(protocol.Batch)
	delivered func(when string, e sessions.Effect)
	timer     protocol.TimeMS
	swept     func() // the rows of a deleted session have gone
}

func newOwner(t tester, limits protocol.Limits) *owner {
	o := &owner{t: t, limits: limits, stored: &twin{}}
	o.wrote = func(protocol.Batch) {}
	o.delivered = func(string, sessions.Effect) {}
	o.swept = func() {}
	o.begin(func(c sessions.Config) *sessions.Session { return sessions.New("s", c) })
	return o
}

// begin starts a life with two machines made alike.
func (o *owner) begin(make func(sessions.Config) *sessions.Session) {
	c := o.config()
	o.machine, o.shadow = make(c), make(c)
}

func (o *owner) config() sessions.Config {
	o.lives++
	return sessions.Config{Limits: o.limits, Name: string(rune('a' + (o.lives-1)%26)), FirstRoute: o.last}
}

// step feeds one input and carries out what follows.
func (o *owner) step(in sessions.Input) *protocol.Error {
	o.t.Helper()
	before := o.machine.Snapshot()
	err := o.machine.Step(in)
	if other := o.shadow.Step(in); !cmp.Equal(err, other) {
		o.t.Fatalf("%T: %v, and %v of a machine that was told the same", in, err, other)
	}
	if err != nil {
		if diff := different(before, o.machine.Snapshot()); diff != "" {
			o.t.Fatalf("%T was refused and changed the machine:\n%s", in, diff)
		}
	}
	o.flush()
	return err
}

func (o *owner) flush() {
	o.t.Helper()
	rd := o.machine.Ready()
	if diff := different(withoutRuns(rd), withoutRuns(o.shadow.Ready())); diff != "" {
		o.t.Fatalf("two machines that were told the same want different things:\n%s", diff)
	}
	if again := o.machine.Ready(); !again.Empty() || again.Timer != rd.Timer {
		o.t.Fatalf("Ready did not forget: %+v", again)
	}
	var deltas []sessions.Effect
	for _, e := range rd.Now {
		if _, ok := e.(sessions.PublishDelta); ok {
			deltas = append(deltas, e)
			continue
		}
		o.deliver("now", e)
	}
	if rd.Batch != nil {
		o.wrote(*rd.Batch)
		o.flight = append(o.flight, slot{*rd.Batch, rd.AfterCommit})
	} else {
		o.follow(rd.AfterCommit)
	}
	if !o.slow {
		o.commitAll()
	}
	o.follow(deltas)
	o.timer = rd.Timer
}

// follow delivers effects now, or behind everything under way.
func (o *owner) follow(effects []sessions.Effect) {
	o.t.Helper()
	if n := len(o.flight); n > 0 {
		o.flight[n-1].then = append(o.flight[n-1].then, effects...)
		return
	}
	for _, e := range effects {
		o.deliver("now", e)
	}
}

func (o *owner) deliver(when string, e sessions.Effect) {
	o.t.Helper()
	if start, ok := e.(sessions.StartRoute); ok {
		if start.Route <= o.last {
			o.t.Fatalf("route %d was started before", start.Route)
		}
		o.last = start.Route
	}
	o.delivered(when, e)
}

// commit stores the oldest batch under way.
func (o *owner) commit() {
	o.t.Helper()
	s := o.flight[0]
	o.flight = o.flight[1:]
	if err := o.stored.store(s.batch); err != nil {
		o.t.Fatalf("store batch of %d changes: %v", len(s.batch.Changes), err)
	}
	if len(o.flight) == 0 {
		if diff := different(o.stored.snapshot(), o.machine.Snapshot()); diff != "" {
			o.t.Fatalf("the machine believes what is not stored (-stored +machine):\n%s", diff)
		}
	}
	for _, e := range s.then {
		o.deliver("then", e)
	}
}

func (o *owner) commitAll() {
	o.t.Helper()
	for len(o.flight) > 0 {
		o.commit()
	}
}

// refuse drops everything under way and starts over from what is stored. A
// route that is up lives on if nothing was running and there is a session;
// otherwise the owner stops it.
func (o *owner) refuse(cause *protocol.Error, at protocol.TimeMS) {
	o.t.Helper()
	route, binding, live := o.machine.Live()
	o.reload()
	if o.machine.NeedsSettling() {
		o.settle(cause, at)
		return
	}
	if live && o.machine.Exists() {
		o.machine.Adopt(route, binding)
		o.shadow.Adopt(route, binding)
		o.flush()
	}
}

// crash is the end of the process: routes are gone with it.
func (o *owner) crash(at protocol.TimeMS) {
	o.t.Helper()
	o.reload()
	if o.machine.NeedsSettling() {
		o.settle(protocol.Errorf(protocol.CodePromptDeliveryUncertain, "the runtime ended in the turn"), at)
	}
}

func (o *owner) reload() {
	o.t.Helper()
	o.flight, o.timer = nil, 0
	if o.stored.deleted { // and swept, before anybody asks for the session again
		*o.stored = twin{}
		o.swept()
	}
	if !o.stored.exists {
		o.begin(func(c sessions.Config) *sessions.Session { return sessions.New("s", c) })
		return
	}
	snap := o.stored.snapshot()
	o.begin(func(c sessions.Config) *sessions.Session { return sessions.Replay(snap, c) })
	if diff := different(snap, o.machine.Snapshot()); diff != "" {
		o.t.Fatalf("replay is not what is stored (-stored +machine):\n%s", diff)
	}
	if rd := o.machine.Ready(); !rd.Empty() || rd.Timer != 0 {
		o.t.Fatalf("a replayed machine wants something: %+v", rd)
	}
}

func (o *owner) settle(cause *protocol.Error, at protocol.TimeMS) {
	o.t.Helper()
	if err := o.step(sessions.Settle{Cause: cause, Reason: protocol.ReasonVMShutdown, At: at}); err != nil {
		o.t.Fatalf("settle: %v", err)
	}
	if o.machine.NeedsSettling() {
		o.t.Fatalf("settled and not settled")
	}
}

// dispatch asks whether a prompt may be sent now.
func (o *owner) dispatch(id protocol.PromptID) bool {
	o.t.Helper()
	may := o.machine.Dispatch(id)
	if other := o.shadow.Dispatch(id); other != may {
		o.t.Fatalf("dispatch of %s: %t, and %t of a machine that was told the same", id, may, other)
	}
	return may
}

// different is cmp.Diff, quick where there is nothing to show.
func different(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// withoutRuns returns rd without the names of runs, which no two machines
// share.
func withoutRuns(rd sessions.Ready) sessions.Ready {
	strip := func(list []sessions.Effect) (out []sessions.Effect) {
		for _, e := range list {
			switch x := e.(type) {
			case sessions.Publish:
				x.Event.Run = ""
				e = x
			case sessions.PublishDelta:
				x.Delta.Run = ""
				e = x
			}
			out = append(out, e)
		}
		return out
	}
	rd.Now, rd.AfterCommit = strip(rd.Now), strip(rd.AfterCommit)
	return rd
}

// state returns what a batch says of the session.
func state(r protocol.Record) string {
	if r.Prompt == "" {
		return string(r.State)
	}
	return fmt.Sprintf("%s %s", r.State, r.Prompt)
}
