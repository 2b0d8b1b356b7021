package jsonrpc

import (
	"fmt"
	"sync/atomic"
)

// DiagnosticKind classifies what was wrong with a line.
type DiagnosticKind int

// The kinds of diagnostics.
const (
	// Junk is a line that is not JSON: a banner, a log line, half a message.
	Junk DiagnosticKind = iota
	// NotMessage is JSON that is no JSON-RPC 2.0 message.
	NotMessage
	// Batch is an array. No version of ACP has batches; it is refused as one.
	Batch
	// TooLong is a line of more than Options.MaxLineBytes.
	TooLong
	// TooDeep is JSON that nests deeper than protocol.MaxJSONDepth.
	TooDeep
	// BadRequest is a request with an id or method that cannot be; it is refused.
	BadRequest
	// OrphanAnswer is an answer to no open call.
	OrphanAnswer
	// BadAnswer is an answer to an open call that lacks a result or has a
	// malformed error; it ends the call all the same.
	BadAnswer
	// Repaired is a line in which invalid UTF-8 was replaced; it is delivered.
	Repaired
	// Unsent is an answer of the peer's own (to a batch or bad request) that was
	// dropped because the write queue is full or closed.
	Unsent
	// Strange is a message that the peer has delivered and its owner can make
	// nothing of: an update of a session it does not know, or of no kind. The
	// owner counts and reports it.
	Strange

	diagnosticKinds = iota
)

var diagnosticNames = [diagnosticKinds]string{
	"junk", "not_message", "batch", "too_long", "too_deep", "bad_request",
	"orphan_answer", "bad_answer", "repaired", "unsent", "strange",
}

func (k DiagnosticKind) String() string {
	if k < 0 || int(k) >= len(diagnosticNames) {
		return fmt.Sprintf("diagnostic(%d)", int(k))
	}
	return diagnosticNames[k]
}

// Diagnostic reports one line that something was wrong with. It never quotes
// the line.
type Diagnostic struct {
	Kind   DiagnosticKind
	Count  int64  // how many of this kind there were, this one included
	Bytes  int64  // length of the line
	Detail string // a short classification
	ID     ID     // id of the request or answer the line was, if that could be read
}

// Reported reports whether the n-th diagnostic of a kind is passed on: an agent
// that prints a million log lines must not fill somebody's log. The counts in
// Stats are complete, and so is the last diagnostic of each kind: the end of the
// stream brings one more if the last line brought none.
func Reported(n int64) bool { return n <= 8 || n&(n-1) == 0 }

// Stats are counters since New.
type Stats struct {
	LinesRead, BytesRead       int64 // blank lines and line ends included
	LinesWritten, BytesWritten int64
	Requests, Notifications    int64 // delivered
	Answers                    int64 // matched to a call
	Replaced                   int64 // pieces of invalid UTF-8 replaced by U+FFFD
	Diagnostics                [diagnosticKinds]int64
}

// Of returns how many diagnostics of kind k there were.
func (s Stats) Of(k DiagnosticKind) int64 { return s.Diagnostics[k] }

// Lost returns how many lines were lost that may have been answers.
func (s Stats) Lost() int64 { return s.Of(Junk) + s.Of(TooLong) + s.Of(TooDeep) }

// counters are Stats while they count; any goroutine may add and read.
type counters struct {
	linesRead, bytesRead, linesWritten, bytesWritten atomic.Int64
	requests, notifications, answers, replaced       atomic.Int64
	diagnostics                                      [diagnosticKinds]atomic.Int64
}

func (c *counters) stats() Stats {
	s := Stats{
		LinesRead: c.linesRead.Load(), BytesRead: c.bytesRead.Load(),
		LinesWritten: c.linesWritten.Load(), BytesWritten: c.bytesWritten.Load(),
		Requests: c.requests.Load(), Notifications: c.notifications.Load(),
		Answers: c.answers.Load(), Replaced: c.replaced.Load(),
	}
	for i := range c.diagnostics {
		s.Diagnostics[i] = c.diagnostics[i].Load()
	}
	return s
}
