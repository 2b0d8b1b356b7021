// Package store is the persistence actor of a VM: it owns the one handle on the
// VM's database and nothing else does.
//
// It never looks into what it writes: a Commit is a batch, and the fate of the
// batch goes back to whoever sent it. It runs no SQL on its own goroutine
// either: a writer and a reader goroutine do, so that it answers at once while
// a disk takes its time.
//
// # Groups
//
// While one transaction is under way everything that arrives waits; the next
// transaction takes all of it, bounded by count and bytes. There is no timer:
// an idle store commits at once, a busy one commits more at a time. Between two
// groups the writer lets those run who have just heard that they are durable, so
// that what they have next is in the second. If a group is refused for one batch's
// sake it is halved and tried again; if the disk is full or broken the whole group
// fails once.
//
// # Order
//
// Commits of a session are numbered from 1 within an epoch. One that does not
// follow, or stands behind a refused one, is refused: that is what keeps a
// history free of holes.
//
// # Three outcomes
//
// When the answer to COMMIT is missing the database is reopened and its fence
// row says whether the transaction is in it (sessions.md S2.7). If even that
// cannot be read the store panics with kernel.Meant, and the VM starts over:
// memory may be ahead of disk.
//
// # Ownership
//
// The store takes the VM's lock when it starts and gives it back when it has
// stopped, after its goroutines have ended and the database is closed.
package store
