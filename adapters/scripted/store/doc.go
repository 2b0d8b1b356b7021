// Package store keeps the scripted agent's private sessions: one directory, one
// file a session, one JSON object a line, appended and never changed.
//
// A prompt is there from its beginning, what was said to it from its end, so a
// process killed in between loses the text of the broken turn, as real agents
// do. Writes reach the kernel, not the disk: they survive a kill, not a power cut.
//
// It never deletes a session, and knows nothing of turns or of the protocol.
//
// # Concurrency
//
// A Store has no state but its directory and may be used by any goroutine, and
// by several processes at once. One session is meant for one writer at a time.
//
// # Ownership
//
// Files are opened for each call and closed in it. They are 0600 in a 0700
// directory, and a symlink in place of one is not followed.
package store
