// Package protocol is the vocabulary of the runtime: identifiers, the durable
// changes a session makes, the events it shows, the errors that cross a border
// and the limits in force.
//
// It holds data and validation only. It never does I/O, reads no clock and
// imports nothing but the standard library, so every other package may import
// it (test/arch holds that rule).
//
// Values are plain data. A []byte that carries JSON is raw: it is exactly what
// a peer sent, is never re-encoded, and must not be modified by whoever holds
// it. Times are milliseconds since the Unix epoch, sequences and revisions fit
// in 53 bits so that every JSON reader keeps them exact.
package protocol
