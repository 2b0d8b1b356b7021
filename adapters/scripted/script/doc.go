// Package script reads what a prompt tells the scripted agent to do: the
// [[directives]] in its text, the #tags, and the words that a plain reply repeats.
//
// It does not know which directives there are; the caller says. It carries
// nothing out, and reads no file.
//
// Lines that start with { are data: a runtime may put earlier history, as JSON
// lines, in front of a prompt, and an [[exit 1]] quoted there must not be
// carried out again. Tags count everywhere, for they prove what was seen.
//
// # Concurrency
//
// Pure functions; no goroutine, nothing shared.
package script
