// Package rawjson finds things in JSON text and writes JSON text without ever
// decoding what was not asked for, so that a payload can be stored and shown as
// the very bytes that were received (S4.1, S4.2).
//
// Check validates once, at the border. Everything else expects text that Check
// accepted and is lenient otherwise: on damaged text it stops early or reports
// false, and never panics or reads out of bounds. It never recurses, so nesting
// costs no stack.
//
// All results are sub-slices of the argument unless said otherwise: they must
// not be modified and they keep the argument's memory alive. There is no state;
// everything may be called from any goroutine.
package rawjson
