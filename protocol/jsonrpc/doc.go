// Package jsonrpc is a symmetric JSON-RPC 2.0 peer over newline-delimited text
// that keeps what it receives as the very bytes that were received.
//
// It reads lines, finds the members of the envelope and hands over raw params,
// results and errors; it writes envelopes around raw values. It never decodes a
// payload, starts a process, opens a connection, reads a clock or knows what a
// method means.
//
// # Robustness
//
// Agents print banners, log lines, half lines and worse on the stream they
// speak on. A line that is not a message is skipped and counted as a
// diagnostic, never more; if it can be seen that it was the answer to one of
// our calls, that call alone fails (S4.3). Only the end of the stream ends a
// Peer.
//
// # Ordering
//
// A Peer has one reader goroutine. It calls the Handler, the done functions of
// calls and the functions of Options one at a time, in the order of the lines;
// so an answer never overtakes the notifications before it. They may block, and
// then reading stops: that is the backpressure on the other side. They must not
// call Close or Request, which wait for the reader.
//
// One writer goroutine writes in the order of the calls. Call, Notify, Reply
// and the like never block: they queue, and return ErrBackpressure when
// Options.MaxQueuedBytes are waiting.
//
// # Ownership
//
// New starts the two goroutines and Close ends them and waits for them. Close
// closes the reader and the writer if they are io.Closers; otherwise the owner
// must make blocked reads and writes return, or Close waits for ever. A Message
// or Response owns its bytes: one allocation of the line's own size, shared
// with no other. Raw values given to be written must not be modified
// afterwards.
package jsonrpc
