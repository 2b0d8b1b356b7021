package jsonrpc

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("rpc peer is closed")
	// ErrBackpressure says that Options.MaxQueuedBytes wait to be written: the
	// other side does not read.
	ErrBackpressure = errors.New("rpc peer does not read: write queue is full")
	// errWriteClosed says that CloseWrite was called.
	errWriteClosed = errors.New("writing to rpc peer was ended")
)

// EndError is why a call has no answer: the stream ended first. It wraps
// ErrClosed, io.EOF or an I/O error.
type EndError struct {
	Cause error
	// Unsent says that it is writing that has failed: the call never went out,
	// and the other side may go on talking.
	Unsent bool
}

func (e *EndError) Error() string { return fmt.Sprintf("no answer: %v", e.Cause) }

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Cause }

// DamagedError is why a call has no answer: it came, in a line that had to be
// skipped.
type DamagedError struct {
	Kind  DiagnosticKind // Junk, TooLong or TooDeep
	Bytes int64          // length of the line
	Limit int64          // Options.MaxLineBytes for TooLong, else 0
	Cause error          // what is wrong with the JSON; nil for TooLong
}

func (e *DamagedError) Error() string {
	if e.Kind == TooLong {
		return fmt.Sprintf("answer of %d bytes is longer than the limit of %d bytes a line", e.Bytes, e.Limit)
	}
	return fmt.Sprintf("answer of %d bytes is damaged: %v", e.Bytes, e.Cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }
