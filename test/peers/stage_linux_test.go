package peers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentos/test/e2e/program"
	"agentos/test/peers"
)

// stage is somebody who uses the real agentos with a real agent.
type stage struct {
	*testing.T
	expected
	policy  string
	launch  peers.Launch
	args    []string // of every prompt
	command []string // "--" and the agent's command, where it is in no catalog
	home    *program.Home
	tags    []string // of all prompts so far
}

// event is what these tests read of a public event.
type event struct {
	Durability string                             `json:"durability"`
	Type       string                             `json:"type"`
	Status     string                             `json:"status"` // of a tool call, or of a permission's answer
	Reason     string                             `json:"reason"`
	Content    json.RawMessage                    `json:"content"` // of a message a block, of a tool call a list
	Options    []struct{ OptionID, Kind string }  `json:"options"`
	Outcome    struct{ Outcome, OptionID string } `json:"outcome"`

	raw string
}

// turn is a prompt that has come to its end, or that was made to.
type turn struct {
	out    program.Output
	events []event
	Result struct {
		StopReason, RestoredBy string
		Message                struct{ Content []struct{ Text string } }
	}
	Error struct{ Code string }
}

// text is the final message.
func (e turn) text() string {
	var text strings.Builder
	for _, block := range e.Result.Message.Content {
		text.WriteString(block.Text)
	}
	return text.String()
}

// has tells whether one of the durable events is like that.
func (e turn) has(like func(event) bool) bool {
	return slices.ContainsFunc(e.events, func(v event) bool { return v.Durability == "durable" && like(v) })
}

// line is the command line of a prompt.
func (s *stage) line(tag, text string) []string {
	s.tags = append(s.tags, tag)
	return slices.Concat(s.args, []string{tag + " " + text}, s.command)
}

// prompt runs a turn; each sees the lines as they come and may kill something.
func (s *stage) prompt(tag, text string, each func(*program.Run, string)) turn {
	s.Helper()
	run := s.home.Start(s, func(r *program.Run, _ int, line []byte) {
		if each != nil {
			each(r, string(line))
		}
	}, s.line(tag, text)...)
	return s.ended(run.Wait(s))
}

// ended reads what a prompt has printed, and waits until nothing of it is left:
// the runtime, the guard, the agent's processes and what those have started.
func (s *stage) ended(out program.Output) turn {
	s.Helper()
	end := turn{out: out}
	lines := out.Lines()
	for _, line := range lines {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.Fatalf("%s: %v", line, err)
		}
		e.raw = line
		end.events = append(end.events, e)
	}
	if len(lines) > 0 {
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
			s.Fatal(err)
		}
	}
	s.home.AwaitNone(s)
	return end
}

// ok runs a turn that must end well.
func (s *stage) ok(tag, text, restoredBy string) turn {
	s.Helper()
	end := s.prompt(tag, text, nil)
	s.wantOK(end, restoredBy)
	return end
}

// wantOK wants that the turn has ended well: restored in that way, with an agent
// that had every earlier prompt in its context.
func (s *stage) wantOK(end turn, restoredBy string) {
	s.Helper()
	if end.out.Code != 0 || end.Result.StopReason != "end_turn" || end.Result.RestoredBy != restoredBy || !s.remembers(end.text()) {
		s.Errorf("turn %s = %d, %+v, %+v, %s; want end_turn, restored by %s, ...%q", s.tags[len(s.tags)-1],
			end.out.Code, end.Result, end.Error, end.out.Stderr, restoredBy, s.memory())
	}
	s.clean()
}

func (s *stage) memory() string { return "memory: " + strings.Join(s.tags, " ") }

// remembers tells whether the model saw every prompt so far. Claude appends a
// warning of its own to a reply.
func (s *stage) remembers(text string) bool {
	_, after, found := strings.Cut(text, s.memory())
	return found && !strings.HasPrefix(after, " #")
}

// clean wants the doctor to find nothing.
func (s *stage) clean() {
	s.Helper()
	if out := s.home.Run(s, "doctor"); out.Code != 0 {
		s.Errorf("doctor = %d: %s", out.Code, out.Stdout)
	}
}

// wantFailed wants that the session shows that error of its last turn.
func (s *stage) wantFailed(code string) {
	s.Helper()
	if out := s.home.Run(s, "sessions", "--json"); !strings.Contains(string(out.Stdout), `"error":{"code":"`+code+`"`) {
		s.Errorf("sessions = %d, %s; want %s", out.Code, out.Stdout, code)
	}
}

// history returns all events of the session.
func (s *stage) history() turn {
	s.Helper()
	return s.ended(s.home.Run(s, "history", "--json", "--limit", "10000"))
}

// made tells whether the command of a tool call has written its file, which is
// in the agent's working directory.
func (s *stage) made() bool {
	_, err := os.Stat(filepath.Join(s.home.Work, "made"))
	return err == nil
}
