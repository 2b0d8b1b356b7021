package core

import (
	"context"
	"fmt"

	"agentos/persistence"
	"agentos/protocol"
)

// Finding is one thing that is wrong with what is stored.
type Finding struct {
	Session protocol.SessionID // "" for what is not of one session
	What    string             // the rule that is broken, the same text for every such finding
	Detail  string             // the numbers
}

// String returns f as a line for people.
func (f Finding) String() string {
	if f.Session == "" {
		return f.What + ": " + f.Detail
	}
	return fmt.Sprintf("session %q: %s: %s", string(f.Session), f.What, f.Detail)
}

// MaxFindings bounds what Check returns: a database that is this wrong is not
// understood better by more of the same.
const MaxFindings = 1000

// checkPage is how many sessions are checked by one read.
const checkPage = 200

// Check reads the whole of the core tables and returns what contradicts what
// (S12.3), for doctor. Nothing may write meanwhile, or there are findings that
// are not so. Sessions that are being deleted are passed over.
//
// Its memory is bounded: sessions are read in pages and their events are summed
// by the database. Its time is that of reading every event's header.
func Check(ctx context.Context, q persistence.Querier) ([]Finding, error) {
	c := checker{ctx: ctx, q: q}
	for after, more := "", true; more; {
		var err error
		if after, more, err = c.page(after); err != nil {
			return nil, fmt.Errorf("check sessions: %w", err)
		}
	}
	if err := c.leftovers(); err != nil {
		return nil, fmt.Errorf("check leftovers: %w", err)
	}
	if err := c.totals(); err != nil {
		return nil, fmt.Errorf("check totals: %w", err)
	}
	return c.findings, nil
}

type checker struct {
	ctx      context.Context
	q        persistence.Querier
	findings []Finding
}

func (c *checker) report(id protocol.SessionID, what, format string, args ...any) {
	switch n := len(c.findings); {
	case n < MaxFindings-1:
		c.findings = append(c.findings, Finding{id, what, fmt.Sprintf(format, args...)})
	case n == MaxFindings-1:
		c.findings = append(c.findings, Finding{What: "too many findings", Detail: fmt.Sprintf("only the first %d are shown", n)})
	}
}

// sums is what the rows of one session add up to.
type sums struct {
	id                      protocol.SessionID
	state                   protocol.State
	prompt                  protocol.PromptID
	latest, oldest          protocol.Sequence
	retained, bytes         int64
	events, eventBytes      int64
	first, last             protocol.Sequence
	accepted, acceptedState int64 // accepted prompts; those that the state is about
	failedState             int64 // failed prompts that the state is about
	pending, pendingState   int64 // pending records; those of the prompt that the state is about
	records, recordsState   int64
}

func scanSums(row values) (sums, error) {
	s := scan{row: row}
	n := sums{
		id: protocol.SessionID(s.text()), state: protocol.State(s.text()), prompt: protocol.PromptID(s.textOr()),
		latest: protocol.Sequence(s.int()), oldest: protocol.Sequence(s.int()), retained: s.int(), bytes: s.int(),
		events: s.int(), eventBytes: s.int(), first: protocol.Sequence(s.int()), last: protocol.Sequence(s.int()),
		accepted: s.int(), acceptedState: s.int(), failedState: s.int(),
		pending: s.int(), pendingState: s.int(), records: s.int(), recordsState: s.int(),
	}
	return n, s.err
}

// page checks the sessions after the one named and returns the last of them.
func (c *checker) page(after string) (last string, more bool, err error) {
	rows, err := query(c.ctx, c.q, 0, checkSessions, after, int64(checkPage))
	if err != nil {
		return "", false, err
	}
	for _, row := range rows {
		n, err := scanSums(row)
		if err != nil {
			return "", false, damaged(n.id, err)
		}
		c.events(&n)
		c.turn(&n)
		last = string(n.id)
	}
	return last, len(rows) == checkPage, nil
}

// events holds the history against the session's counters.
func (c *checker) events(n *sums) {
	if n.events == 0 {
		n.first, n.last = n.latest+1, n.latest
	}
	if n.first != n.oldest || n.last != n.latest {
		c.report(n.id, "the history is not what the session says", "events %d to %d are stored, the session says %d to %d",
			n.first, n.last, n.oldest, n.latest)
	}
	if width := int64(n.last - n.first + 1); width != n.events {
		c.report(n.id, "the history has a gap", "%d events from %d to %d", n.events, n.first, n.last)
	}
	if n.events != n.retained {
		c.report(n.id, "the count of events is wrong", "%d stored, the session says %d", n.events, n.retained)
	}
	if n.eventBytes != n.bytes {
		c.report(n.id, "the bytes of events are wrong", "%d stored, the session says %d", n.eventBytes, n.bytes)
	}
}

// turn holds the session's state against its prompts and permission records.
func (c *checker) turn(n *sums) {
	busy := n.state == protocol.StateRunning || n.state == protocol.StateWaiting
	switch {
	case n.accepted > 1:
		c.report(n.id, "several prompts are accepted", "%d", n.accepted)
	case busy && n.acceptedState != 1:
		c.report(n.id, "the session runs a prompt that is not accepted", "%s with %q", n.state, string(n.prompt))
	case !busy && n.accepted != 0:
		c.report(n.id, "a prompt is accepted and the session does not run it", "%s", n.state)
	case n.state == protocol.StateFailed && n.failedState != 1:
		c.report(n.id, "the session failed with a prompt that did not", "%q", string(n.prompt))
	}
	if n.pending != n.pendingState || !busy && n.pending != 0 {
		c.report(n.id, "a permission is pending without its turn", "%d", n.pending)
	}
	if waiting := n.state == protocol.StateWaiting; busy && waiting != (n.pendingState > 0) {
		c.report(n.id, "the session is waiting with nothing pending, or the reverse", "%s with %d pending", n.state, n.pendingState)
	}
	if closed := n.records - n.pending; closed != n.recordsState-n.pendingState || !busy && closed != 0 {
		c.report(n.id, "a permission record has outlived its turn", "%d closed", closed)
	}
}

// leftovers finds rows of sessions that are not there.
func (c *checker) leftovers() error {
	for _, table := range leftoverTables {
		rows, err := query(c.ctx, c.q, 0, table.sql, int64(MaxFindings))
		if err != nil {
			return err
		}
		for _, row := range rows {
			s := scan{row: row}
			id, n := protocol.SessionID(s.text()), s.int()
			if s.err != nil {
				return damaged(id, s.err)
			}
			c.report(id, "rows of a session that is not there", "%d %s", n, table.name)
		}
	}
	return nil
}

func (c *checker) totals() error {
	rows, err := query(c.ctx, c.q, 0, checkTotals)
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		c.report("", "the totals have no row", "%d rows", len(rows))
		return nil
	}
	s := scan{row: rows[0]}
	for _, name := range []string{"sessions", "prompts", "pending permissions", "permission outcomes"} {
		total, stored := s.int(), s.int()
		if s.err != nil {
			return damaged("", s.err)
		}
		if total != stored {
			c.report("", "a total is wrong", "%d %s are stored, the total says %d", stored, name, total)
		}
	}
	return nil
}
