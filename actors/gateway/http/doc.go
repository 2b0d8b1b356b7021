// Package http is the front door for programs: the one vocabulary as JSON over
// HTTP. Package wire says what its paths are, package client is the other end.
//
// It has no rule of its own and knows no VM: a function finds the VM of a name, so
// that a door may lead to one VM and a daemon to many. It never decides who may
// come in; whoever made the listener has.
//
// # Streams
//
// `events` sends one line an item, exactly as --json prints it, each encoded once
// for all readers. Nothing bounds how long a stream lasts or how slowly it is read:
// the subscription behind it is bounded, so that a reader who does not keep up
// loses deltas and delays nobody (S11.3).
//
// # Who leaves
//
// A client that goes away takes nothing with it: what it asked for goes on, and its
// answer is dropped.
//
// # Shutdown
//
// After Refuse whatever would begin or change something gets shutting_down, reads
// go on, and what runs already is answered. Idle tells when nothing of it is left,
// or the VMs are closed, which ends it. Close is behind that.
//
// # Concurrency and ownership
//
// A Server may be used from any goroutine. Serve runs until its listener is closed;
// one goroutine a connection is owned and ended by Close.
package http
