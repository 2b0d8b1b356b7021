package turn_test

import (
	"testing"

	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/sessions/turn"
)

// TestTurn_S6_2_IsDispatchedAtMostOnce tries every order of what happens to a
// turn: it is sent once, after it was accepted, and phases never go back.
func TestTurn_S6_2_IsDispatchedAtMostOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := turn.Reserve("p", 7)
		sent, cancels := 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			before := u.Phase()
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if before == turn.Reserved {
					u.Accept()
				}
			case 1:
				may := u.Dispatch()
				if may != (before == turn.Accepted) {
					t.Fatalf("Dispatch in phase %d = %t", before, may)
				}
				if may {
					sent++
				}
			case 2:
				if u.Cancel(protocol.TimeMS(rapid.IntRange(1, 100).Draw(t, "deadline"))) {
					cancels++
				}
			case 3:
				u.Dispatch()
				if before == turn.Accepted {
					sent++
				}
			}
			if u.Phase() < before || sent > 1 || cancels > 1 || (sent == 1) != (u.Phase() == turn.Dispatched) {
				t.Fatalf("phase %d after %d, sent %d times, cancelled %d times", u.Phase(), before, sent, cancels)
			}
		}
	})
}

func TestTurn_AcceptTwicePanics(t *testing.T) {
	u := turn.Reserve("p", 0)
	u.Accept()
	defer func() {
		if recover() == nil {
			t.Error("a second Accept passed")
		}
	}()
	u.Accept()
}

func TestTurn_S9_2_Deadline(t *testing.T) {
	u := turn.Reserve("p", 0)
	if u.Overdue(1<<50) || u.Deadline() != 0 || u.Cancelled() {
		t.Error("a turn that nobody cancelled is overdue")
	}
	if !u.Cancel(100) || u.Cancel(500) {
		t.Error("the first cancel counts, and no other")
	}
	if u.Deadline() != 100 || u.Overdue(99) || !u.Overdue(100) || !u.Cancelled() {
		t.Errorf("deadline %d; want 100, reached at 100", u.Deadline())
	}
}

func TestTurn_S8_4_FirstVerdictStands(t *testing.T) {
	u := turn.Reserve("p", 0)
	first := protocol.Errorf(protocol.CodePermissionRequired, "first")
	if u.Verdict() != nil {
		t.Error("a new turn is condemned")
	}
	u.Condemn(first)
	u.Condemn(protocol.Errorf(protocol.CodePolicyUnsatisfied, "second"))
	if u.Verdict() != first {
		t.Errorf("Verdict = %v; want the first", u.Verdict())
	}
}

func TestTurn_S6_6_MessageStartsAnewAfterAUserEvent(t *testing.T) {
	u := turn.Reserve("p", 0)
	u.Said(protocol.Event{Sequence: 1}, "m")
	u.Heard()
	u.Said(protocol.Event{Sequence: 3}, "")
	u.Said(protocol.Event{Sequence: 4}, "m")
	if m := u.Message(); len(m) != 2 || m[0].Sequence != 3 || m[1].Sequence != 4 {
		t.Errorf("Message = %+v; want events 3 and 4", m)
	}
}

func TestTurn_S6_6_AP_02_NoticesMoreOfTheMessageBefore(t *testing.T) {
	u := turn.Reserve("p", 0)
	u.Said(protocol.Event{}, "")
	u.Before = "m1"
	u.Said(protocol.Event{}, "")
	u.Said(protocol.Event{}, "m2")
	if u.Earlier() != "" {
		t.Errorf("Earlier = %q; want none, nothing was said of m1", u.Earlier())
	}
	u.Said(protocol.Event{}, "m1")
	if u.Earlier() != "m1" {
		t.Errorf("Earlier = %q; want m1", u.Earlier())
	}
}

func TestTurn_S7_4_OutputIsSummed(t *testing.T) {
	u := turn.Reserve("p", 0)
	u.Output(3)
	if got := u.Output(4); got != 7 {
		t.Errorf("Output = %d; want 7", got)
	}
}
