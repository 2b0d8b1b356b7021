// Package actorfacts pins what the runtime relies on in protoactor-go, the one
// version in go.mod. Each test states one fact and the rule of ours that stands
// on it. If a test fails after an upgrade, the framework changed under that
// rule: read the rule again before the test is touched.
//
// Some facts are defects (a panic in Stopped wedges the parent). They are
// pinned too, since the guard rails in actors exist because of them; when one
// is mended upstream, the rail can go.
//
// The package holds tests only. They wait for signals with a deadline and never
// for time to pass; where a fact is that something never happens, they first
// wait for the last thing that does happen.
package actorfacts
