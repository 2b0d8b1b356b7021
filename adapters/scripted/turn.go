package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/store"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// errStop is what a directive returns to end the turn.
var errStop = errors.New("turn ends here")

// The stop reasons this agent gives of itself.
const (
	stopEndTurn   = "end_turn"
	stopCancelled = "cancelled"
	stopError     = "error"
)

// turn is one prompt being carried out.
type turn struct {
	agent     *agent
	session   *session
	request   json.RawMessage // id of the prompt request
	steps     []script.Step
	words     string // what a plain reply repeats
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
		stop, failure = stopError, wire.Errorf(wire.CodeInternal, "%v", err)
	}
	t.answer(stop, failure)
	close(t.done)
	t.sayLate()
}

// answer says that the turn is over.
func (t *turn) answer(stop string, failure *wire.Error) {
	update, result := t.agent.surface.Ended(stop, failure)
	t.update(update)
	switch {
	case result == "": // the request was answered when the prompt was taken
	case failure != nil:
		t.agent.conn.Refuse(t.request, failure)
	default:
		t.agent.conn.Answer(t.request, result)
	}
}

// perform does what the prompt asks for. The error is what the turn fails with.
func (t *turn) perform() *wire.Error {
	if len(t.steps) == 0 {
		t.reply()
		return nil
	}
	t.speaker = -1
	for i, s := range t.steps {
		if findDirective(s.Name).speaks {
			t.speaker = i
		}
	}
	for i, s := range t.steps {
		if t.ctx.Err() != nil {
			return nil
		}
		t.at = i
		d := findDirective(s.Name)
		var failure *wire.Error
		switch err := d.run(t, s.Arg); {
		case err == nil:
		case errors.Is(err, script.ErrUsage):
			t.say("I do not understand [[" + strings.TrimSpace(s.Name+" "+s.Arg) + "]]: it is written " + d.form() + ".\n" + t.closing())
		case errors.Is(err, errStop):
			return nil
		case errors.As(err, &failure):
			return failure
		default:
			return wire.Errorf(wire.CodeInternal, "%s: %v", d.form(), err)
		}
	}
	if !t.told && t.ctx.Err() == nil {
		t.say(t.sentence())
	}
	return nil
}

// reply answers a plain prompt, in three deltas.
func (t *turn) reply() {
	if t.words == "" {
		t.say("You said nothing.")
	} else {
		t.say("You said: ")
		t.say(t.words)
	}
	t.say("\n" + t.sentence())
}

// sentence names the tags.
func (t *turn) sentence() string {
	t.told = true
	tags, prompts, verbosity := t.session.context()
	if verbosity == verbosityLong {
		return script.Seen(tags) + fmt.Sprintf(" This is prompt %d of the session.", prompts)
	}
	return script.Seen(tags)
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
	t.update(t.agent.surface.Chunk("agent_message_chunk", t.open, surface.Text(text)))
}

// update sends an update of this turn's session; "" is none.
func (t *turn) update(update string) {
	if update != "" {
		t.agent.conn.Update(t.session.id, update)
	}
}

// pause ends the open message: the next text begins a new one.
func (t *turn) pause() { t.open = "" }

// spoken are the turn's messages as they are stored.
func (t *turn) spoken() []store.Said {
	messages := make([]store.Said, len(t.messages))
	for i, u := range t.messages {
		messages[i] = store.Said{MessageID: u.id, Text: u.text.String()}
	}
	return messages
}
