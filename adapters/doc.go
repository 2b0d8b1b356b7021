// Package adapters starts agents, speaks JSON-RPC with them over stdio, and
// ends them so that nothing is left.
//
// A Client is one adapter process under its guard (package guard) and the
// connection to it. What is known of particular agents is data in package
// catalog. The package knows no session and no turn, stores nothing and
// restarts nothing; it never imports actors or persistence.
//
// # Life of a Client
//
// Start returns a running adapter or an error that says what to do. Whoever
// called it owns the Client and MUST either see Exited closed or call Stop.
// After Exited there is no process, no goroutine and no descriptor of it left,
// and every line that the adapter wrote before its end was handed to OnMessage:
// Exited waits for the exit, never for the end of a stream that somebody else
// may hold open.
//
// # Concurrency
//
// All methods may be called by any goroutine. OnMessage, OnDiagnostic and the
// done functions of calls run on the connection's one reader goroutine, in the
// order of the lines; while one of them blocks nothing is read, which is the
// backpressure on the adapter. They may call Stop, but it then takes longer,
// because it waits for them.
//
// # Secrets
//
// An adapter gets the variables that Environment allows and nothing else, no
// secret stands in a command line, and what an adapter printed on stderr is
// masked before it is shown.
package adapters
