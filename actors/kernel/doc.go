// Package kernel is what all actors of the runtime stand on: one way to make
// them, what happens when they fail, promises that are kept whatever happens,
// and the clock, ids and log that they share.
//
// It knows no VM, session or adapter. It is the only package that gives actors
// their properties (test/arch forbids every other way), because a raw
// protoactor-go loses queued messages on Stop, restarts an actor that panics
// while it stops, and leaves a parent waiting for ever; test/actorfacts pins
// each of these.
//
// # Concurrency
//
// An Env and a Promise may be used by any goroutine. A Worker's goroutine is
// owned by the actor that started it, which stops it and waits.
package kernel
