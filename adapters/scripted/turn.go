package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How a directive may end other than well.
var (
	errUsage = errors.New("argument not understood")
	errStop  = errors.New("turn ends here")
)

// The stop reasons this agent gives of itself.
const (
	stopEndTurn   = "end_turn"
	stopCancelled = "cancelled"
	stopError     = "error"
)

// answerGrace is how long a cancelled turn waits for the client's answers to
// its requests. The client must give them; a turn that never ends because it
// does not would hide that.
const answerGrace = 2 * time.Second

// turn is one prompt being carried out.
type turn struct {
	agent     *agent
	session   *session
	request   json.RawMessage // id of the prompt request
	content   []json.RawMessage
	steps     []step
	plain     string // what a plain reply repeats
	messageID string // of the user's message
	ctx       context.Context
	cancel    context.CancelFunc // by the client; the end of the process ends ctx too
	done      chan struct{}      // closed when the turn is answered, or never will be

	// The rest belongs to the goroutine of run.

	at       int // the step being carried out
	speaker  int // the last step that speaks; -1 if none does
	told     bool
	open     string // id of the message that text goes on in; "" if none
	last     string // id of the last message
	messages []utterance
	stop     string
	late     []time.Duration
}

// utterance is a message as far as it was said. Text is built piece by piece: a
// reply may have a million of them.
type utterance struct {
	id   string
	text *strings.Builder
}

// run carries the turn out and answers it. Every turn runs on a goroutine of
// its own, which the agent waits for.
func (t *turn) run() {
	defer t.cancel()
	failure := t.perform()
	if t.agent.ctx.Err() != nil {
		close(t.done) // the process is ending; there is nobody to answer
		return
	}
	stop := t.stop
	if t.ctx.Err() != nil {
		stop, failure = stopCancelled, nil
	}
	if failure != nil {
		stop = stopError
	}
	if err := t.session.finish(t, stop); err != nil && failure == nil {
		stop, failure = stopError, fault(codeInternal, "%v", err)
	}
	t.agent.surface.ended(t, stop, failure)
	close(t.done)
	t.sayLate()
}

// perform does what the prompt asks for. The error is what the turn fails with.
func (t *turn) perform() *rpcError {
	if len(t.steps) == 0 {
		t.reply()
		return nil
	}
	t.speaker = -1
	for i, s := range t.steps {
		if s.directive.speaks {
			t.speaker = i
		}
	}
	for i, s := range t.steps {
		if t.ctx.Err() != nil {
			return nil
		}
		t.at = i
		var failure *rpcError
		switch err := s.directive.run(t, s.arg); {
		case err == nil:
		case errors.Is(err, errUsage):
			t.say("I do not understand [[" + s.directive.name + " " + s.arg + "]]: it is written " + s.directive.form() + ".\n" + t.closing())
		case errors.Is(err, errStop):
			return nil
		case errors.As(err, &failure):
			return failure
		default:
			return fault(codeInternal, "%s: %v", s.directive.form(), err)
		}
	}
	if !t.told && t.ctx.Err() == nil {
		t.say(t.sentence())
	}
	return nil
}

// reply answers a plain prompt, in three deltas.
func (t *turn) reply() {
	if t.plain == "" {
		t.say("You said nothing.")
	} else {
		t.say("You said: ")
		t.say(t.plain)
	}
	t.say("\n" + t.sentence())
}

// sentence names the tags.
func (t *turn) sentence() string {
	t.told = true
	tags, prompts, verbosity := t.session.context()
	if verbosity == verbosityLong {
		return seen(tags) + fmt.Sprintf(" This is prompt %d of the session.", prompts)
	}
	return seen(tags)
}

// closing is the sentence about the tags if the step being carried out is the
// one to say it, else empty; a cancelled turn says no more than it must.
func (t *turn) closing() string {
	if t.told || t.at != t.speaker || t.ctx.Err() != nil {
		return ""
	}
	return t.sentence()
}

// say sends text as a delta of the open message, or of a new one.
func (t *turn) say(text string) {
	if t.open == "" {
		t.open = t.session.nextMessage()
		t.last = t.open
		t.messages = append(t.messages, utterance{id: t.open, text: &strings.Builder{}})
	}
	t.messages[len(t.messages)-1].text.WriteString(text)
	t.update(t.agent.surface.chunk("agent_message_chunk", t.open, textBlock(text)))
}

// update sends an update of this turn's session.
func (t *turn) update(update string) { t.agent.conn.update(t.session.id, update) }

// pause ends the open message: the next text begins a new one.
func (t *turn) pause() { t.open = "" }

// spoken are the turn's messages as they are stored.
func (t *turn) spoken() []said {
	messages := make([]said, len(t.messages))
	for i, u := range t.messages {
		messages[i] = said{MessageID: u.id, Text: u.text.String()}
	}
	return messages
}

// sleep waits; false if the turn was cancelled meanwhile.
func (t *turn) sleep(d time.Duration) bool { return sleep(t.ctx, d) }

// sleep waits for d or the end of ctx; false if the latter came first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// sayLate sends the deltas that come after the answer, in the message the turn
// ended with.
func (t *turn) sayLate() {
	slices.Sort(t.late)
	var waited time.Duration
	for _, after := range t.late {
		if !sleep(t.agent.ctx, after-waited) {
			return
		}
		waited = after
		if t.last == "" {
			t.last = t.session.nextMessage()
		}
		m := said{MessageID: t.last, Text: "(late)"}
		if err := t.session.remember(lateLine(m)); err != nil {
			t.agent.complain(err) // there is no request left to answer with it
		}
		t.update(t.agent.surface.chunk("agent_message_chunk", m.MessageID, textBlock(m.Text)))
	}
}

// await receives the answers to requests. When the turn is cancelled onCancel
// is called once, if given, and the client has answerGrace for the rest; what
// is still open then counts as cancelled.
func (t *turn) await(requests []pending, onCancel func()) []reply {
	replies := make([]reply, len(requests))
	cancelled := t.ctx.Done()
	var deadline <-chan time.Time
	for i := 0; i < len(requests); {
		select {
		case replies[i] = <-requests[i].reply:
			i++
		case <-cancelled:
			cancelled, deadline = nil, time.After(answerGrace)
			if onCancel != nil {
				onCancel()
			}
		case <-deadline:
			deadline = nil
			for ; i < len(requests); i++ {
				t.agent.conn.forget(requests[i])
				replies[i] = reply{err: fault(codeNotAnswered, "the client did not answer")}
			}
		case <-t.agent.ctx.Done():
			for ; i < len(requests); i++ {
				replies[i] = reply{err: fault(codeNotAnswered, "the process is ending")}
			}
		}
	}
	return replies
}
