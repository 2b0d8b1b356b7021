// Package restore decides how a session gets its adapter session back (S10). It
// is pure: a table of observed answers on one side, the next step on the other.
package restore

import (
	"agentos/protocol"
	"agentos/protocol/acp"
)

// Step is one way to have an adapter session.
type Step int

// The steps, in the order in which they are tried.
const (
	Resume Step = iota
	Load
	New
)

// Method returns the ACP method of a step.
func (s Step) Method() string {
	switch s {
	case Resume:
		return acp.MethodResume
	case Load:
		return acp.MethodLoad
	default:
		return acp.MethodNew
	}
}

// By returns how a session that was had by this step was restored.
func (s Step) By() protocol.RestoredBy {
	switch s {
	case Resume:
		return protocol.RestoredResume
	case Load:
		return protocol.RestoredLoad
	default:
		return protocol.RestoredNew
	}
}

// Situation is what is known before a step.
type Situation struct {
	Stored   bool // an adapter session id is stored
	Prompted bool // it was ever prompted: it can be expected to be there
	Resume   bool // the adapter advertises session/resume
	Load     bool // the adapter advertises session/load
}

// First returns the first step to try.
func First(s Situation) Step { return s.from(Resume) }

// from returns the first step at or after step that the situation allows.
func (s Situation) from(step Step) Step {
	switch {
	case s.Stored && s.Resume && step <= Resume:
		return Resume
	case s.Stored && s.Load && step <= Load:
		return Load
	default:
		return New
	}
}

// Decision is what to do after a step has failed.
type Decision int

// The decisions.
const (
	Next  Decision = iota // try the step returned with it
	Again                 // the same step once more, with a fresh process after a pause
	Fail                  // give up; the stored id is kept
)

// After decides what follows a step that was answered with the JSON-RPC error
// code. tried says that the same answer came to a fresh process before.
func After(s Situation, step Step, code int64, tried bool) (Decision, Step) {
	if step == New || code == acp.CodeAuthRequired {
		return Fail, step
	}
	next := s.from(step + 1)
	switch {
	case Gone(code) || code == acp.CodeMethodNotFound:
		return Next, next
	case !s.Prompted:
		// Claude, Codex and Qwen write a session at its first prompt only, and
		// each has its own error for one that was never written.
		return Next, next
	case tried:
		return Next, next
	default:
		return Again, step
	}
}

// Gone reports whether the JSON-RPC error code says that the session does not
// exist: the standard code, its predecessor, and the one that OpenCode and Pi use
// for it. Session.stepAnswered asks it too, of an answer to a prompt.
func Gone(code int64) bool {
	return code == acp.CodeNotFound || code == acp.CodeNotFoundLegacy || code == acp.CodeInvalidParams
}
