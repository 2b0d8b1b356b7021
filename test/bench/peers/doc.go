// Command peers measures the runtime beside others that do the same work: the
// agent driven directly over its pipes, AgentOS and sandbox-agent. It is a
// program and not a benchmark because three of the four are other processes,
// installed from npm.
//
//	make bench-peers                       # installs them first (1.3 GB), then measures
//	test/bench/peers/run --rounds 30       # the same, with flags
//	go run ./test/bench/peers --only ours  # what is installed already, or nothing
//
// # What is compared
//
// One trivial agent (driver/trivial) is behind every contender. A turn is timed
// from the prompt until its answer is there, by whoever drives the contender
// through its own API, with everything running: this process for direct stdio and
// for the runtime on a SQLite file, a node script in driver for the other two.
// A new VM, history and the size of the database are compared where a contender
// has them. In the end all must have the same text and the same number of tool
// calls, or the run fails: they did the same work.
//
// The contenders are not alike, which no figure shows:
//
//   - sandbox-agent keeps events in memory only, direct stdio none at all.
//   - AgentOS runs the agent in a V8 of its own and makes a filesystem with a VM,
//     which is here without its default software. Ours is a process of node, so
//     the first answer of a new VM waits for node to start.
//   - AgentOS hands out history as objects of JavaScript, ours is written as the
//     public JSON.
//   - The database is compared by what it grows by in turns of 20 tool calls,
//     rows of prompts included.
//
// # Reading the figures
//
// Absolute numbers belong to one machine and its load, ratios travel. Every round
// has a turn of each contender, behind one that does not count, in an order that
// changes: whatever the machine does meanwhile meets all of them alike. Figures
// are medians; a ratio is one of medians. A target that is missed makes no error:
// a busy machine is no defect.
//
// Databases are in the temporary directory. One in memory makes every commit free:
// set TMPDIR to a disk.
//
// # Ownership
//
// Every contender has a home of its own below one temporary directory, which is
// removed when the run ends, however it ends; processes are in groups of their
// own that end with it. Nothing here uses a network but the loopback interface.
package main
