// Package sessions is the functional core of the runtime: one deterministic
// state machine per session.
//
// A Session performs no I/O, starts no goroutine, reads no clock, makes no
// random ids and logs nothing. Its owner feeds it inputs with Step and carries
// out what Ready returns:
//
//	if err := s.Step(in); err != nil { ... }    // the client's mistake; nothing has changed
//	rd := s.Ready()
//	deliver(rd.Now)                             // may be lost in a crash
//	if rd.Batch != nil { store(*rd.Batch) }     // MUST be durable ...
//	deliver(rd.AfterCommit)                     // ... BEFORE any of these
//	arm(rd.Timer)                               // Step(Tick) when it is reached
//
// The same inputs always give the same Readys.
//
// # Durable and soft state
//
// Durable state (a protocol.Record, the accepted prompt, pending permissions)
// changes only in apply, one protocol.Change at a time, so what a live machine
// believes and what Replay rebuilds from the rows cannot disagree. Soft state
// (the route, the phase of the turn, the open run of chunks) may change in Step
// and is gone after a crash.
//
// # Order
//
// Effects of one machine are delivered in the order in which they were
// returned. The owner may have several batches under way; if one is refused,
// none behind it may be stored, and the owner starts again from Replay.
//
// # Concurrency
//
// A Session is not safe for concurrent use; its actor is its only caller.
package sessions
