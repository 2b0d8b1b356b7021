// Package acp is views of the Agent Client Protocol, version 1, over raw bytes:
// it finds the few members that the runtime acts on and builds the few messages
// that it sends.
//
// It never encodes again what it has read: a payload is stored and relayed as
// the bytes that came (S4.1), whatever unknown members, kinds and spellings are
// in it. It never judges more than it needs: official peers skip malformed
// optional members, so do these views; an error means that the runtime cannot
// act on the message at all. Whatever cannot be read never becomes an
// allowance.
//
// All functions are pure. Arguments are JSON that rawjson.Check accepted, but
// for Blocks, which checks. Raw results are sub-slices of the argument and must
// not be modified. Of duplicate members the last one counts.
package acp
