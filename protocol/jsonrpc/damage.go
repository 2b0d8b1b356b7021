package jsonrpc

import (
	"fmt"
	"regexp"

	"agentos/protocol/rawjson"
)

// lost skips a line that cannot be read. What it was can often be seen all the
// same: then an answer fails its call, and a request is answered, so that
// neither side waits for ever.
func (p *Peer) lost(kind DiagnosticKind, ln line, cause error) {
	damage := &DamagedError{Kind: kind, Bytes: ln.size, Cause: cause}
	d := Diagnostic{Kind: kind, Bytes: ln.size}
	text := ln.text
	if kind == TooLong {
		text, _ = rawjson.Repair(ln.head)
		damage.Limit, d.Detail = p.opts.MaxLineBytes, "a line longer than the limit"
	} else {
		d.Detail = cause.Error()
	}
	e := scan(text)
	id := ID(e.id)
	if kind == TooLong && e.id == nil && e.seenAnswer {
		id = idBeforeEnd(ln.tail)
	}
	request := e.seenMethod && id.valid()
	var failed *call
	if !e.seenMethod && e.seenAnswer {
		failed = p.remove(id)
	}
	if request || failed != nil {
		d.ID = id
	}
	p.report(d)
	switch {
	case failed != nil:
		failed.done(Response{ID: failed.id, Err: damage})
	case request:
		p.reply(errorFrame(id, requestError(damage)))
	case p.opts.AnswerJunk && !e.seenAnswer:
		p.reply(errorFrame(nullID, requestError(damage)))
	}
}

var lastMember = regexp.MustCompile(`,[ \t]*"id"[ \t]*:[ \t]*([0-9]+)[ \t]*}[ \t\r]*$`)

// idBeforeEnd returns the id of an answer from the end of its line, `, "id": 7}`,
// where some libraries put it. In a well-formed line of that end the number is a
// member of the outermost object, because the last brace is the outermost one's.
func idBeforeEnd(tail []byte) ID {
	if found := lastMember.FindSubmatch(tail); found != nil {
		return ID(found[1])
	}
	return ""
}

// requestError is what the sender of a line that was skipped is told.
func requestError(d *DamagedError) *Error {
	switch d.Kind {
	case TooLong:
		return &Error{
			Code:    codeInvalidRequest,
			Message: fmt.Sprintf("message of %d bytes is too large: the limit is %d bytes", d.Bytes, d.Limit),
			Data:    append(appendInt([]byte(`{"maxBytes":`), d.Limit), '}'),
		}
	case TooDeep:
		return &Error{Code: codeInvalidRequest, Message: d.Cause.Error()}
	}
	return &Error{Code: codeParseError, Message: d.Cause.Error()}
}
