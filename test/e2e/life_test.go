package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agentos/protocol"
	"agentos/test/e2e/program"
)

// life is a VM that is killed again and again, and what is known of it.
type life struct {
	home    *program.Home
	agent   []string           // the rest of the command line, if it is not the usual agent
	usual   time.Duration      // of a plain turn
	texts   []string           // of all prompts so far
	printed map[int64]string   // the durable events that were printed by prompts
	deltas  map[string][]event // of each run that was printed so far; names are of one process
	history []event            // as it was when last looked at
	ends    map[string]turnRow // of turns, by their prompt's id
}

func newLife(t *testing.T, binary string) *life {
	return &life{
		home: program.NewHome(t, binary), usual: 300 * time.Millisecond,
		printed: map[int64]string{}, deltas: map[string][]event{}, ends: map[string]turnRow{},
	}
}

// lastWord is how a prompt that was not killed ends.
type lastWord struct {
	Result *struct {
		StopReason, RestoredBy string
		Message                *struct{ Content []struct{ Text string } }
	}
	Error *struct{ Code string }
}

// prompt runs one turn, which stop may end early, and keeps what it printed.
func (l *life) prompt(t *testing.T, text string, each func(*program.Run, int, []byte), stop func(*program.Run) (done func())) (program.Output, lastWord) {
	t.Helper()
	l.texts = append(l.texts, text)
	args := slices.Concat([]string{"prompt", "--json"}, l.home.Quick(), []string{text}, l.agent)
	run := l.home.Start(t, each, args...)
	done := stop(run)
	out := run.Wait(t)
	done()
	var last lastWord
	for _, line := range out.Lines() {
		if last = (lastWord{}); !strings.HasPrefix(line, `{"durability":`) {
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("last line %s: %v", line, err)
			}
			continue
		}
		e := parseEvent(t, line)
		if e.Durability == "durable" {
			if known, twice := l.printed[e.Sequence]; twice && known != e.line {
				t.Errorf("event %d is another one now:\n%s\n%s", e.Sequence, known, e.line)
			}
			l.printed[e.Sequence] = e.line
			continue
		}
		name := text + " " + e.Run
		l.deltas[name] = append(l.deltas[name], e)
	}
	return out, last
}

// look reads everything that can be read and holds it against what was printed
// and what the agent says. It returns the turns.
func (l *life) look(t *testing.T) []turnRow {
	t.Helper()
	l.readHistory(t)
	l.checkup(t)
	sessions := l.sessions(t)
	if len(l.history) == 0 && sessions == nil {
		l.compareJournal(t, nil)
		return nil
	}
	turns := audit(t, l.home.DB)
	l.compareEnds(t, turns, sessions)
	l.compareJournal(t, turns)
	l.comparePermissions(t)
	l.compareRuns(t)
	return turns
}

// readHistory holds the history against what was printed and against itself.
func (l *life) readHistory(t *testing.T) {
	t.Helper()
	out := l.home.Run(t, "history", "--json", "--limit", "1000000")
	if out.Code == protocol.CodeSessionNotFound.Info().Exit && len(l.history) == 0 && len(l.printed) == 0 {
		return
	}
	if out.Code != 0 {
		t.Fatalf("history = %d: %s", out.Code, out.Stderr)
	}
	now := parseEvents(t, out.Lines())
	for i, e := range now {
		if e.Sequence != int64(i+1) {
			t.Fatalf("event %d has sequence %d", i+1, e.Sequence)
		}
		if i < len(l.history) && l.history[i].line != e.line {
			t.Errorf("event %d has changed:\n%s\n%s", i+1, l.history[i].line, e.line)
		}
		if line, ok := l.printed[e.Sequence]; ok && line != e.line {
			t.Errorf("event %d is not the one that was printed:\n%s\n%s", i+1, line, e.line)
		}
	}
	if len(now) < len(l.history) {
		t.Errorf("the history has %d events; it had %d", len(now), len(l.history))
	}
	for sequence, line := range l.printed {
		if sequence > int64(len(now)) {
			t.Errorf("printed and not stored: %s", line)
		}
	}
	l.history = now
}

// report is what these tests read of agentos doctor.
type report struct {
	Events    int
	OpenTurns []string
	Findings  []struct{ What, Detail string }
	Clean     bool
}

// checkup wants the doctor to find nothing.
func (l *life) checkup(t *testing.T) {
	t.Helper()
	r, code := l.doctor(t)
	if code == protocol.CodeVMNotFound.Info().Exit && len(l.history) == 0 {
		return
	}
	if code != 0 || !r.Clean || r.Events != len(l.history) {
		t.Errorf("doctor = %d, %+v; want 0, clean, %d events", code, r, len(l.history))
	}
}

func (l *life) doctor(t *testing.T) (r report, code int) {
	t.Helper()
	out := l.home.Run(t, "doctor", "--json")
	if out.Code > 1 {
		return r, out.Code
	}
	if err := json.Unmarshal(out.Stdout, &r); err != nil {
		t.Fatalf("doctor = %d, %q, %q: %v", out.Code, out.Stdout, out.Stderr, err)
	}
	return r, out.Code
}

// openTurn says whether a turn was left open, before anything settles it.
// Nothing else may be wrong.
func (l *life) openTurn(t *testing.T) bool {
	t.Helper()
	r, _ := l.doctor(t)
	for _, f := range r.Findings {
		if f.What != "a turn was left open" && f.What != "the schema is older than this program's" {
			t.Errorf("doctor, before anything was settled: %+v", f)
		}
	}
	return len(r.OpenTurns) > 0
}

// sessionState is what these tests read of agentos sessions.
type sessionState struct {
	State          string
	Error          *struct{ Code string }
	LatestSequence int
	RetainedEvents int
}

// sessions returns the state of main, nil if there is none.
func (l *life) sessions(t *testing.T) *sessionState {
	t.Helper()
	out := l.home.Run(t, "sessions", "--json")
	if out.Code == protocol.CodeVMNotFound.Info().Exit || out.Code == 0 && len(out.Stdout) == 0 {
		return nil
	}
	var s sessionState
	if err := json.Unmarshal(out.Stdout, &s); err != nil || out.Code != 0 {
		t.Fatalf("sessions = %d, %q, %q: %v", out.Code, out.Stdout, out.Stderr, err)
	}
	return &s
}

// compareEnds wants every turn to have the one end that it had when it was first
// seen to have one, and the session to be in the state that the last one left.
func (l *life) compareEnds(t *testing.T, turns []turnRow, s *sessionState) {
	t.Helper()
	users := 0
	for _, e := range l.history {
		if e.Type == "user_message_chunk" {
			users++
		}
	}
	if users != len(turns) {
		t.Errorf("%d prompts in the history, %d turns", users, len(turns))
	}
	for _, row := range turns {
		if before, ok := l.ends[row.prompt]; ok && before != row {
			t.Errorf("a turn has another end: %+v, before %+v", row, before)
		}
		l.ends[row.prompt] = row
		known := []protocol.Code{protocol.CodePromptDeliveryUncertain, protocol.CodePermissionRequired}
		if row.state == "failed" && !slices.Contains(known, protocol.Code(row.code)) {
			t.Errorf("a turn has failed: %+v", row)
		}
	}
	want, code := "idle", ""
	if n := len(turns); n > 0 && turns[n-1].state == "failed" {
		want, code = "failed", turns[n-1].code
	}
	if s == nil {
		t.Fatalf("no session, but a history")
	}
	got := ""
	if s.Error != nil {
		got = s.Error.Code
	}
	if s.State != want || got != code || s.LatestSequence != len(l.history) || s.RetainedEvents != len(l.history) {
		t.Errorf("session = %+v, error %q; want %s, %q, %d events", *s, got, want, code, len(l.history))
	}
}

// compareJournal wants nothing to have been sent twice or before it was stored,
// and everything that was answered to have been sent.
func (l *life) compareJournal(t *testing.T, turns []turnRow) {
	t.Helper()
	told := journal(t, l.home.Agent)
	stored := map[string]string{} // text: state
	for _, row := range turns {
		stored[l.history[row.first-1].text()] = row.state
	}
	for _, text := range l.texts {
		state, accepted := stored[text]
		switch n := times(told, text); {
		case n > 1:
			t.Errorf("%q was sent %d times", text, n)
		case n == 1 && !accepted:
			t.Errorf("%q was sent and is not stored", text)
		case n == 0 && state == "completed":
			t.Errorf("%q was answered and never sent", text)
		}
	}
}

// comparePermissions wants each request to have one response, and none to allow:
// there is nobody who could have.
func (l *life) comparePermissions(t *testing.T) {
	t.Helper()
	open := map[string]bool{}
	for _, e := range l.history {
		switch e.Type {
		case "permission_request":
			open[e.RequestID] = true
		case "permission_response":
			if !open[e.RequestID] {
				t.Errorf("a response to nothing that is open: %s", e.line)
			}
			if delete(open, e.RequestID); e.Status != "not_pending" {
				t.Errorf("nobody answered, and it says %q: %s", e.Status, e.line)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("permission requests without a response: %v", open)
	}
}

// compareRuns wants the text of a run that the kill has cut off to be the
// beginning of what was printed of it, or the other way round.
func (l *life) compareRuns(t *testing.T) {
	t.Helper()
	for run, deltas := range l.deltas {
		var printed strings.Builder
		for _, d := range deltas {
			if d.Offset != printed.Len() {
				t.Errorf("run %s goes on at %d; %d bytes were printed", run, d.Offset, printed.Len())
			}
			printed.WriteString(d.text())
		}
		for _, e := range l.history {
			if e.Type != deltas[0].Type || e.MessageID != deltas[0].MessageID {
				continue
			}
			stored := e.text()
			if !strings.HasPrefix(stored, printed.String()) && !(e.Incomplete && strings.HasPrefix(printed.String(), stored)) {
				t.Errorf("printed %d bytes of run %s, stored %d others (incomplete: %v)", printed.Len(), run, len(stored), e.Incomplete)
			}
		}
	}
}

var tagsSeen = regexp.MustCompile(`I have seen (.*)\.$`)

// next prompts again, as a person would, and wants the agent to know everything
// that it was ever told.
func (l *life) next(t *testing.T, tag string) {
	t.Helper()
	before := journal(t, l.home.Agent)
	out, last := l.prompt(t, "next "+tag, nil, func(*program.Run) func() { return func() {} })
	if out.Code != 0 || last.Result == nil || last.Result.StopReason != "end_turn" || last.Result.Message == nil {
		t.Fatalf("the next prompt = %d, %+v: %s", out.Code, last, out.Stderr)
	}
	l.usual = (l.usual + out.Took) / 2
	// A session that was never prompted may have been stored or not.
	if by := last.Result.RestoredBy; by != "resume" && (by != "new" || len(before) > 0) {
		t.Errorf("restored by %q, with %d prompts before", by, len(before))
	}
	var told []string
	for _, s := range append(before, seen{text: tag}) {
		told = append(told, tagOf(s.text))
	}
	text := last.Result.Message.Content[0].Text
	named := tagsSeen.FindStringSubmatch(text)
	if named == nil || named[1] != strings.Join(told, " ") {
		t.Errorf("the agent says %q; want it to have seen %v", text, told)
	}
}

// tagOf is the tag of a text of ours.
func tagOf(text string) string {
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "#") {
			return word
		}
	}
	return ""
}
