package protocol

import (
	"errors"
	"fmt"
)

// Code classifies an Error for callers and for every wire. Codes are public:
// append to them, never rename or reuse one.
type Code string

// Error is the only error that crosses a border of the runtime. Everything else
// becomes CodeInternal there, with an ErrorID that the log line of the cause
// also carries.
type Error struct {
	Code    Code
	Message string // for people: what happened and which setting or command helps; no trailing period
	// Details are small JSON values for programs, by name; nil if there are none.
	Details map[string]any
	// Cause is for the log and for errors.Is inside the process; it is not shown.
	Cause error
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is match any *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy of e with one more detail.
func (e *Error) With(name string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[name] = value
	return &c
}

// Because returns a copy of e with a cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Errorf returns an Error with the given code and message. A %w verb sets the
// cause as well.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// CodeOf returns the code that err carries, CodeInternal if it carries none,
// and "" for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// AsError returns err as an *Error. One that carries no code becomes
// CodeInternal, named by id, without its text: the text goes to the log.
func AsError(err error, id ErrorID) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return (&Error{
		Code:    CodeInternal,
		Message: fmt.Sprintf("internal error %s; the log names its cause", id),
		Cause:   err,
	}).With("errorId", string(id))
}
