// Package guard is the process between the runtime and an adapter. It exists so
// that a runtime which is killed, by whatever means, leaves no process behind,
// and so that the runtime itself never forks into a directory it serves.
//
// The runtime starts the guard in a session of its own, with the adapter's
// stdin, stdout and stderr and one end of a socket pair as descriptor Control.
// The guard changes into the working directory, starts the adapter in a process
// group of its own, and then only waits: for the adapter, for a Command, or for
// the end of the control stream, which means that the runtime is gone.
//
// It never reads or writes the adapter's streams (it lets go of them at once,
// so that it does not hold a pipe open), never restarts anything, and prints
// nothing once it has begun.
//
// # Nothing is left
//
// On Linux the guard is a subreaper: a process that left the group, its session
// and its parents still comes back to the guard, which exits only when it has
// no descendant any more. The adapter itself is killed by the kernel when the
// guard is. What outlives a killed guard is for the runtime to find, by the
// guard's session (adapters does). A process that has left group, session and
// parents before the guard is killed is beyond both. On other systems only the
// group is known.
//
// # Concurrency
//
// One goroutine, bound to the thread that started the adapter, does everything:
// it is also the only one that reaps, so a number it signals cannot have been
// handed to a stranger. A second goroutine reads the control stream; it ends
// with the process.
package guard
