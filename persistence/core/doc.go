// Package core is the owner of the session tables: it turns what the session
// machines decided into statements, and rows back into snapshots and pages.
//
// It decides nothing about sessions, publishes nothing and runs no transaction.
// A state that the rules of sessions forbid is not repaired here: the tables'
// CHECKs and the compare-and-set of each write refuse it.
//
// # Writing
//
// Compile folds a group of batches into one or two waves. The number of
// statements does not depend on the size of the group: a statement has a row
// for each event, prompt or session, and the batches of one session cost one
// update of its row, made of the first batch's Base and the last batch's Row.
// That update returns a row only if the session is where Base says, so a gap, a
// double or a second writer rolls the whole group back (S2.6, S12.2).
//
// # Reading
//
// Reads take a persistence.Querier and return *protocol.Error at every border;
// they seek in indexes and are bounded by what they return, but for Check, which
// reads everything in pages. A session that is being deleted is not there.
//
// # Concurrency
//
// The functions keep no state; those that read are called where Query may be
// called. Payloads of batches are only read. What is returned belongs to the
// caller.
package core
