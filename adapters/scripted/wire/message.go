package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The error codes of JSON-RPC and ACP that the agent uses.
const (
	CodeParse     = -32700
	CodeInvalid   = -32600 // not a request, or not one for now
	CodeNoMethod  = -32601
	CodeParams    = -32602
	CodeInternal  = -32603
	CodeNotFound  = -32002 // no such session
	CodeVersion   = -32022 // no protocol version in common
	CodeCancelled = -32800 // the request was cancelled
)

// Error is a JSON-RPC error object, given or received.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"` // nil: none
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// Object is the error as it goes on the wire.
func (e *Error) Object() string {
	if len(e.Data) == 0 {
		return fmt.Sprintf(`{"code":%d,"message":%s}`, e.Code, Quote(e.Message))
	}
	return fmt.Sprintf(`{"code":%d,"message":%s,"data":%s}`, e.Code, Quote(e.Message), e.Data)
}

// Errorf makes an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Message is one line of the client: a request, a notification or a response.
type Message struct {
	ID     json.RawMessage `json:"id"` // as spelled; nil: absent
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// IsRequest tells whether m wants an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse tells whether m is an answer.
func (m Message) IsResponse() bool { return m.Method == "" && (m.Result != nil || m.Error != nil) }

// Parse takes a line apart. The error is what the client is to be answered,
// with the message's id if it has a usable one.
func Parse(line []byte) (Message, *Error) {
	var m Message
	line = bytes.TrimLeft(line, " \t\r")
	if len(line) > 0 && line[0] == '[' && json.Valid(line) {
		return m, Errorf(CodeInvalid, "batches are not supported")
	}
	if err := json.Unmarshal(line, &m); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Message{}, Errorf(CodeParse, "parse error: %v", err)
		}
		return Message{}, Errorf(CodeInvalid, "invalid request: %s", mismatch(err))
	}
	if m.ID != nil && !validID(m.ID) && !m.IsResponse() {
		return Message{}, Errorf(CodeInvalid, "an id is a string or an integer")
	}
	if m.Method == "" && !m.IsResponse() {
		return Message{ID: m.ID}, Errorf(CodeInvalid, "neither a request nor a response")
	}
	return m, nil
}

// validID tells whether a raw id is a string or an integer.
func validID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

// Decode reads params into v. Absent params are an empty object.
func Decode(params json.RawMessage, v any) *Error {
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, v); err != nil {
		return Errorf(CodeParams, "invalid params: %s", mismatch(err))
	}
	return nil
}

// mismatch words a failed json.Unmarshal for the other side of the wire, which
// has no use for the names of our types.
func mismatch(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "":
		return "unexpected " + wrong.Value
	}
	return wrong.Field + ": unexpected " + wrong.Value
}

// Quote returns s as a JSON string. Unlike json.Marshal it leaves <, > and & as
// they are, which is how other agents write them.
func Quote(s string) string {
	if plain(s) { // nearly always, and deltas come by the thousand
		return `"` + s + `"`
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("encode a string of %d bytes: %v", len(s), err)) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain tells whether s needs no escaping.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Array joins raw values to a JSON array.
func Array(items []json.RawMessage) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteByte(']')
	return b.String()
}
