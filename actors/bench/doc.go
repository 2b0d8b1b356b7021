// Package bench measures the runtime against the least that the same work could
// cost: the bare SQLite driver writing the same rows by hand, and the same agent
// spoken to directly over its pipes. `agentos bench` shows its rows to people and
// programs, the benchmarks in test/bench run the same measures under go test.
//
// It never chooses a database handle or a driver: Config brings both, as it does
// for the whole shell. It judges nothing: that a target is missed is a row like
// any other, because a busy machine is no defect. It prints nothing.
//
// # Fairness
//
// Absolute numbers belong to one machine, ratios travel. Every measure therefore
// has all its sides in one run, a round of each in turn with the order rotating,
// so that whatever the machine does meanwhile meets all of them alike. The first
// rounds are not counted: they grow the write-ahead logs to their full size, so
// that what is counted overwrites and does not extend them. Figures are medians.
// A ratio is the median of the ratios of single rounds; only that of the single
// commit is one of medians, as its target says.
//
// The databases are real files in one directory, with the write-ahead log,
// synchronous=FULL and one flush a commit on both sides, the row of the fence
// included. At its end a measure holds that both sides have stored as much, or
// it has no figures.
//
// # Concurrency
//
// One measure runs at a time, on the caller's goroutine; the actors it starts have
// theirs. A context that ends stops a measure after the round that is under way.
//
// # Ownership
//
// Everything that a measure starts or makes (actors, processes, files) is gone
// when it returns. The directory is the caller's.
package bench
