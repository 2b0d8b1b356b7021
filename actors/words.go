package actors

import (
	"agentos/persistence/core"
	"agentos/sessions"
)

// The words of a VM's methods that packages below own: a front door speaks them
// without reaching past this package.
type (
	// PageRequest and Page are the words of History, Finding that of Check.
	PageRequest = core.PageRequest
	Page        = core.Page
	Finding     = core.Finding
	// Field names what an OpenSession gives explicitly.
	Field = sessions.Field
	// IfAsked says what a Prompt does when the agent asks for a permission.
	IfAsked = sessions.IfAsked
)

// The fields of an OpenSession, and the answers to "is anybody there?".
const (
	FieldAgent        = sessions.FieldAgent
	FieldCwd          = sessions.FieldCwd
	FieldDirectories  = sessions.FieldDirectories
	FieldEnv          = sessions.FieldEnv
	FieldMCPServers   = sessions.FieldMCPServers
	FieldPolicy       = sessions.FieldPolicy
	FieldInstructions = sessions.FieldInstructions
	FieldSkipOS       = sessions.FieldSkipOS

	WaitForAnswer = sessions.WaitForAnswer
	EndTurn       = sessions.EndTurn
)
