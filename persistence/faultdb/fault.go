package faultdb

import (
	"fmt"
	"strconv"
	"strings"
)

// Way is a way in which a transaction or a read goes wrong. Its text is its name
// in a plan.
type Way string

// The ways.
const (
	// Refused: a constraint says no. Definite, nothing stored; smaller groups
	// without the culprit succeed.
	Refused Way = "refused"
	// NotCommitted: the disk fails before COMMIT. Nothing stored (ClassIO).
	NotCommitted Way = "not_committed"
	// CommittedUnanswered: stored, but the answer to COMMIT was lost (Unknown).
	CommittedUnanswered Way = "committed_unanswered"
	// LostUnanswered: not stored, and the answer was lost too (Unknown).
	LostUnanswered Way = "lost_unanswered"
	// Full: the disk is full before COMMIT. Nothing stored (ClassFull).
	Full Way = "full"
	// FullAtCommit: the disk is full at COMMIT, where SQLite notices it most
	// often. Nothing stored, but Unknown (ClassFull).
	FullAtCommit Way = "full_at_commit"
	// Unreadable: Unknown, stored if Applied, and the next Times openings and
	// reads fail with ClassIO.
	Unreadable Way = "unreadable"
	// Panic: Tx panics, after storing if Applied.
	Panic Way = "panic"
	// Slow: Tx blocks until Until is closed (Plan.Resume if it is nil), then runs.
	Slow Way = "slow"
	// QueryFails: the At-th read fails with ClassIO. Reads are counted on their
	// own, those of an inspection too.
	QueryFails Way = "query_fails"
)

var ways = map[Way]bool{
	Refused: true, NotCommitted: true, CommittedUnanswered: true, LostUnanswered: true, Full: true,
	FullAtCommit: true, Unreadable: true, Panic: true, Slow: true, QueryFails: true,
}

// Fault is one thing that goes wrong.
type Fault struct {
	At      int  // the number of the transaction (the read, for QueryFails), from 1
	Way     Way  // how
	Applied bool // Unreadable and Panic: the transaction is stored all the same
	Times   int  // Unreadable: how many openings and reads fail after it
	Until   <-chan struct{}
}

// String returns the fault as WAY@AT, followed by ":applied" and ":times=N" where
// they are set, as in unreadable@4:applied:times=2.
func (f Fault) String() string {
	text := fmt.Sprintf("%s@%d", f.Way, f.At)
	if f.Applied {
		text += ":applied"
	}
	if f.Times != 0 {
		text += fmt.Sprintf(":times=%d", f.Times)
	}
	return text
}

// ParseFault reads what String wrote.
func ParseFault(text string) (Fault, error) {
	head, rest, more := strings.Cut(text, ":")
	way, at, _ := strings.Cut(head, "@")
	n, err := strconv.Atoi(at)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: want WAY@NUMBER", text)
	}
	f := Fault{At: n, Way: Way(way)}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ":")
		times, isTimes := strings.CutPrefix(option, "times=")
		switch {
		case option == "applied":
			f.Applied = true
		case isTimes:
			if f.Times, err = strconv.Atoi(times); err != nil {
				return Fault{}, fmt.Errorf("fault %q: times is not a number", text)
			}
		default:
			return Fault{}, fmt.Errorf("fault %q: unknown option %q", text, option)
		}
	}
	return f, f.check()
}

func (f Fault) check() error {
	switch {
	case !ways[f.Way]:
		return fmt.Errorf("fault %s: no such way", f)
	case f.At < 1:
		return fmt.Errorf("fault %s: counting begins at 1", f)
	case f.Applied && f.Way != Unreadable && f.Way != Panic:
		return fmt.Errorf("fault %s: only %s and %s can be applied", f, Unreadable, Panic)
	case f.Times < 0 || f.Times > 0 && f.Way != Unreadable:
		return fmt.Errorf("fault %s: only %s goes on for a number of times", f, Unreadable)
	}
	return nil
}
