// Package transcript shows what happens in a session to a person: live, piece by
// piece, and afterwards as a conversation to read.
//
// It shows and never decides: it starts nothing, reads nothing and knows no VM.
// What an agent, a file or a database said is untrusted text: everything that it
// prints of it has its control characters made visible, so that no agent can
// move the cursor, set the clipboard or hide what it asks permission for. What
// has to be exact is for --json.
//
// # Concurrency
//
// A Live belongs to one goroutine. Everything else has no state.
//
// # Errors
//
// The writers given to it report their own errors: a person who has closed the
// other end must not end a turn. Writes here are therefore never checked.
package transcript
