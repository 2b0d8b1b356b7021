package wire

import (
	"encoding/json"
	"fmt"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// promptBody is the body of a prompt. Content is an array of content blocks.
type promptBody struct {
	ID       protocol.PromptID `json:"promptId"` // "" lets the runtime make one
	Content  json.RawMessage   `json:"content"`
	Key      string            `json:"key"`
	WhenBusy string            `json:"whenBusy"` // refuse (the default) or queue
	NoWait   bool              `json:"noWait"`   // with queue: answer with the place
	Now      bool              `json:"now"`
	IfAsked  string            `json:"ifAsked"` // wait (the default) or end
	Open     json.RawMessage   `json:"open"`    // as the body of an opening; null: the session exists
}

// AppendPrompt appends the body of a prompt whose content is valid JSON. noWait
// makes it an Enqueue.
func AppendPrompt(dst []byte, p actors.Prompt, noWait bool) []byte {
	dst = append(append(dst, `{"content":`...), p.Content...)
	dst = appendValue(dst, "promptId", p.ID)
	dst = appendValue(dst, "key", p.Key)
	if p.Queue || noWait {
		dst = appendValue(dst, "whenBusy", "queue")
	}
	dst = appendValue(dst, "noWait", noWait)
	dst = appendValue(dst, "now", p.Now)
	if p.IfAsked == actors.EndTurn {
		dst = appendValue(dst, "ifAsked", "end")
	}
	if p.Open != nil {
		dst = AppendOpen(append(dst, `,"open":`...), *p.Open)
	}
	return append(dst, '}')
}

// ParsePrompt reads the body of a prompt of one session.
func ParsePrompt(id protocol.SessionID, body []byte) (p actors.Prompt, noWait bool, err error) {
	var b promptBody
	if err := strict(body, &b); err != nil {
		return p, false, err
	}
	p = actors.Prompt{Session: id, ID: b.ID, Content: b.Content, Key: b.Key, Now: b.Now}
	if p.Queue, err = choice("whenBusy", b.WhenBusy, "refuse", "queue"); err != nil {
		return p, false, err
	}
	end, err := choice("ifAsked", b.IfAsked, "wait", "end")
	if err != nil {
		return p, false, err
	}
	if p.IfAsked = actors.WaitForAnswer; end {
		p.IfAsked = actors.EndTurn
	}
	if len(p.ID) > protocol.MaxIDBytes {
		return p, false, protocol.Errorf(protocol.CodeInvalidArgument, "promptId has at most %d bytes", protocol.MaxIDBytes)
	}
	if b.Open != nil && rawjson.Kind(b.Open) != 'n' {
		o, err := ParseOpen(b.Open)
		if err != nil {
			return p, false, err
		}
		if !rawHas(b.Open, "sessionId") {
			o.Session = id
		}
		if o.Session != id {
			return p, false, protocol.Errorf(protocol.CodeInvalidArgument, "open names session %q in a prompt to %q", o.Session, id)
		}
		p.Open = &o
	}
	return p, b.NoWait, nil
}

func rawHas(obj []byte, name string) bool {
	_, has := rawjson.Get(obj, name)
	return has
}

// choice reports whether a word is the second of two; "" is the first.
func choice(name, word, first, second string) (bool, error) {
	switch word {
	case "", first:
		return false, nil
	case second:
		return true, nil
	}
	return false, protocol.Errorf(protocol.CodeInvalidArgument, "%s is %s or %s, not %q", name, first, second, word)
}

// AppendAnswer appends the answer of a prompt: {"result":{...}}, with
// "recalled":true behind it if no turn was run for it.
func AppendAnswer(dst []byte, a protocol.Answer) []byte {
	dst = public.AppendAnswer(dst, a)
	if a.Recalled {
		dst = append(dst[:len(dst)-1], `,"recalled":true}`...)
	}
	return dst
}

// ParseAnswer reads an answer, or the place of a queued prompt; one of the two is
// nil.
func ParseAnswer(body []byte) (*protocol.Answer, *protocol.Queued, error) {
	if raw, ok := rawjson.Get(body, "queued"); ok {
		q, err := public.ParseQueued(raw)
		return nil, &q, err
	}
	raw, ok := rawjson.Get(body, "result")
	if !ok {
		return nil, nil, fmt.Errorf("parse answer: neither result nor queued")
	}
	a, err := public.ParseAnswer(raw)
	recalled, _ := rawjson.Get(body, "recalled")
	a.Recalled = string(recalled) == "true"
	return &a, nil, err
}

// AppendRecall appends what became of a prompt: {"found":false}, or found with the
// result or the error of it.
func AppendRecall(dst []byte, a *protocol.Answer, found bool, failure *protocol.Error) []byte {
	switch {
	case !found:
		return append(dst, `{"found":false}`...)
	case failure != nil:
		dst = append(dst, `{"found":true,`...)
		return append(dst, public.AppendError(nil, failure)[1:]...)
	}
	dst = append(dst, `{"found":true,`...)
	return append(dst, AppendAnswer(nil, *a)[1:]...)
}

// ParseRecall reads what AppendRecall wrote; err is the prompt's own if it was
// found.
func ParseRecall(body []byte) (a *protocol.Answer, found bool, err error) {
	if raw, _ := rawjson.Get(body, "found"); string(raw) != "true" {
		return nil, false, nil
	}
	if raw, ok := rawjson.Get(body, "error"); ok {
		return nil, true, public.ParseErrorObject(raw)
	}
	a, _, err = ParseAnswer(body)
	return a, true, err
}
