package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
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
	bareEvent = `INSERT INTO agentos_core_events (
	session_id, sequence, occurred_at_ms, acp_protocol_version, event_kind, correlation_id,
	payload_json, payload_bytes, outcome_status, terminal_reason, incomplete
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
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
)

// bareSettings are those of the runtime's writer.
const bareSettings = "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=1" +
	"&_pragma=cache_size(-512)&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(8388608)&_pragma=temp_store(MEMORY)"

// bare is the driver without anything of ours: one raw connection, statements
// prepared once, a loop.
type bare struct {
	trial *trial
	conn  driver.Conn
	epoch int64
	keys  int // transactions so far

	begin, fence, session, event, prompt, totals, end, page, commit *statement
}

// bareDriver returns the driver. That of a file which the runtime has opened has
// its switches set: fdatasync instead of fsync.
func (t *trial) bareDriver() driver.Driver {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	t.must(err)
	d := db.Driver()
	t.must(db.Close())
	return d
}

// openBare opens a database that create has made. It is closed with the trial.
func (t *trial) openBare(path string, epoch int64) *bare {
	t.Helper()
	conn, err := t.bareDriver().Open((&url.URL{Scheme: "file", Path: path, RawQuery: bareSettings}).String())
	t.must(err)
	b := &bare{trial: t, conn: conn, epoch: epoch}
	for text, at := range map[string]**statement{
		"BEGIN IMMEDIATE": &b.begin, bareFence: &b.fence, bareSession: &b.session, bareEvent: &b.event,
		barePrompt: &b.prompt, bareTotals: &b.totals, bareEnd: &b.end, barePage: &b.page, "COMMIT": &b.commit,
	} {
		stmt, err := conn.Prepare(text)
		t.must(err)
		*at = &statement{trial: t, stmt: stmt}
	}
	t.Cleanup(func() { t.must(b.close()) })
	return b
}

func (b *bare) close() error {
	var errs []error
	for _, s := range []*statement{b.begin, b.fence, b.session, b.event, b.prompt, b.totals, b.end, b.page, b.commit} {
		errs = append(errs, s.stmt.Close())
	}
	return errors.Join(append(errs, b.conn.Close())...)
}

// bareReader is a connection that reads pages.
type bareReader struct {
	conn driver.Conn
	page *statement
}

// openReader opens a database with the settings of a writer, ready to read pages.
func (t *trial) openReader(path string) *bareReader {
	conn, err := t.bareDriver().Open((&url.URL{Scheme: "file", Path: path, RawQuery: bareSettings}).String())
	t.must(err)
	stmt, err := conn.Prepare(barePage)
	t.must(err)
	return &bareReader{conn, &statement{trial: t, stmt: stmt}}
}

func (b *bareReader) close() error { return errors.Join(b.page.stmt.Close(), b.conn.Close()) }

// contents are what a database holds: events, their bytes, and the sum of what the
// sessions' rows say of them.
type contents struct{ events, bytes, latest, retained any }

// holds looks into a database that may be open elsewhere.
func (t *trial) holds(path string) contents {
	t.Helper()
	conn, err := t.bareDriver().Open((&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_busy_timeout=5000"}).String())
	t.must(err)
	stmt, err := conn.Prepare(`SELECT count(*), coalesce(sum(payload_bytes), 0),
	(SELECT sum(latest_sequence) FROM agentos_core_sessions), (SELECT sum(retained_event_bytes) FROM agentos_core_sessions)
FROM agentos_core_events`)
	t.must(err)
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), nil)
	t.must(err)
	v := make([]driver.Value, 4)
	t.must(rows.Next(v))
	t.must(errors.Join(rows.Close(), stmt.Close(), conn.Close()))
	return contents{v[0], v[1], v[2], v[3]}
}

// statement is a prepared statement with room for its arguments.
type statement struct {
	trial *trial
	stmt  driver.Stmt
	args  []driver.NamedValue
}

func (s *statement) bind(values []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, v := range values {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s.args
}

// exec runs the statement.
func (s *statement) exec(values ...driver.Value) driver.Result {
	r, err := s.stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.bind(values))
	s.trial.must(err)
	return r
}

// hit runs the statement, which must change one row.
func (s *statement) hit(values ...driver.Value) {
	if n, err := s.exec(values...).RowsAffected(); n != 1 || err != nil {
		s.trial.Fatalf("the bare driver changed %d rows instead of 1 (%v)", n, err)
	}
}

// rows runs a read and returns how many rows it has.
func (s *statement) rows(values ...driver.Value) int {
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.bind(values))
	s.trial.must(err)
	dest, n := make([]driver.Value, len(rows.Columns())), 0
	for ; ; n++ {
		if err := rows.Next(dest); err == io.EOF {
			break
		} else if err != nil {
			s.trial.Fatal(err)
		}
	}
	s.trial.must(rows.Close())
	return n
}

// tx runs f in a transaction behind the fence.
func (b *bare) tx(f func()) {
	b.keys++
	b.begin.exec()
	b.fence.hit(fmt.Sprintf("00000000-0000-4000-8000-%012d", b.keys), b.epoch)
	f()
	b.commit.exec()
}

// appendEach stores one event of each author in one transaction.
func (b *bare) appendEach(list []*author) {
	b.tx(func() {
		for _, a := range list {
			before := a.row.Latest
			b.add(a, payload)
			b.advance(a, before)
		}
	})
}

// add stores one event.
func (b *bare) add(a *author, payload []byte) {
	e := a.event(payload)
	b.event.exec(string(a.row.ID), int64(e.Sequence), int64(e.At), int64(e.ACP), string(e.Kind), nil,
		string(payload), int64(len(payload)), nil, nil, int64(0))
}

// advance stores the author's row, if it is where it was.
func (b *bare) advance(a *author, before protocol.Sequence) {
	r := &a.row
	var prompt, since driver.Value
	if r.Prompt != "" {
		prompt, since = string(r.Prompt), int64(r.StartedAt)
	}
	b.session.hit(string(r.State), prompt, since, int64(r.Latest), r.RetainedEvents, r.RetainedBytes, int64(r.UpdatedAt), string(r.ID), int64(before))
}

// turn runs the transactions of one turn: those that the runtime made of it, with
// the same events in each.
func (b *bare) turn(a *author, commits []shape) {
	for _, c := range commits {
		b.tx(func() {
			before := a.row.Latest
			if c.accepts {
				a.row.State, a.row.StartedAt = protocol.StateRunning, a.row.LastAt
				a.row.Prompt = protocol.PromptID("00000000-0000-7000-8000-" + strconv.Itoa(100_000_000_000+b.keys))
				at := int64(a.row.LastAt)
				b.prompt.exec(string(a.row.ID), string(a.row.Prompt), make([]byte, 32), int64(before)+1, at, at)
				b.totals.hit()
			}
			for _, payload := range c.events {
				b.add(a, []byte(payload))
			}
			if c.result != "" {
				b.end.hit(c.result, int64(a.row.Latest), int64(a.row.LastAt), string(a.row.ID), string(a.row.Prompt))
				a.row.State, a.row.Prompt, a.row.StartedAt = protocol.StateIdle, "", 0
			}
			a.row.UpdatedAt = a.row.LastAt
			b.advance(a, before)
		})
	}
}
