//go:build race

package program

// Raced tells whether this was built with the race detector.
const Raced = true
