package core

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"agentos/persistence"
	"agentos/protocol"
)

// ListRequest asks for a page of sessions. The zero value asks for the first.
type ListRequest struct {
	Cursor string // of the page before; "" for the first page
	Limit  int    // sessions at most; 0 means protocol.DefaultSessionPage

	MaxLimit    int64 // the largest Limit there may be; 0 means the default of S12
	ResultBytes int64 // limits.sqlite.maxResultBytes; 0 means no bound
}

// Sessions returns a page of sessions, newest activity first, and the cursor of
// the next page, "" if there is none (S11.1). A session that becomes active
// between two pages moves to the front and may be seen twice.
//
// Errors: CodeSessionListLimit and CodeInvalidArgument for the limit,
// CodeInvalidSessionCursor for a cursor that no page had.
func Sessions(ctx context.Context, q persistence.Querier, req ListRequest) (list []protocol.SessionInfo, next string, err error) {
	limit, err := req.limit()
	if err != nil {
		return nil, "", err
	}
	from := place{at: math.MaxInt64}
	if req.Cursor != "" {
		if from, err = parseCursor(req.Cursor); err != nil {
			return nil, "", err
		}
	}
	// One more than wanted tells whether there is a next page.
	rows, err := query(ctx, q, req.ResultBytes, listSessions, from.at, from.at, string(from.id), int64(limit)+1)
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	for _, row := range rows {
		if len(list) == limit {
			last := list[limit-1]
			return list, place{int64(last.UpdatedAt), last.ID}.String(), nil
		}
		info, err := scanInfo(row)
		if err != nil {
			return nil, "", fmt.Errorf("list sessions: %w", damaged(info.ID, err))
		}
		list = append(list, info)
	}
	return list, "", nil
}

func (req ListRequest) limit() (int, error) {
	most := req.MaxLimit
	if most <= 0 {
		most = protocol.DefaultLimits().SessionListEntries
	}
	switch {
	case req.Limit < 0:
		return 0, protocol.Errorf(protocol.CodeInvalidArgument, "a page has at least 1 session, not %d", req.Limit)
	case int64(req.Limit) > most:
		return 0, protocol.Errorf(protocol.CodeSessionListLimit,
			"a page has at most %d sessions (limits.acp.maxSessionListEntries), not %d", most, req.Limit)
	case req.Limit == 0:
		return int(min(protocol.DefaultSessionPage, most)), nil
	}
	return req.Limit, nil
}

func scanInfo(row values) (protocol.SessionInfo, error) {
	s := scan{row: row}
	var info protocol.SessionInfo
	info.ID = protocol.SessionID(s.text())
	info.Agent = s.text()
	info.Cwd = s.text()
	s.json(&info.AdditionalDirectories)
	info.State = protocol.State(s.text())
	info.Prompt = protocol.PromptID(s.textOr())
	info.Error = s.raw()
	info.LatestSequence = protocol.Sequence(s.int())
	info.OldestRetainedSequence = protocol.Sequence(s.int())
	info.RetainedEvents = s.int()
	info.RetainedBytes = s.int()
	info.Title = s.title()
	info.CreatedAt = protocol.TimeMS(s.int())
	info.UpdatedAt = protocol.TimeMS(s.int())
	if len(info.AdditionalDirectories) == 0 {
		info.AdditionalDirectories = nil
	}
	return info, s.err
}

// place is a place in the list: after the session id of that activity.
type place struct {
	at int64 // updated_at_ms
	id protocol.SessionID
}

// cursorVersion is the first byte of a cursor, so that its form can change.
const cursorVersion = 1

// String returns the cursor for p. It means nothing to its holder.
func (p place) String() string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, uint64(p.at))
	return base64.RawURLEncoding.EncodeToString(append(b, p.id...))
}

func parseCursor(cursor string) (place, error) {
	const head = 1 + 8
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= head || b[0] != cursorVersion {
		return place{}, badCursor()
	}
	p := place{at: int64(binary.BigEndian.Uint64(b[1:head])), id: protocol.SessionID(b[head:])}
	// The last is for what the decoder lets through: line ends and loose bits.
	if p.at < 0 || protocol.ValidSessionID(p.id) != nil || p.String() != cursor {
		return place{}, badCursor()
	}
	return p, nil
}

func badCursor() error {
	return protocol.Errorf(protocol.CodeInvalidSessionCursor,
		"the cursor was not made by a session list; leave it out to begin at the newest session")
}
