package jsonrpc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"agentos/protocol/rawjson"
)

// nullID is what an error is addressed to when the request's own id is unusable.
const nullID ID = "null"

var errNotRequest = &Error{Code: codeInvalidRequest, Message: "not a request: an id is a string or an integer, a method a string"}

var errBatch = &Error{Code: codeInvalidRequest, Message: "batches are not supported: send one message a line"}

// read is the reader goroutine.
func (p *Peer) read() {
	defer close(p.done)
	for {
		ln, err := p.lines.next()
		if p.isClosed() {
			err = ErrClosed
		}
		if err != nil {
			p.sumUp()
			p.endReading(err)
			return
		}
		p.counts.linesRead.Add(1)
		p.line(ln)
	}
}

// got is called by the line reader for every n bytes.
func (p *Peer) got(n int) {
	p.counts.bytesRead.Add(int64(n))
	if p.opts.OnActivity != nil {
		p.opts.OnActivity()
	}
}

func (p *Peer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// endReading ends every open call, in the order they were made.
func (p *Peer) endReading(err error) {
	if err != io.EOF && !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("read from rpc peer: %w", err)
	}
	p.mu.Lock()
	p.readEnd = err
	open := make([]*call, 0, len(p.calls))
	for _, c := range p.calls {
		open = append(open, c)
	}
	clear(p.calls)
	p.mu.Unlock()
	slices.SortFunc(open, func(a, b *call) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	for _, c := range open {
		c.done(Response{ID: c.id, Err: &EndError{Cause: err}})
	}
}

// line takes one line through its stations: length, UTF-8, JSON, kind.
func (p *Peer) line(ln line) {
	if ln.text == nil {
		p.lost(TooLong, ln, nil)
		return
	}
	text := ln.text
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	text, replaced := rawjson.Repair(text)
	if replaced > 0 {
		p.counts.replaced.Add(int64(replaced))
		p.report(Diagnostic{Kind: Repaired, Bytes: ln.size, Detail: "invalid UTF-8 was replaced by U+FFFD"})
	}
	ln.text = text
	if int64(len(text)) > p.opts.MaxLineBytes { // by the replacements
		s := skipped{}
		s.add(text)
		p.lost(TooLong, s.line(), nil)
		return
	}
	if err := rawjson.Check(text); err != nil {
		var deep *rawjson.DepthError
		switch {
		case blank(text):
		case errors.As(err, &deep):
			p.lost(TooDeep, ln, err)
		default:
			p.lost(Junk, ln, err)
		}
		return
	}
	switch rawjson.Kind(text) {
	case '{':
		p.object(ln, scan(text))
	case '[':
		p.refuse(Batch, ln, nullID, errBatch, "a JSON array")
	default:
		p.report(Diagnostic{Kind: NotMessage, Bytes: ln.size, Detail: "JSON that is not an object"})
	}
}

func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func (p *Peer) object(ln line, e envelope) {
	switch {
	case !e.isV2():
		p.report(Diagnostic{Kind: NotMessage, Bytes: ln.size, Detail: `an object without "jsonrpc":"2.0"`})
	case e.method != nil:
		p.incoming(ln, e)
	case e.id != nil || e.result != nil || e.err != nil:
		p.answer(ln, e)
	default:
		p.report(Diagnostic{Kind: NotMessage, Bytes: ln.size, Detail: "an object without method, result, error and id"})
	}
}

// incoming delivers a request or notification, or refuses it.
func (p *Peer) incoming(ln line, e envelope) {
	id := ID(e.id)
	if e.id != nil && !id.valid() {
		p.refuse(BadRequest, ln, nullID, errNotRequest, "a request id that is no string and no integer")
		return
	}
	method, ok := rawjson.String(e.method)
	if !ok {
		if e.id == nil {
			p.report(Diagnostic{Kind: BadRequest, Bytes: ln.size, Detail: "a notification whose method is no string"})
			return
		}
		p.refuse(BadRequest, ln, id, errNotRequest, "a request whose method is no string")
		return
	}
	if method == "$/cancel_request" {
		p.cancelled(ln, id, e.params)
		return
	}
	m := Message{Kind: Notification, Method: method, Params: e.params, Raw: ln.text}
	if e.id == nil {
		p.counts.notifications.Add(1)
	} else {
		m.Kind, m.ID = Request, id
		p.counts.requests.Add(1)
	}
	p.handler(m)
}

// cancelled passes on $/cancel_request. It is a notification; a sender that
// made it a request gets an answer so that it does not wait for ever.
func (p *Peer) cancelled(ln line, id ID, params []byte) {
	raw, _ := rawjson.Get(params, "requestId")
	target := ID(raw)
	if !target.valid() {
		p.report(Diagnostic{Kind: BadRequest, Bytes: ln.size, Detail: "a cancel of no valid request id"})
	} else if p.opts.OnCancel != nil {
		p.opts.OnCancel(target)
	}
	if id != "" {
		p.reply(resultFrame(id, nil))
	}
}

// answer ends the call that an answer is for.
func (p *Peer) answer(ln line, e envelope) {
	id := ID(e.id)
	c := p.remove(id)
	if c == nil {
		p.report(Diagnostic{Kind: OrphanAnswer, Bytes: ln.size, Detail: p.orphan(e.id)})
		return
	}
	p.counts.answers.Add(1)
	r := Response{ID: c.id, Result: e.result, Raw: ln.text}
	ok, detail := true, ""
	switch {
	case e.err != nil && rawjson.Kind(e.err) != 'n':
		r.Error, ok = parseError(e.err)
		r.Result, detail = nil, "an error without a code or a message"
	case e.result == nil:
		// A library that leaves out an undefined result means success.
		r.Result, ok, detail = []byte("null"), false, "neither a result nor an error"
	}
	if !ok {
		p.report(Diagnostic{Kind: BadAnswer, Bytes: ln.size, Detail: detail, ID: c.id})
	}
	c.done(r)
}

// orphan classifies the id of an answer that no call waits for.
func (p *Peer) orphan(raw []byte) string {
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return "an answer without an id"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := rawjson.Int(raw); ok && 0 < n && n <= p.lastID {
		return "an answer to a call that has ended"
	}
	return "an answer to a call that was never made"
}

// refuse counts a line and answers it with an error.
func (p *Peer) refuse(kind DiagnosticKind, ln line, id ID, e *Error, detail string) {
	p.report(Diagnostic{Kind: kind, Bytes: ln.size, Detail: detail})
	p.reply(errorFrame(id, e))
}

// reply writes an answer of the peer's own. One that cannot be queued is
// dropped: an agent that sends rubbish and reads nothing gets no memory.
func (p *Peer) reply(f frame) {
	if err := p.send(f); err != nil {
		p.report(Diagnostic{Kind: Unsent, Bytes: f.size(), Detail: err.Error()})
	}
}

func (p *Peer) report(d Diagnostic) {
	d.Count = p.counts.diagnostics[d.Kind].Add(1)
	if p.opts.OnDiagnostic != nil && Reported(d.Count) {
		p.opts.OnDiagnostic(d)
	}
}

// sumUp reports the counts that were not passed on with their last line.
func (p *Peer) sumUp() {
	for kind := range DiagnosticKind(diagnosticKinds) {
		n := p.counts.diagnostics[kind].Load()
		if p.opts.OnDiagnostic != nil && !Reported(n) {
			p.opts.OnDiagnostic(Diagnostic{Kind: kind, Count: n, Detail: "in all"})
		}
	}
}
