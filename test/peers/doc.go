// Package peers lets tests run against real agents, offline: agents installed
// from npm at pinned versions (agents.txt, the install script), a mock of the
// LLM services they call (mock-llm.mjs), a private home for each, and a network
// namespace that holds nothing but the loopback interface.
//
// A test says what it needs and is skipped, visibly and with the way to install
// it, where that is missing. With AGENTOS_PEERS=1 in the environment a missing
// piece fails the test instead: CI sets it once the install has worked.
//
//	func TestMain(m *testing.M) { peers.Main(m) }
//
//	func TestCodex(t *testing.T) {
//		agent := peers.Find(t, "codex")
//		launch := agent.Launch(t, peers.StartLLM(t))
//		// run launch.Argv with launch.Env
//	}
//
// The package never installs anything and never uses the network itself.
//
// # Ownership
//
// What is started for a test is stopped, and waited for, when that test ends.
// Each test has an LLM and a home of its own, so tests may run in parallel.
package peers
