package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agentos/persistence"
	"agentos/protocol"
)

// PageRequest asks for a page of history. The zero value asks for the newest
// events, as many as a page has by default.
type PageRequest struct {
	After  *protocol.Sequence // only events after this one, the oldest of them first
	Before *protocol.Sequence // the newest events before this one; not with After
	Limit  int                // events at most; 0 means protocol.DefaultHistoryPage

	MaxLimit    int64 // the largest Limit there may be; 0 means the default of S12
	MaxBytes    int64 // payload bytes that end a page; 0 means protocol.HistoryPageBytes
	ResultBytes int64 // limits.sqlite.maxResultBytes; 0 means no bound
}

// Page is a part of a session's history.
type Page struct {
	Events         []protocol.Event // ascending, without a gap
	HasMoreBefore  bool             // older events are retained
	HasMoreAfter   bool             // newer events exist
	Latest         protocol.Sequence
	OldestRetained protocol.Sequence // Latest+1 if nothing is
}

// History returns one page (S11.2). A page has at least one event, whatever its
// size, if there is one in its direction.
//
// Errors: CodeSessionNotFound; CodeHistoryLimit and CodeInvalidArgument for the
// limit; CodeInvalidHistoryCursor with latestSequence for a cursor that is
// negative or above the latest event; CodeHistoryCursorExpired with
// earliestAvailableSequence when events after After were pruned. Events before
// Before that were pruned are just not there: HasMoreBefore says so.
func History(ctx context.Context, q persistence.Querier, id protocol.SessionID, req PageRequest) (Page, error) {
	limit, err := req.limit()
	if err != nil {
		return Page{}, err
	}
	rows, err := req.read(ctx, q, id, int64(limit))
	if err != nil {
		return Page{}, fmt.Errorf("read history: %w", err)
	}
	if len(rows) == 0 {
		return Page{}, notFound(id)
	}
	page, found, err := scanPage(rows)
	if err != nil {
		return Page{}, fmt.Errorf("read history: %w", damaged(id, err))
	}
	if !found {
		return Page{}, notFound(id)
	}
	if err := req.check(page); err != nil {
		return Page{}, err
	}
	if err := req.place(&page); err != nil {
		return Page{}, fmt.Errorf("read history: %w", damaged(id, err))
	}
	return page, nil
}

// read returns the rows of a page. Almost no page reaches the bound on its bytes,
// so it is read as if there were none and given up when it does: the rows that a
// bound leaves out are found by a statement that costs three times as much.
func (req PageRequest) read(ctx context.Context, q persistence.Querier, id protocol.SessionID, limit int64) ([]values, error) {
	small, large, cursor := historyBefore, largeBefore, int64(protocol.MaxSequence)+1
	switch {
	case req.After != nil:
		small, large, cursor = historyAfter, largeAfter, int64(*req.After)
	case req.Before != nil:
		cursor = int64(*req.Before)
	}
	maxBytes := req.MaxBytes
	if maxBytes <= 0 {
		maxBytes = protocol.HistoryPageBytes
	}
	bound := maxBytes
	if req.ResultBytes > 0 {
		bound = min(bound, req.ResultBytes)
	}
	rows, err := q.Query(ctx, persistence.Query{SQL: small, Args: values{string(id), string(id), cursor, limit}, MaxBytes: bound})
	if e := persistence.AsError(err); e != nil && e.Class == persistence.ClassResultLimit {
		return query(ctx, q, req.ResultBytes, large, string(id), string(id), cursor, limit, string(id), maxBytes)
	}
	if err != nil {
		return nil, persistence.Err(err)
	}
	return rows, nil
}

func notFound(id protocol.SessionID) error {
	return protocol.Errorf(protocol.CodeSessionNotFound, "no session %q; agentos sessions lists those there are", string(id))
}

// limit returns how many events to read.
func (req PageRequest) limit() (int, error) {
	most := req.MaxLimit
	if most <= 0 {
		most = protocol.DefaultLimits().HistoryPageEntries
	}
	switch {
	case req.After != nil && req.Before != nil:
		return 0, protocol.Errorf(protocol.CodeInvalidArgument, "a page of history is after or before an event, not both")
	case req.Limit < 0:
		return 0, protocol.Errorf(protocol.CodeInvalidArgument, "a page of history has at least 1 event, not %d", req.Limit)
	case int64(req.Limit) > most:
		return 0, protocol.Errorf(protocol.CodeHistoryLimit,
			"a page of history has at most %d events (limits.acp.maxHistoryPageEntries), not %d", most, req.Limit)
	case req.Limit == 0:
		return int(min(protocol.DefaultHistoryPage, most)), nil
	}
	return req.Limit, nil
}

// scanPage reads the rows of a page: the session's bounds in one without a payload,
// an event in each of the others.
func scanPage(rows []values) (p Page, found bool, err error) {
	p.Events = make([]protocol.Event, 0, len(rows)-1)
	for _, row := range rows {
		s := scan{row: row}
		if len(row) > 3 && row[3] == nil {
			p.Latest, p.OldestRetained, found = protocol.Sequence(s.int()), protocol.Sequence(s.int()), true
		} else {
			p.Events = append(p.Events, s.pageEvent())
		}
		if s.err != nil {
			return Page{}, false, s.err
		}
	}
	slices.SortFunc(p.Events, func(a, b protocol.Event) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return p, found, nil
}

// check refuses cursors that name no place in the history.
func (req PageRequest) check(p Page) error {
	cursor, most := req.After, p.Latest
	if req.Before != nil {
		cursor, most = req.Before, p.Latest+1
	}
	if cursor == nil {
		return nil
	}
	if *cursor < 0 || *cursor > most {
		return protocol.Errorf(protocol.CodeInvalidHistoryCursor,
			"the history ends at event %d, so there is no cursor %d", p.Latest, *cursor).With("latestSequence", p.Latest)
	}
	if req.After != nil && *cursor < p.OldestRetained-1 {
		return protocol.Errorf(protocol.CodeHistoryCursorExpired,
			"the events after %d were pruned; the oldest that is kept is %d", *cursor, p.OldestRetained).
			With("earliestAvailableSequence", p.OldestRetained)
	}
	return nil
}

// place says what is around the page, and that it has no gap: a page that
// misses an event would be a lie.
func (req PageRequest) place(p *Page) error {
	if len(p.Events) == 0 {
		kept := p.Latest >= p.OldestRetained
		switch {
		case req.After != nil:
			p.HasMoreBefore = kept
			return gap(*req.After, p.Latest+1)
		case req.Before != nil:
			p.HasMoreAfter = kept
			return gap(max(*req.Before, p.OldestRetained)-1, p.OldestRetained)
		}
		return gap(p.OldestRetained-1, p.Latest+1)
	}
	first, last := p.Events[0].Sequence, p.Events[len(p.Events)-1].Sequence
	p.HasMoreBefore, p.HasMoreAfter = first > p.OldestRetained, last < p.Latest
	if req.After != nil {
		if err := gap(*req.After, first); err != nil {
			return err
		}
	}
	if end := p.Latest + 1; req.After == nil {
		if req.Before != nil {
			end = *req.Before
		}
		if err := gap(last, end); err != nil {
			return err
		}
	}
	return contiguous(p.Events)
}

// gap returns an error unless next follows last.
func gap(last, next protocol.Sequence) error {
	if next != last+1 {
		return fmt.Errorf("events %d to %d are missing", last+1, next-1)
	}
	return nil
}

func contiguous(events []protocol.Event) error {
	for i := 1; i < len(events); i++ {
		if err := gap(events[i-1].Sequence, events[i].Sequence); err != nil {
			return err
		}
	}
	return nil
}

// Events returns the events from to to, both included, to build the message of
// an answer from (S6.6). What was pruned of them is missing at the front.
// maxBytes bounds the read; CodeSQLiteResultLimit above it.
func Events(ctx context.Context, q persistence.Querier, id protocol.SessionID, from, to protocol.Sequence, maxBytes int64) ([]protocol.Event, error) {
	rows, err := query(ctx, q, maxBytes, eventRange, string(id), int64(from), int64(to))
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	events := make([]protocol.Event, 0, len(rows))
	for _, row := range rows {
		s := scan{row: row}
		events = append(events, s.event())
		if s.err != nil {
			return nil, fmt.Errorf("read events: %w", damaged(id, s.err))
		}
	}
	if err := contiguous(events); err != nil {
		return nil, fmt.Errorf("read events: %w", damaged(id, err))
	}
	return slices.Clip(events), nil
}
