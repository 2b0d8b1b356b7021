// Package public writes the runtime's public JSON: events, deltas, answers,
// session descriptions and errors, the same for the command line, HTTP and
// rpc (S5, S6.6, S11.1, S14).
//
// Raw payloads are written as they are stored, member by member; they are never
// decoded and encoded again. What is written is always one line: line feeds
// between the tokens of a payload become spaces, everything else of it stays.
//
// All functions are pure and append to dst, which the caller owns.
package public
