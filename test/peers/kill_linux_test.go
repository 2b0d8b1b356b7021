package peers_test

import (
	"slices"
	"strings"

	"agentos/test/e2e/program"
)

const (
	// stream lasts long enough to be killed in.
	stream = "Count slowly. [[slow 400 50]]"
	// far is the text of it behind which it is killed.
	far = "tick 20 "
	// tool is a command that would not end by itself.
	tool    = "Wait. [[sh echo begun; sleep 1000]]"
	command = "sleep 1000"
)

// in runs a turn and does something once, when a line holds text; it is given the
// processes of that moment, all of which must be there.
func (s *stage) in(tag, prompt, text string, do func(*program.Run, family)) turn {
	s.Helper()
	done := false
	end := s.prompt(tag, prompt, func(r *program.Run, line string) {
		if done || !strings.Contains(line, text) {
			return
		}
		done = true
		f := s.family()
		s.want(f)
		do(r, f)
	})
	if !done {
		s.Errorf("turn %s = %d, %+v, %s; want it to come to %q", tag, end.out.Code, end, end.out.Stderr, text)
	}
	return end
}

func killRuntime(r *program.Run, _ family) { r.Kill() }

// wantCut wants that the runtime was killed and the turn did not end, and that
// afterwards it is said to be uncertain (S6.5).
func (s *stage) wantCut(end turn) {
	s.Helper()
	if end.out.Code != -1 || end.Result.StopReason != "" {
		s.Errorf("turn = %d, %+v; want to have killed it before its end", end.out.Code, end.Result)
	}
	s.wantFailed("prompt_delivery_uncertain")
}

// runtimeKilledBetweenTurns: behind the answer, while the agent is still there or
// about to be stopped. Its turn keeps its end.
func runtimeKilledBetweenTurns(s *stage) {
	s.ok("#one", "Say hello.", "new")
	ended := s.in("#two", "Count. [[slow 20 50]]", "tick 1 ", func(*program.Run, family) {}) // all are there in a turn
	s.wantOK(ended, s.restored)
	ended = s.prompt("#three", "Say hello.", func(r *program.Run, line string) {
		if strings.HasPrefix(line, `{"result":`) {
			r.Kill()
		}
	})
	if ended.out.Code != -1 || ended.Result.StopReason != "end_turn" {
		s.Errorf("turn #three = %d, %+v; want to have killed it behind its end", ended.out.Code, ended)
	}
	s.ok("#four", "Say hello.", s.restored)
}

func runtimeKilledInStream(s *stage) {
	s.ok("#one", "Say hello.", "new")
	s.wantCut(s.in("#two", stream, far, killRuntime))
	s.ok("#three", "Say hello.", s.restored)
	s.ok("#four", "Count. [[chunks 20]]", s.restored)
}

// runtimeKilledInTool: the command of the agent's goes, too.
func runtimeKilledInTool(s *stage) {
	s.ok("#one", "Say hello.", "new")
	cut := s.inTool("#two", func(r *program.Run, _ family) { r.Kill() })
	s.wantCut(cut)
	s.ok("#three", "Say hello.", s.restored)
}

// inTool does something while a command of the agent's runs.
func (s *stage) inTool(tag string, do func(*program.Run, family)) turn {
	s.Helper()
	return s.in(tag, tool, `"type":"tool_call`, func(r *program.Run, _ family) {
		f := s.awaitRunning(command)
		s.want(f)
		do(r, f)
	})
}

// runtimeKilledInQuestion: whoever asked is gone, so the question has ended, and
// that was no permission (S6.10).
func runtimeKilledInQuestion(s *stage) {
	s.ok("#one", "Say hello.", "new")
	if end, _ := s.onTerminal("#two", touch, killedWhenAsked); end.out.Code != -1 {
		s.Errorf("turn #two = %d, %+v; want to have killed it", end.out.Code, end)
	}
	s.wantFailed("prompt_delivery_uncertain")
	if history := s.history(); !history.asked("not_pending", "vm_shutdown", "") || s.made() {
		s.Errorf("file %v, history:\n%s\nwant the question ended and no file", s.made(), history.out.Stdout)
	}
	s.ok("#three", "Say hello.", s.restored)
}

// runtimeKilledInFirstTurn: agents write a session with its first prompt, so this
// one may be unknown to its own agent. The context is there all the same.
func runtimeKilledInFirstTurn(s *stage) {
	s.wantCut(s.in("#one", stream, far, killRuntime))
	s.ok("#two", "Say hello.", s.restored)
}

func agentKilledInStream(s *stage) {
	s.ok("#one", "Say hello.", "new")
	s.wantLost(s.in("#two", stream, far, func(_ *program.Run, f family) { s.kill(f.agent) }), "adapter_exited")
	s.ok("#three", "Say hello.", s.restored)
}

func agentKilledInTool(s *stage) {
	s.ok("#one", "Say hello.", "new")
	s.wantLost(s.inTool("#two", func(_ *program.Run, f family) { s.kill(f.agent) }), "adapter_exited")
	s.ok("#three", "Say hello.", s.restored)
}

// nativeKilledInStream: a launcher may end with the program, or live on and say
// that it failed.
func nativeKilledInStream(s *stage) {
	s.ok("#one", "Say hello.", "new")
	s.wantLost(s.in("#two", stream, far, func(_ *program.Run, f family) { s.kill(f.native) }), "adapter_exited", "agent_error")
	s.ok("#three", "Say hello.", s.restored)
}

// wantLost wants that a turn failed because of the agent, with one of the codes
// and all of its text up to there, and that the session shows it.
func (s *stage) wantLost(end turn, codes ...string) {
	s.Helper()
	if end.out.Code != 1 || !slices.Contains(codes, end.Error.Code) {
		s.Errorf("turn = %d, %+v, %s; want one of %q", end.out.Code, end.Error, end.out.Stderr, codes)
	}
	s.wantFailed(end.Error.Code)
}
