// Package peers lets tests run against real agents, offline: agents installed
// from npm at pinned versions (agents.txt, the install script), a mock of the
// LLM services they call (mock-llm.mjs), a private home for each, and a network
// namespace that holds nothing but the loopback interface.
//
// A test says what it needs and is skipped, visibly and with the way to install
// it, where that is missing; Main says how many were. With AGENTOS_PEERS=1 in the environment a missing
// piece fails the test instead: CI sets it once the install has worked.
//
// By hand:
//
//	test/peers/install              # once; or: install claude
//	test/peers/scenarios            # all agents, one line a scenario; --help says more
//	test/peers/scenarios claude     # or claude/runtime-killed-in-stream
//	go test ./test/peers            # the scenarios and the package's own tests
//
// In a test:
//
//	func TestMain(m *testing.M) { peers.Main(m) }
//
//	func TestCodex(t *testing.T) {
//		agent := peers.Find(t, "codex")
//		launch := agent.Launch(t, peers.StartLLM(t), peers.Free)
//		// run launch.Argv with launch.Env
//	}
//
// # Scenarios
//
// TestScenarios is a matrix, agents x scenarios. In each an agent is behind the
// real agentos: it is prompted, asks for permission and is answered by a policy, a
// person at a terminal or nobody, and the runtime, the agent or the program that
// the agent only launches is killed by SIGKILL, between turns and in one. The mock
// names in every reply the #tags of the prompts in its context, which proves what
// the agent has after a restart. TestDirect has the same agents without agentos:
// what fails there is no fault of the runtime.
//
// A new agent is a line in agents.txt, a function in setups and a line in agents
// (scenario_linux_test.go). A new scenario is a function over a stage.
//
// The package never installs anything and never uses the network itself.
//
// # Ownership
//
// What is started for a test is stopped, and waited for, when that test ends.
// Each test has an LLM and a home of its own, so tests may run in parallel. Every
// turn of a scenario waits until /proc shows no process of its home any more. At
// the end of all tests Main looks through /proc for whatever is left in the
// namespace: there may be nothing, no mock either.
package peers
