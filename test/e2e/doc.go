// Package e2e tests the whole runtime from outside: the real binary, real files,
// real processes, and kill -9.
//
// It never looks into the runtime while that runs. What it holds against each
// other is what was printed, what the history says afterwards, what stands in
// the database file, and what the agent says it was told.
//
// # Kill at any moment
//
// TestS6_4_KilledAtAnyMoment kills the runtime 200 times (20 with -short) at
// moments drawn from a seed. Its log names the seed; a failure names the way to
// repeat its moments: AGENTOS_E2E_KILL=SEED:LIFE. AGENTOS_E2E_MOMENTS=N asks for
// another number of moments.
package e2e
