// Package wire is what the HTTP front door and its client say to each other
// beyond package protocol/public: the bodies of requests, and answers that hold
// more than one public object.
//
// It never opens a connection, and never decodes and encodes raw values: content,
// MCP servers and payloads keep their bytes in both directions (S4.2). A body is
// refused with invalid_argument if it has a member that is not known: a newer
// client's wish is not granted by half.
//
// All functions are pure, append to dst and may be called from any goroutine;
// what they return belongs to the caller.
//
// # Paths
//
// Below /v1: GET "" says who answers (Hello). Below /v1/vms/{vm}:
//
//	GET    check
//	GET    sessions?cursor&limit             sessions, next cursor
//	POST   sessions                          opens one
//	GET    sessions/{id}                     SessionInfo
//	DELETE sessions/{id}
//	POST   sessions/{id}/prompt              waits for the turn's end, or queues
//	GET    sessions/{id}/prompts/{prompt}    what became of a prompt
//	GET    sessions/{id}/events?after        a stream of lines, until the client leaves
//	GET    sessions/{id}/history?after|before&limit
//	POST   sessions/{id}/permissions/{request}
//	POST   sessions/{id}/cancel, sessions/{id}/unload
//	GET    sessions/{id}/config, POST sets one thing
//	GET    sessions/{id}/queue, PUT and DELETE queue/{prompt}, POST queue/resume
//
// Every error is {"error":{...}} with the HTTP status of its code (S14). A stream
// that has begun ends with such a line instead.
package wire
