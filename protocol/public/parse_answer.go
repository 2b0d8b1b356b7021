package public

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// ParseAnswer reads the object that AppendAnswer wrote as result; AppendAnswer of
// the answer is that text again. Whether it was Recalled is not in it.
func ParseAnswer(result []byte) (protocol.Answer, error) {
	if rawjson.Kind(result) != '{' {
		return protocol.Answer{}, errors.New("parse answer: no object")
	}
	var a protocol.Answer
	for m := range rawjson.Members(result) {
		text, _ := rawjson.String(m.Value)
		switch m.Name() {
		case "sessionId":
			a.Session = protocol.SessionID(text)
		case "promptId":
			a.Prompt = protocol.PromptID(text)
		case "stopReason":
			a.StopReason = text
		case "restoredBy":
			a.RestoredBy = protocol.RestoredBy(text)
		case "forced":
			a.Forced = string(m.Value) == "true"
		case "message":
			a.Message = parseMessage(m.Value)
		}
	}
	again := AppendAnswer(nil, a)
	if want := again[len(`{"result":`) : len(again)-1]; !bytes.Equal(want, result) {
		a.Stored = slices.Clone(result) // what an older runtime stored
	}
	return a, nil
}

func parseMessage(raw []byte) *protocol.Message {
	content, ok := rawjson.Get(raw, "content")
	if !ok {
		return nil
	}
	id, _ := rawjson.GetString(raw, "id")
	m := &protocol.Message{ID: protocol.MessageID(id)}
	for block := range rawjson.Elements(content) {
		m.Content = append(m.Content, slices.Clone(block))
	}
	return m
}

// ParseQueued reads the object that AppendQueued wrote as queued.
func ParseQueued(queued []byte) (protocol.Queued, error) {
	id, ok := rawjson.GetString(queued, "queueId")
	if !ok {
		return protocol.Queued{}, errors.New("parse queued prompt: no queueId")
	}
	q := protocol.Queued{ID: protocol.PromptID(id)}
	q.Position = getInt(queued, "position")
	q.Key, _ = rawjson.GetString(queued, "key")
	var err error
	if q.CreatedAt, err = getTime(queued, "createdAt"); err != nil {
		return protocol.Queued{}, fmt.Errorf("parse queued prompt: %w", err)
	}
	return q, nil
}

// ParseConfig reads what AppendConfig wrote.
func ParseConfig(raw []byte) (protocol.SessionID, protocol.ConfigInfo, error) {
	id, ok := rawjson.GetString(raw, "sessionId")
	if !ok {
		return "", protocol.ConfigInfo{}, errors.New("parse config: no sessionId")
	}
	c := protocol.ConfigInfo{Revision: getInt(raw, "revision")}
	c.Options = getRaw(raw, "configOptions")
	c.Modes = getRaw(raw, "modes")
	return protocol.SessionID(id), c, nil
}

// ParseSession reads what AppendSession wrote.
func ParseSession(raw []byte) (protocol.SessionInfo, error) {
	id, ok := rawjson.GetString(raw, "sessionId")
	if !ok {
		return protocol.SessionInfo{}, errors.New("parse session: no sessionId")
	}
	s := protocol.SessionInfo{ID: protocol.SessionID(id)}
	s.Agent, _ = rawjson.GetString(raw, "agent")
	s.Cwd, _ = rawjson.GetString(raw, "cwd")
	dirs, _ := rawjson.Get(raw, "additionalDirectories")
	for dir := range rawjson.Elements(dirs) {
		text, _ := rawjson.String(dir)
		s.AdditionalDirectories = append(s.AdditionalDirectories, text)
	}
	state, _ := rawjson.GetString(raw, "state")
	prompt, _ := rawjson.GetString(raw, "promptId")
	s.State, s.Prompt = protocol.State(state), protocol.PromptID(prompt)
	s.Error = getRaw(raw, "error")
	s.LatestSequence = protocol.Sequence(getInt(raw, "latestSequence"))
	s.OldestRetainedSequence = protocol.Sequence(getInt(raw, "oldestRetainedSequence"))
	s.RetainedEvents, s.RetainedBytes = getInt(raw, "retainedEvents"), getInt(raw, "retainedBytes")
	if title, ok := rawjson.GetString(raw, "title"); ok {
		s.Title = &title
	}
	var err, uerr error
	s.CreatedAt, err = getTime(raw, "createdAt")
	s.UpdatedAt, uerr = getTime(raw, "updatedAt")
	if err := errors.Join(err, uerr); err != nil {
		return protocol.SessionInfo{}, fmt.Errorf("parse session: %w", err)
	}
	return s, nil
}

func getInt(obj []byte, name string) int64 {
	raw, _ := rawjson.Get(obj, name)
	n, _ := rawjson.Int(raw)
	return n
}

// getRaw returns a copy of a member, nil for null.
func getRaw(obj []byte, name string) []byte {
	raw, _ := rawjson.Get(obj, name)
	if rawjson.Kind(raw) == 'n' {
		return nil
	}
	return slices.Clone(raw)
}

func getTime(obj []byte, name string) (protocol.TimeMS, error) {
	text, _ := rawjson.GetString(obj, name)
	at, err := time.Parse(timeLayout, text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return protocol.TimeOf(at), nil
}
