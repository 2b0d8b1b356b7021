package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// AppendPage appends a page of history.
func AppendPage(dst []byte, id protocol.SessionID, p actors.Page) []byte {
	dst = append(dst, `{"events":[`...)
	for i, e := range p.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = public.AppendEvent(dst, id, e)
	}
	dst = append(dst, ']')
	dst = appendValue(dst, "hasMoreBefore", p.HasMoreBefore)
	dst = appendValue(dst, "hasMoreAfter", p.HasMoreAfter)
	dst = appendValue(dst, "latestSequence", p.Latest)
	return append(appendValue(dst, "oldestRetainedSequence", p.OldestRetained), '}')
}

// ParsePage reads what AppendPage wrote.
func ParsePage(body []byte) (actors.Page, error) {
	var p actors.Page
	events, ok := rawjson.Get(body, "events")
	if !ok {
		return p, errors.New("parse page: no events")
	}
	for raw := range rawjson.Elements(events) {
		_, e, err := public.ParseEvent(raw)
		if err != nil {
			return p, fmt.Errorf("parse page: %w", err)
		}
		p.Events = append(p.Events, e)
	}
	p.HasMoreBefore, p.HasMoreAfter = is(body, "hasMoreBefore"), is(body, "hasMoreAfter")
	p.Latest = protocol.Sequence(integer(body, "latestSequence"))
	p.OldestRetained = protocol.Sequence(integer(body, "oldestRetainedSequence"))
	return p, nil
}

// AppendSessions appends a page of sessions; next is "" on the last one.
func AppendSessions(dst []byte, list []protocol.SessionInfo, next string) []byte {
	dst = append(dst, `{"sessions":[`...)
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = public.AppendSession(dst, s)
	}
	dst = append(dst, ']')
	if next == "" {
		return append(dst, `,"nextCursor":null}`...)
	}
	return append(appendValue(dst, "nextCursor", next), '}')
}

// ParseSessions reads what AppendSessions wrote.
func ParseSessions(body []byte) (list []protocol.SessionInfo, next string, err error) {
	raw, ok := rawjson.Get(body, "sessions")
	if !ok {
		return nil, "", errors.New("parse sessions: there are none")
	}
	for element := range rawjson.Elements(raw) {
		s, err := public.ParseSession(element)
		if err != nil {
			return nil, "", err
		}
		list = append(list, s)
	}
	next, _ = rawjson.GetString(body, "nextCursor")
	return list, next, nil
}

// AppendQueue appends the prompts that wait, with their content.
func AppendQueue(dst []byte, list []protocol.Queued) []byte {
	dst = append(dst, `{"queue":[`...)
	for i, q := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		place := public.AppendQueued(nil, q)
		object := place[len(`{"queued":`) : len(place)-1]
		dst = append(append(dst, object[:len(object)-1]...), `,"content":`...)
		dst = append(append(dst, q.Content...), '}')
	}
	return append(dst, "]}"...)
}

// ParseQueue reads what AppendQueue wrote.
func ParseQueue(body []byte) (list []protocol.Queued, err error) {
	raw, ok := rawjson.Get(body, "queue")
	if !ok {
		return nil, errors.New("parse queue: there is none")
	}
	for element := range rawjson.Elements(raw) {
		q, err := public.ParseQueued(element)
		if err != nil {
			return nil, err
		}
		content, _ := rawjson.Get(element, "content")
		q.Content = slices.Clone(content)
		if blocks, err := acp.Blocks(q.Content); err == nil {
			q.Hash = acp.InputHash(blocks)
		}
		list = append(list, q)
	}
	return list, nil
}

// findingBody is one finding of a check.
type findingBody struct {
	Session *protocol.SessionID `json:"sessionId"` // null: not of one session
	What    string              `json:"what"`
	Detail  string              `json:"detail"`
}

type findingsBody struct {
	Findings []findingBody `json:"findings"`
}

// AppendFindings appends what a check has found.
func AppendFindings(dst []byte, list []actors.Finding) []byte {
	b := findingsBody{Findings: []findingBody{}}
	for _, f := range list {
		one := findingBody{What: f.What, Detail: f.Detail}
		if f.Session != "" {
			one.Session = &f.Session
		}
		b.Findings = append(b.Findings, one)
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic("wire: " + err.Error()) // texts
	}
	return append(dst, text...)
}

// ParseFindings reads what AppendFindings wrote.
func ParseFindings(body []byte) (list []actors.Finding, err error) {
	var b findingsBody
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("parse findings: %w", err)
	}
	for _, f := range b.Findings {
		list = append(list, actors.Finding{Session: or(f.Session, ""), What: f.What, Detail: f.Detail})
	}
	return list, nil
}

func is(body []byte, name string) bool {
	raw, _ := rawjson.Get(body, name)
	return string(raw) == "true"
}

func integer(body []byte, name string) int64 {
	raw, _ := rawjson.Get(body, name)
	n, _ := strconv.ParseInt(string(raw), 10, 64)
	return n
}
