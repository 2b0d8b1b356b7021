// Package main is the agentos command: flags, wiring and printing.
//
// It holds no rule about sessions: it opens a VM (package actors), asks it for
// something and shows the answer. What a person is shown of a session is package
// transcript's; what a program is shown (--json) is package protocol/public's.
//
// # Output
//
// Answers go to stdout, notes and logs to stderr. With --json stdout holds one
// JSON object a line and nothing else. Text of agents is printed with its control
// characters made visible, but for --json and for --quiet into a file or pipe,
// which are exact.
//
// # Who holds a VM
//
// Of the commands that use a VM one holds it (owner), and has a door (frontDoor): a
// private socket, named in the lock file, at which package actors/gateway/http
// answers. Every other one attaches there (access): what it asks for, a turn too,
// runs in the owner, with the owner's environment. Both ways are the same interface,
// machine, and a test runs one suite against both.
//
// An owner stays until the turns that others run in it have ended. If it dies, those
// who were attached open the VM again, whoever is first, and ask what became of what
// they had asked for.
//
// # Concurrency
//
// One goroutine prints. Beside it there are the one that hears signals, and in a
// prompt the one that waits for the turn's answer and the one that asks a person;
// whoever starts one waits for it, but after a second interrupt, when the process
// ends at once.
//
// # Ownership
//
// Every command that opens a VM closes it before it returns. `adapter guard` and
// `adapter scripted` take the process over.
package main
