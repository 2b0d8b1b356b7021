// Package route is one adapter connection of one session, as an actor.
//
// A route brings an adapter up (launch, initialize, restore or new), hands what
// the adapter says to its session in wire order, sends what the session wants
// sent, and takes the adapter down with every process of it. It decides nothing
// about sessions, stores nothing, and is never restarted: when it ends, by
// itself or by a panic, the session hears of it and settles the turn.
//
// # Order and backpressure
//
// The adapter's one reader goroutine puts every message into the route's
// mailbox, answers included, so an answer never overtakes the updates before
// it. Each message takes credit, which the session gives back when the message
// is durable; without credit the reader waits, the pipe fills, and the adapter
// waits too.
//
// # Settings
//
// Before the session hears that the adapter is up, the adapter session is given the
// config options and the mode that are stored of it, where it has others (S10.4).
// What is in the binding is how it is set then; every update from there on goes to
// the session.
//
// # Ownership
//
// The route's goroutine (lifeline) owns the adapter. The actor cancels it and
// waits for its end before it is gone itself, so a route that is gone has left
// no process behind.
package route
