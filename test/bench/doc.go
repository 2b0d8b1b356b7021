// Package bench runs the measures of package actors/bench under go test: as
// benchmarks, and once each as a test, so that none of them rots.
//
//	go test -run '^$' -bench . ./test/bench
//	go test -run '^$' -bench 'Measures/group' -benchtime 100x ./test/bench
//
// `agentos bench` shows the same figures as a table, with what each row means.
// What a benchmark reports is the ratio (x) beside what it should be at most
// (x-max) or at least (x-min), and our own figure; where a measure has two rows,
// with the rest of the name of the row behind.
//
// The databases are in the temporary directory. One in memory makes the flush of
// a commit free and every ratio worse: set TMPDIR to a disk.
//
// Nothing here fails because a ratio is missed: a busy machine is no defect.
//
// # Ownership
//
// Everything that a measure starts ends before it returns; TestMain holds that no
// goroutine is left.
package bench
