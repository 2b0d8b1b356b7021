// Package wire is the scripted agent's end of JSON-RPC: newline-delimited
// messages over a reader and a writer. It takes lines apart with values kept
// raw and puts lines together by hand, so that what a prompt gives byte for byte
// leaves byte for byte.
//
// It knows no method and no session, and shares nothing with the runtime's own
// peer: two independent ends find each other's mistakes.
//
// # Concurrency
//
// A Conn may be used by any goroutine; each message leaves in one Write. The
// package starts no goroutine.
//
// # Ownership
//
// A Conn closes its writer only in Drop. Byte slices given out belong to the
// caller.
package wire
