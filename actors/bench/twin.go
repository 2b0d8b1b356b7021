package bench

import (
	"errors"
	"fmt"
	"strconv"

	"agentos/protocol"
)

// The statements that a person would write for these rows, and no more: no row
// is read back, counts of changed rows stand for the compare-and-set.
const (
	bareFence   = `UPDATE agentos_actor_fence SET last_key = ? WHERE singleton = 1 AND epoch = ?`
	bareSession = `UPDATE agentos_core_sessions SET
	state = ?, state_prompt_id = ?, state_started_at_ms = ?,
	latest_sequence = ?, retained_event_count = ?, retained_event_bytes = ?, updated_at_ms = ?
WHERE session_id = ? AND latest_sequence = ?`
	bareEvent = `INSERT INTO agentos_core_event_log (
	session_key, sequence, occurred_at_ms, acp_protocol_version, event_kind, correlation_id,
	payload_json, outcome_status, terminal_reason, incomplete
) VALUES ((SELECT session_key FROM agentos_core_session_keys WHERE session_id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	barePrompt = `INSERT INTO agentos_core_prompts (
	session_id, prompt_id, input_hash, state, first_input_sequence, created_at_ms, updated_at_ms
) VALUES (?, ?, ?, 'accepted', ?, ?, ?)`
	bareTotals = `UPDATE agentos_core_totals SET prompts = prompts + 1 WHERE singleton = 1`
	bareEnd    = `UPDATE agentos_core_prompts SET
	state = 'completed', result_json = ?, last_output_sequence = ?, updated_at_ms = ?
WHERE session_id = ? AND prompt_id = ?`
	barePage = `SELECT sequence, occurred_at_ms, acp_protocol_version, event_kind, correlation_id,
	payload_json, outcome_status, terminal_reason, incomplete
FROM agentos_core_events WHERE session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
	bareContents = `SELECT count(*), coalesce(sum(payload_bytes), 0),
	(SELECT sum(latest_sequence) FROM agentos_core_sessions), (SELECT sum(retained_event_bytes) FROM agentos_core_sessions)
FROM agentos_core_events`
)

// writer runs a prepared statement.
type writer func(args ...any) (changed int64, err error)

// hit runs a statement that must change one row.
func (w writer) hit(args ...any) error {
	if n, err := w(args...); n != 1 || err != nil {
		return errors.Join(fmt.Errorf("the bare driver changed %d rows instead of 1", n), err)
	}
	return nil
}

// twin does by hand, with the bare driver, what the runtime does.
type twin struct {
	path  string
	epoch int64
	keys  int // transactions so far

	begin, fence, session, event, prompt, totals, end, commit writer
}

// startTwin makes a database with the sessions of authors and opens it with the
// bare driver. It is closed with the trial.
func (t *trial) startTwin(list []*author) (*twin, error) {
	path, epoch, err := t.create("bare", list, 0)
	if err != nil {
		return nil, err
	}
	conn, err := t.config.Bare(path)
	if err != nil {
		return nil, err
	}
	t.atEnd(conn.Close)
	b := &twin{path: path, epoch: epoch}
	for _, s := range []struct {
		text string
		at   *writer
	}{
		{"BEGIN IMMEDIATE", &b.begin}, {bareFence, &b.fence}, {bareSession, &b.session}, {bareEvent, &b.event},
		{barePrompt, &b.prompt}, {bareTotals, &b.totals}, {bareEnd, &b.end}, {"COMMIT", &b.commit},
	} {
		run, err := conn.Exec(s.text)
		if err != nil {
			return nil, err
		}
		*s.at = run
	}
	return b, nil
}

// tx runs f in a transaction behind the fence.
func (b *twin) tx(f func() error) error {
	b.keys++
	if _, err := b.begin(); err != nil {
		return err
	}
	if err := b.fence.hit(fmt.Sprintf("00000000-0000-4000-8000-%012d", b.keys), b.epoch); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err // the transaction ends with the connection
	}
	_, err := b.commit()
	return err
}

// appendEach stores one event of each author in one transaction.
func (b *twin) appendEach(list []*author) error {
	return b.tx(func() error {
		for _, a := range list {
			before := a.row.Latest
			if err := b.add(a, payload); err != nil {
				return err
			}
			if err := b.advance(a, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// add stores one event.
func (b *twin) add(a *author, payload []byte) error {
	e := a.event(payload)
	return b.event.hit(string(a.row.ID), int64(e.Sequence), int64(e.At), int64(e.ACP), string(e.Kind), nil,
		string(payload), nil, nil, int64(0))
}

// advance stores the author's row, if it is where it was.
func (b *twin) advance(a *author, before protocol.Sequence) error {
	r := &a.row
	var prompt, since any
	if r.Prompt != "" {
		prompt, since = string(r.Prompt), int64(r.StartedAt)
	}
	return b.session.hit(string(r.State), prompt, since, int64(r.Latest), r.RetainedEvents, r.RetainedBytes, int64(r.UpdatedAt), string(r.ID), int64(before))
}

// turn runs the transactions of one turn, with the same events in each.
func (b *twin) turn(a *author, commits []shape) error {
	for _, c := range commits {
		if err := b.tx(func() error { return b.part(a, c) }); err != nil {
			return err
		}
	}
	return nil
}

// part stores what one transaction of a turn does.
func (b *twin) part(a *author, c shape) error {
	before, r := a.row.Latest, &a.row
	if c.accepts {
		r.State, r.StartedAt = protocol.StateRunning, r.LastAt
		r.Prompt = protocol.PromptID("00000000-0000-7000-8000-" + strconv.Itoa(100_000_000_000+b.keys))
		at := int64(r.LastAt)
		if err := b.prompt.hit(string(r.ID), string(r.Prompt), make([]byte, 32), int64(before)+1, at, at); err != nil {
			return err
		}
		if err := b.totals.hit(); err != nil {
			return err
		}
	}
	for _, payload := range c.events {
		if err := b.add(a, []byte(payload)); err != nil {
			return err
		}
	}
	if c.result != "" {
		if err := b.end.hit(c.result, int64(r.Latest), int64(r.LastAt), string(r.ID), string(r.Prompt)); err != nil {
			return err
		}
		r.State, r.Prompt, r.StartedAt = protocol.StateIdle, "", 0
	}
	r.UpdatedAt = r.LastAt
	return b.advance(a, before)
}

// pager reads pages of history with the bare driver.
type pager struct {
	conn Bare
	rows func(visit func(row []any), args ...any) error
}

// openPager opens a database, ready to read pages.
func (t *trial) openPager(path string) (*pager, error) {
	conn, err := t.config.Bare(path)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Rows(barePage)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &pager{conn, rows}, nil
}

// page reads a page, which must have that many rows.
func (p *pager) page(id protocol.SessionID, after protocol.Sequence, size int) error {
	n := 0
	if err := p.rows(func([]any) { n++ }, string(id), int64(after), int64(size)); err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("the bare driver read %d rows instead of %d", n, size)
	}
	return nil
}

// contents are what a database holds: events, their bytes, and the sums of what
// the rows of its sessions say of them.
type contents struct{ events, bytes, latest, retained any }

// holds looks into a database, which may be open elsewhere.
func (t *trial) holds(path string) (c contents, err error) {
	conn, err := t.config.Bare(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	rows, err := conn.Rows(bareContents)
	if err != nil {
		return c, err
	}
	return c, rows(func(row []any) { c = contents{row[0], row[1], row[2], row[3]} })
}

// same returns an error unless both databases hold as much.
func (t *trial) same(ours, bare string) error {
	a, err := t.holds(ours)
	if err != nil {
		return err
	}
	b, err := t.holds(bare)
	if err == nil && a != b {
		err = fmt.Errorf("the runtime's database holds %v, the bare driver's %v: they did not do the same work", a, b)
	}
	return err
}
