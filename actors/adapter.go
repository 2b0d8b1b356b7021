package actors

import "agentos/actors/route"

// What a program that embeds the runtime needs of package route to start
// adapters its own way.
type (
	// Launcher starts the adapter of a session.
	Launcher = route.Launcher
	// Adapter is a running adapter.
	Adapter = route.Adapter
	// Hooks are how an adapter reports.
	Hooks = route.Hooks
)

// Processes returns the Launcher of real adapters; see route.Processes.
func Processes(guard, base []string, maxLine int64) Launcher {
	return route.Processes(guard, base, maxLine)
}
