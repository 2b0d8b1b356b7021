package jsonrpc

import (
	"fmt"
	"strings"

	"agentos/protocol/rawjson"
)

// ID is a request id as the raw token on the wire: `"1"` and `1` are different
// ids. It is a JSON string or integer.
type ID string

// maxIDBytes bounds the ids of incoming requests, which are kept for as long as
// the request is open. Real ones are counters and UUIDs.
const maxIDBytes = 1024

// valid reports whether a raw token may be the id of a request. The token may
// come from a damaged line.
func (id ID) valid() bool {
	if len(id) == 0 || len(id) > maxIDBytes || rawjson.Check([]byte(id)) != nil {
		return false
	}
	switch rawjson.Kind([]byte(id)) {
	case '"':
		return true
	case '0':
		return !strings.ContainsAny(string(id), ".eE")
	}
	return false
}

// Kind says what a Message is.
type Kind int

// The kinds of a Message.
const (
	Request      Kind = iota // has an ID and must be answered, by Reply or ReplyError
	Notification             // has no ID
)

// Message is an incoming request or notification.
type Message struct {
	Kind   Kind
	ID     ID     // "" for a notification
	Method string // decoded; any length
	Params []byte // raw value, part of Raw; nil if absent
	Raw    []byte // the line without its end, white space and unknown members included
}

// Error is the error member of an answer.
type Error struct {
	Code    int64
	Message string
	Data    []byte // raw; nil if absent
	// Raw is the member as received. When it is set, ReplyError writes it and
	// nothing else of the Error.
	Raw []byte
}

// The codes of JSON-RPC itself that the peer writes.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeInternal       = -32603
)

func (e *Error) Error() string { return fmt.Sprintf("rpc error %d: %s", e.Code, e.Message) }

// parseError reads an error member. Malformed ones are errors all the same: ok
// is false and what is missing is filled in. Of duplicates the last one counts,
// readable or not, as everywhere.
func parseError(raw []byte) (e *Error, ok bool) {
	e = &Error{Raw: raw, Code: codeInternal, Message: "error without a message"}
	if text, is := rawjson.String(raw); is {
		e.Message = text
		return e, false
	}
	var code, message []byte
	for m := range rawjson.Members(raw) {
		switch {
		case m.Is("code"):
			code = m.Value
		case m.Is("message"):
			message = m.Value
		case m.Is("data"):
			e.Data = m.Value
		}
	}
	n, hasCode := rawjson.Int(code)
	if hasCode {
		e.Code = n
	}
	text, hasMessage := rawjson.String(message)
	if hasMessage {
		e.Message = text
	}
	return e, hasCode && hasMessage
}

// Response is the end of a call: an answer, with Result or Error, or none, with
// Err.
type Response struct {
	ID     ID
	Result []byte // raw; `null` if the answer had neither result nor error
	Error  *Error
	Raw    []byte // the line without its end; nil if there was no answer
	// Err says why there is no answer: the stream ended (an *EndError), the call
	// could not be written, or its answer was damaged (a *DamagedError).
	Err error
}

// err returns what a synchronous caller should see.
func (r Response) err() error {
	if r.Err != nil {
		return r.Err
	}
	if r.Error != nil {
		return r.Error
	}
	return nil
}
