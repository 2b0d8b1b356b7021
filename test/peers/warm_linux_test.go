package peers_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"agentos/actors"
	"agentos/persistence"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// agentKilledBetweenTurns: a runtime that lives on has an agent that waits for
// the next prompt. It is killed there, and the next prompt finds out. This
// runtime is in the test's process, wired as the command line wires it; its guard
// is the real one.
func agentKilledBetweenTurns(s *stage) {
	vm := s.open()
	s.warm(vm, "#one", protocol.RestoredNew)
	s.warm(vm, "#two", protocol.RestoredLive)
	f := s.family()
	s.want(f)
	s.kill(f.agent)
	s.home.AwaitNone(s)
	// A prompt that is quicker than the news of the death goes to the dead, and is
	// not sent a second time by the runtime (S6.4).
	if answer, err := s.turnIn(vm, "#quick"); protocol.CodeOf(err) == protocol.CodeAdapterExited {
		s.tags = s.tags[:2]
		s.warm(vm, "#three", protocol.RestoredBy(s.restored))
	} else {
		s.wantWarm("#quick", answer, err, protocol.RestoredBy(s.restored))
	}
	s.warm(vm, "#four", protocol.RestoredLive)
}

// nativeKilledBetweenTurns: the launcher may live on. Its answer to the next
// prompt may be an error of any kind, behind which it may have forgotten the
// session; then it says that, and the runtime restores it for the one after.
func nativeKilledBetweenTurns(s *stage) {
	vm := s.open()
	s.warm(vm, "#one", protocol.RestoredNew)
	f := s.family()
	s.want(f)
	s.kill(f.native)
	var failures []string
	for _, tag := range []string{"#two", "#three", "#four"} {
		answer, err := s.turnIn(vm, tag)
		if err == nil {
			if text := said(answer); !strings.Contains(text, "memory: #one ") || !strings.Contains(text, " "+tag) {
				s.Errorf("turn %s said %q; want it to remember #one", tag, text)
			}
			return
		}
		if code := protocol.CodeOf(err); code != protocol.CodeAgentError && code != protocol.CodeAdapterExited {
			s.Errorf("turn %s: %v; want it to end well, or to fail because of the agent", tag, err)
		}
		failures = append(failures, err.Error())
	}
	s.Errorf("the session does not come back: %q", failures)
}

// open starts a runtime with a VM for the rest of the test.
func (s *stage) open() *actors.VM {
	s.Helper()
	node, err := actors.Start(actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Create: true, Command: "peers"})
		},
		Adapters:   actors.Processes([]string{s.home.Binary, "adapter", "guard"}, s.home.Env, protocol.DefaultLimits().ReadLineBytes),
		ClientName: "peers", ClientVersion: "0",
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := node.Close(ctx); err != nil {
			s.Errorf("close the node: %v", err)
		}
	})
	vm, err := node.Open(s.Context(), "default", protocol.Descriptor{SQLiteFile: filepath.Join(s.home.Dir, "warm.db")})
	if err != nil {
		s.Fatal(err)
	}
	return vm
}

// turnIn runs a turn in a VM of this process.
func (s *stage) turnIn(vm *actors.VM, tag string) (*protocol.Answer, error) {
	s.Helper()
	s.tags = append(s.tags, tag)
	content, err := json.Marshal([]map[string]string{{"type": "text", "text": tag + " Say hello."}})
	if err != nil {
		s.Fatal(err)
	}
	spec := protocol.Spec{Cwd: s.home.Work, Policy: protocol.Policy(s.policy)}
	if s.command == nil {
		spec.Agent = s.expected.args[1]
	} else {
		spec.Agent, spec.Launch = s.agent, &protocol.Launch{Argv: s.launch.Argv}
	}
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	return vm.Prompt(ctx, actors.Prompt{Session: protocol.DefaultSession, Content: content, Open: &actors.OpenSession{Session: protocol.DefaultSession, Spec: spec}})
}

// warm runs a turn that must end well, restored in that way, with all earlier
// prompts in the context.
func (s *stage) warm(vm *actors.VM, tag string, restored protocol.RestoredBy) {
	s.Helper()
	answer, err := s.turnIn(vm, tag)
	s.wantWarm(tag, answer, err, restored)
}

func (s *stage) wantWarm(tag string, answer *protocol.Answer, err error, restored protocol.RestoredBy) {
	s.Helper()
	if err != nil || answer.StopReason != "end_turn" || answer.RestoredBy != restored || !s.remembers(said(answer)) {
		s.Errorf("turn %s = %+v, %q, %v; want end_turn, restored by %s, ...%q", tag, answer, said(answer), err, restored, s.memory())
	}
}

// said is the final message's text.
func said(answer *protocol.Answer) string {
	if answer == nil || answer.Message == nil {
		return ""
	}
	var all strings.Builder
	for _, block := range answer.Message.Content {
		var text struct{ Text string }
		// A block without a text is none that these agents send.
		_ = json.Unmarshal(block, &text)
		all.WriteString(text.Text)
	}
	return all.String()
}
