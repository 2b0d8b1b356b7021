// Package program builds the agentos binary and runs it as a person does: as a
// process of its own, with a home that nothing else uses.
//
// It never looks into the module's other packages: what it knows of a run is
// what came out of stdout and stderr, the exit code, and the processes that the
// system shows.
//
//	func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
//
//	func TestPrompt(t *testing.T) {
//		home := program.NewHome(t, program.Binary())
//		out := home.Run(t, "prompt", "--json", "hello")
//		// out.Code, out.Lines(), out.Stderr
//	}
//
// # The race detector
//
// Tests that are built with it build the binary with it a second time. A report
// of it on stderr, or a panic, fails the test, whatever else it looks at.
//
// # Ownership
//
// A process that is started for a test has ended when that test ends. A Home
// then looks for processes that were left behind, and fails the test if there
// are any: whatever agentos and its agents start inherits the home.
package program
