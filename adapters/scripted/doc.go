// Package scripted is the built-in ACP agent: it speaks the protocol on its
// standard input and output, needs no network and no model, and does what the
// prompt tells it to, always in the same way. It is the agent that people meet
// first and the one that tests drive, so it can also misbehave on demand.
//
// A plain prompt is repeated, and the reply names the #tags seen in this
// session so far: that shows what context the agent has, after a restore for
// instance. Directives in the prompt ([[chunks 5]], [[ask]], [[exit 3]]) replace
// the plain reply; the table in directives.go has them all, and --help prints it.
//
// It never reads a file of the project it works in, never opens a connection and
// never starts a process: what touches the world goes through the client. It
// shares no code with the runtime's own JSON-RPC peer, so that a mistake in one
// is not repeated by the other.
//
// # Layout
//
// Below are wire (JSON-RPC), store (the private sessions), script (what a prompt
// says) and surface (the words of protocol versions 1 and 2). Here are the
// command (main.go, options.go), the methods (agent.go, lifecycle.go, prompt.go,
// config.go), the one conversation (session.go, turn.go) and what a turn can do
// (directives.go has the table; speech.go, tools.go, callbacks.go, faults.go do it).
//
// # Concurrency
//
// One goroutine reads lines, one handles them in order, and each turn has its
// own, which also writes the turn's answer. A session's fields are guarded by
// its mutex, a turn's belong to its goroutine.
//
// # Ownership
//
// Main ends with its input, with [[exit]] or [[half]], or with SIGTERM. It then
// stops everything and waits for it, for a bounded time: a client that no longer
// reads must not keep an agent alive.
package scripted
