package peers_test

import (
	"bytes"
	"strings"
)

// touch has the agent run a command that changes something, for which an asking
// one asks.
const touch = "Make it. [[sh touch made && echo mini-$((40+2))]]"

// prompts: turns, the text of a turn in history, and the context of the first
// in an agent that was started anew for the second.
func prompts(s *stage) {
	s.ok("#one", "Say hello.", "new")
	if end := s.ok("#two", "Count. [[chunks 20]]", s.restored); !strings.Contains(end.text(), "word1 word2 ") {
		s.Errorf("turn #two said %q; want 20 words", end.text())
	}
	history := s.history()
	for _, want := range []struct{ kind, text string }{
		{"user_message_chunk", "#one Say hello."}, {"agent_message_chunk", "memory: #one"},
		{"user_message_chunk", "#two Count."}, {"agent_message_chunk", "word20 memory: #one #two"},
	} {
		if !history.has(func(e event) bool { return e.Type == want.kind && bytes.Contains(e.Content, []byte(want.text)) }) {
			s.Errorf("history has no %s with %q:\n%s", want.kind, want.text, history.out.Stdout)
		}
	}
}

// toolCall tells whether the turn has a durable tool call that came to that
// status and shows text.
func (e turn) toolCall(status, text string) bool {
	return e.has(func(v event) bool {
		return strings.HasPrefix(v.Type, "tool_call") && v.Status == status && strings.Contains(v.raw, text)
	})
}

// asked tells whether the agent asked a person, and by what the question ended.
func (e turn) asked(status, reason, option string) bool {
	return e.has(func(v event) bool { return v.Type == "permission_request" }) && e.has(func(v event) bool {
		return v.Type == "permission_response" && v.Status == status && v.Reason == reason && (v.Outcome.OptionID == option || option == "")
	})
}

// wantRun wants that the command was run and that the agent got its output.
func (s *stage) wantRun(end turn) {
	s.Helper()
	if !s.made() || !end.toolCall("completed", "mini-42") || !strings.Contains(end.text(), "tool results: 1") {
		s.Errorf("turn: file %v, message %q; want the command run\n%s", s.made(), end.text(), end.out.Stdout)
	}
}

// wantRefused wants that the command was not run, that the turn ended as it does
// with this agent then, and that the session goes on.
func (s *stage) wantRefused(end turn) {
	s.Helper()
	if end.out.Code != 0 || end.Result.StopReason != s.refused || s.made() || end.toolCall("completed", "") {
		s.Errorf("turn = %d, %+v, %+v, file %v; want %s and no file\n%s%s", end.out.Code, end.Result, end.Error, s.made(), s.refused, end.out.Stdout, end.out.Stderr)
	}
	s.ok("#three", "Say hello.", s.restored)
}

// allowAll: the policy answers. Nobody is asked, and no event says so (S8.1).
func allowAll(s *stage) {
	s.ok("#one", "Say hello.", "new")
	end := s.ok("#two", touch, s.restored)
	s.wantRun(end)
	if end.has(func(e event) bool { return strings.HasPrefix(e.Type, "permission") }) {
		s.Errorf("a person was asked:\n%s", end.out.Stdout)
	}
	s.ok("#three", "Say hello.", s.restored)
}

// rejectAll shows as well that the agent does ask: else the command would run.
func rejectAll(s *stage) {
	s.ok("#one", "Say hello.", "new")
	s.wantRefused(s.prompt("#two", touch, nil))
}

func askAllowed(s *stage) {
	s.ok("#one", "Say hello.", "new")
	end, option := s.onTerminal("#two", touch, "allow_once")
	s.wantOK(end, s.restored)
	s.wantRun(end)
	if !end.asked("accepted", "", option) {
		s.Errorf("no question with the answer %q:\n%s", option, end.out.Stdout)
	}
	s.ok("#three", "Say hello.", s.restored)
}

func askRejected(s *stage) {
	s.ok("#one", "Say hello.", "new")
	end, option := s.onTerminal("#two", touch, "reject_once")
	if !end.asked("accepted", "", option) {
		s.Errorf("no question with the answer %q:\n%s", option, end.out.Stdout)
	}
	s.wantRefused(end)
}

// askNobody: without a person the turn ends, and nothing is allowed (S8.4).
func askNobody(s *stage) {
	s.ok("#one", "Say hello.", "new")
	end := s.prompt("#two", touch, nil)
	if end.out.Code != 5 || end.Error.Code != "permission_required" || !end.asked("not_pending", "prompt_cancelled", "") || s.made() {
		s.Errorf("turn = %d, %+v, file %v; want permission_required and no file\n%s", end.out.Code, end.Error, s.made(), end.out.Stdout)
	}
	s.wantFailed("permission_required")
	s.ok("#three", "Say hello.", s.restored)
}
