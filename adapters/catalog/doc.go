// Package catalog is what is known of the agents that people use: how each is
// started, what it may inherit from the environment, how it is installed, and
// where it behaves unlike the others.
//
// It is data. Whoever drives an agent reads a field; no name of an agent stands
// in a condition anywhere else. The package never starts a process and never
// opens a connection: an installed version is read from the package's own
// manifest.
//
// The table does not change while a process runs, so all functions may be
// called by any goroutine.
package catalog
