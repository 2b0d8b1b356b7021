// Package bench measures the runtime against the least that the same work could
// cost: the bare SQLite driver writing the same rows by hand, and the same agent
// spoken to directly over its pipes.
//
//	make bench
//	go test -run '^$' -bench . ./test/bench
//
// # Reading the figures
//
// Absolute numbers belong to one machine, ratios travel. Every benchmark
// therefore measures all its sides in one run, a round of each in turn with
// the order rotating, so that whatever the machine does meanwhile meets all of
// them alike. It reports the ratio (x-bare, x-bare-p50, x-bare-events/s and so
// on) beside what it may be at most (x-max) or must be at least (x-min), and the
// medians it comes from. A ratio of times is better when it is small, one of
// rates when it is large.
//
// The databases are real files in the temporary directory, with the write-ahead
// log, synchronous=FULL and one fdatasync a commit on both sides. A temporary
// directory in memory makes that flush free and every ratio worse: set TMPDIR
// to a disk.
//
// # What it is not
//
// Nothing here fails because a ratio is missed: a busy machine is no defect.
// Without -bench one test runs the body of every benchmark for a single round
// and holds that both sides did the same work.
//
// # Ownership
//
// Everything that a benchmark starts, processes and actors, ends before it
// returns; TestMain holds that no goroutine is left.
package bench
