// Package surface puts what the scripted agent says into the words of a protocol
// version. The conversation below is the same for both; a Surface only differs
// in the shapes, in when the prompt request is answered, and in what must be
// said around a turn.
//
// It sends nothing, decides nothing about a turn, and validates nothing that it
// was not asked about. Values returned are raw JSON, their members in a fixed
// order, so that a test can compare whole lines.
//
// # Concurrency
//
// Surfaces are values without state; any goroutine may use one.
package surface
