// Package transcript shows what happens in a session to a person: live, piece by
// piece, and afterwards as a conversation to read.
//
// It shows and never decides: it starts nothing, reads nothing and knows no VM.
// What an agent, a file or a database said is untrusted text: everything that it
// prints of it has its control characters made visible, so that no agent can
// move the cursor, set the clipboard or hide what it asks permission for. What
// has to be exact is for --json.
//
// # Widths
//
// What is said is never cut and, live, never broken: a terminal does that, and
// does it again when it is resized. What is ours (a tool call, a step of a plan)
// is cut to one line. testdata/golden shows all of it; REWRITE=1 rewrites that.
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
