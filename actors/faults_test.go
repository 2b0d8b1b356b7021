package actors_test

import (
	"context"
	"fmt"
	"testing"

	"agentos/actors/feed"
	"agentos/persistence/faultdb"
	"agentos/protocol"
)

// faultyTurn has every kind of write in it: updates one by one, runs, side
// kinds, and the end.
const faultyTurn = "turn #one [[chunks 3]] [[tool ls]] [[think]] [[usage]] [[calls 2]]"

func newFaultRig(t *testing.T) (*rig, *faultdb.Plan) {
	plan := faultdb.New()
	r := newRig(t, func(r *rig) { r.source = faultdb.Wrap(r.source, plan) })
	return r.start(), plan
}

// TestFaults_S2_7_S6_4 fails each transaction of a turn in each way. Whatever
// was shown is in a reopened database, whatever is there is what a reconnecting
// reader gets, nothing was sent twice, and everything works again afterwards.
func TestFaults_S2_7_S6_4(t *testing.T) {
	turn := 0 // the most transactions of some clean turns: commits are grouped as they come
	for range 5 {
		clean, plan := newFaultRig(t)
		before := plan.Transactions()
		clean.mustPrompt(faultyTurn)
		turn = max(turn, plan.Transactions()-before)
	}
	if turn < 3 { // opening, acceptance, end
		t.Fatalf("a turn has %d transactions; it cannot have fewer than 3", turn)
	}
	ways := []faultdb.Fault{
		{Way: faultdb.Refused},
		{Way: faultdb.NotCommitted},
		{Way: faultdb.CommittedUnanswered},
		{Way: faultdb.LostUnanswered},
		{Way: faultdb.Full},
		{Way: faultdb.FullAtCommit},
		{Way: faultdb.Unreadable, Applied: true, Times: 2},
		{Way: faultdb.Unreadable, Times: 2},
		{Way: faultdb.Panic, Applied: true},
		{Way: faultdb.Panic},
	}
	for _, fault := range ways {
		for n := 1; n <= turn; n++ {
			fault.At = n
			t.Run(fault.String(), func(t *testing.T) {
				// A turn whose commits were grouped may have fewer transactions than
				// the clean one had: another has its chance then.
				for range 20 {
					if faultyRun(t, fault) {
						return
					}
				}
				t.Skipf("no turn of twenty had a transaction %d: their commits were grouped", fault.At)
			})
		}
	}
}

// faultyRun runs one turn with the fault in it; false if it was over before.
func faultyRun(t *testing.T, fault faultdb.Fault) bool {
	r, plan := newFaultRig(t)
	w := r.watch("main", 0)
	plan.Arm(fault)
	_, err := r.prompt(faultyTurn)
	if len(plan.Fired()) == 0 {
		return false
	}
	if err != nil && protocol.CodeOf(err) == protocol.CodeInternal && fault.Way != faultdb.Panic {
		t.Errorf("prompt: %v; want a code that says what happened", err)
	}
	promptUntilItWorks(t, r)
	shown := w.all()
	if err := r.node.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	r.start()
	events := r.history("main")
	for _, i := range shown {
		if i.Event == nil {
			continue
		}
		if int(i.Event.Sequence) > len(events) || string(events[i.Event.Sequence-1].Payload) != string(i.Event.Payload) {
			t.Errorf("event %d was shown and is not stored: %s", i.Event.Sequence, i.Event.Payload)
		}
	}
	reader := r.watch("main", 0)
	if len(events) > 0 {
		reader.until(t, "the last event", func(i feed.Item) bool {
			return i.Event != nil && int(i.Event.Sequence) == len(events)
		})
		sameAsFeed(t, reader.all(), events)
	}
	r.agents.mu.Lock()
	for prompt, n := range r.agents.prompts {
		if n > 1 {
			t.Errorf("sent %d times: %.80s", n, prompt)
		}
	}
	r.agents.mu.Unlock()
	r.mustPrompt("and after a restart")
	r.check()
	if err := r.node.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	r.host.rested(t)
	return true
}

// promptUntilItWorks shows that the VM heals by itself. The prompts differ, so
// that each can be counted.
func promptUntilItWorks(t *testing.T, r *rig) {
	t.Helper()
	for n := range 20 {
		_, err := r.prompt(fmt.Sprint("again ", n))
		if err == nil {
			return
		}
		t.Logf("attempt %d: %v", n, err)
	}
	r.dump()
	t.Fatal("the VM does not work again")
}
