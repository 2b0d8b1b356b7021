// Package actors is the shell around the pure core: with the packages below it,
// it owns every goroutine, mailbox, timer and storage handle of the runtime, and
// no rule about sessions. This package holds the tree (node, VM, session) and the
// API; store, route and feed are what hangs from it, kernel is what all of it
// stands on.
//
//	node
//	└── vm              one per VM: starts its children, forwards requests
//	    ├── store       owns the one handle; groups commits; delivers what waits on them
//	    └── session     one sessions.Session each, beside it a feed.Feed
//	        └── route   one adapter process and connection
//
// Start returns a Node, Node.Open a VM, and a VM's methods are the whole public
// API: every request is a message to the tree and every answer comes back
// through a promise that is kept even if the actor behind it dies.
//
// # Order
//
// A session sends its batches to the store numbered within an epoch (one life
// of one machine). The store writes them in order, refuses everything behind a
// refused one, and delivers each batch's fate back with the epoch; what belongs
// to an earlier epoch is dropped. Effects that depend on a batch wait for it in
// the session's outbound queue, and so do live deltas that came after it.
//
// # Failure
//
// A session that panics is restarted with exponential backoff and replays from
// SQLite; its route goes with it. A refused batch makes its session reload in
// place, with a new epoch and the same route. A store whose database cannot be
// read takes the whole VM with it, because memory may be ahead of disk; the node
// restarts the VM, and gives up on it after a bound.
//
// # Shutdown
//
// VM.Close and Node.Close go from the leaves up: no new requests, sessions
// settle their turns and routes end with their processes, the store drains,
// checkpoints and closes. Every step has a bound.
//
// # The framework
//
// Only the actor package of protoactor-go is used, and only package kernel gives
// actors their properties. test/actorfacts pins what is relied on.
package actors
