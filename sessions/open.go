package sessions

import (
	"maps"
	"slices"

	"agentos/protocol"
)

// stepOpen creates the session, or compares what was given explicitly with what
// it was opened with (S6.1).
func (s *Session) stepOpen(in Open) *protocol.Error {
	if s.exists {
		return s.reopen(in)
	}
	if s.deleted {
		return s.noSession()
	}
	if err := validSpec(in.Spec); err != nil {
		return err
	}
	rec := s.rec
	rec.Spec, rec.CreatedAt, rec.UpdatedAt, rec.LastAt = in.Spec, in.At, in.At, in.At
	s.record(protocol.SessionOpened{Record: rec})
	s.after(Reply{Token: in.Token})
	return nil
}

// reopen compares, and replaces the agent if another one was named: of all that
// a session was opened with, only that may change (S6.1).
func (s *Session) reopen(in Open) *protocol.Error {
	if field := differs(in, s.rec.Spec); field != "" {
		return protocol.Errorf(protocol.CodeSessionConflict,
			"session %q was opened with another %s; leave it out to use the session as it is, or name another session", s.rec.ID, field).
			With("field", field)
	}
	if in.Given&FieldAgent != 0 && !sameAgent(in.Spec, s.rec.Spec) {
		if id := s.occupied(); id != "" {
			return s.busy(id)
		}
		if err := validSpec(in.Spec); err != nil {
			return err
		}
		s.replaceAgent(in)
	}
	s.after(Reply{Token: in.Token})
	return nil
}

// replaceAgent gives the session another agent. What the old one has of it, a
// conversation under an id of its own, is kept aside; its options and modes
// mean nothing to the new one.
func (s *Session) replaceAgent(in Open) {
	s.closeRun(in.At)
	s.stopRoute()
	s.record(protocol.LaunchChanged{Agent: in.Spec.Agent, Launch: in.Spec.Launch})
	if s.rec.ACPSession != "" {
		s.record(protocol.AdapterBound{PreviousACP: keepAside(s.rec.PreviousACP, s.rec.ACPSession)})
	}
	s.recordConfig(nil, nil)
}

func differs(in Open, have protocol.Spec) string {
	for _, f := range []struct {
		field Field
		name  string
		same  bool
	}{
		{FieldCwd, "cwd", in.Spec.Cwd == have.Cwd},
		{FieldDirectories, "additionalDirectories", slices.Equal(in.Spec.AdditionalDirectories, have.AdditionalDirectories)},
		{FieldEnv, "env", maps.Equal(in.Spec.Env, have.Env)},
		{FieldMCPServers, "mcpServers", array(in.Spec.MCPServers) == array(have.MCPServers)},
		{FieldPolicy, "permissionPolicy", in.Spec.Policy == have.Policy},
		{FieldInstructions, "additionalInstructions", in.Spec.AdditionalInstructions == have.AdditionalInstructions},
		{FieldSkipOS, "skipOsInstructions", in.Spec.SkipOSInstructions == have.SkipOSInstructions},
	} {
		if in.Given&f.field != 0 && !f.same {
			return f.name
		}
	}
	return ""
}

// array returns a raw JSON array as a text to compare: none is an empty one.
func array(raw []byte) string {
	if len(raw) == 0 {
		return "[]"
	}
	return string(raw)
}

func sameAgent(a, b protocol.Spec) bool {
	return a.Agent == b.Agent && sameLaunch(a.Launch, b.Launch)
}

func sameLaunch(a, b *protocol.Launch) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Argv, b.Argv) && slices.Equal(a.Env, b.Env)
}

func validSpec(spec protocol.Spec) *protocol.Error {
	switch {
	case spec.Agent == "" || len(spec.Agent) > protocol.MaxIDBytes:
		return protocol.Errorf(protocol.CodeInvalidArgument, "an agent name has 1 to %d bytes", protocol.MaxIDBytes)
	case spec.Launch != nil && (len(spec.Launch.Argv) == 0 || spec.Launch.Argv[0] == ""):
		return protocol.Errorf(protocol.CodeInvalidArgument, "a custom agent needs a command")
	case len(spec.Cwd) == 0 || spec.Cwd[0] != '/':
		return protocol.Errorf(protocol.CodeInvalidArgument, "the working directory %q is not absolute", spec.Cwd)
	}
	switch spec.Policy {
	case protocol.PolicyAsk, protocol.PolicyAllowAll, protocol.PolicyRejectAll:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalidPermissionPolicy, "%q is no permission policy: use ask, allow_all or reject_all", spec.Policy)
}
