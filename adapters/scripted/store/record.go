package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"agentos/adapters/scripted/wire"
)

// IDs are how many ids of each kind a session has given out.
type IDs struct {
	Messages int `json:"messages"`
	Calls    int `json:"calls"`
}

// Said is one message of the agent, or a part of one.
type Said struct {
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
}

// Entry is one message of a conversation: of the user, with its content blocks
// as they came, or of the agent, with its text.
type Entry struct {
	User      bool
	MessageID string
	Content   []json.RawMessage // user
	Text      string            // agent
}

// Past is what a session's file tells.
type Past struct {
	Cwd     string
	Title   string // "" if none was given
	IDs     IDs    // no id above these was ever given out
	Prompts int
	Entries []Entry

	whole int64 // bytes of the whole lines
	torn  bool  // something follows them
}

// record is a line of a session's file. Type says which members it has:
//
//	session  cwd; the first line
//	prompt   messageId, content, ids: a bound on the ids its turn may give out
//	ids      ids: a higher bound, for a turn that needs more
//	reply    messages, stopReason, ids: those really given out; or, for a delta
//	         that came late, messages alone
//	title    title
type record struct {
	Type      string            `json:"type"`
	Cwd       string            `json:"cwd"`
	MessageID string            `json:"messageId"`
	Content   []json.RawMessage `json:"content"`
	Messages  []Said            `json:"messages"`
	IDs       *IDs              `json:"ids"`
	Title     string            `json:"title"`
}

// parse reads a session's file. Bytes after the last newline are of a write
// that was cut off; they are not looked at, only reported.
func parse(file []byte) (*Past, error) {
	p := &Past{}
	for number := 1; len(file) > 0; number++ {
		line, rest, whole := bytes.Cut(file, []byte("\n"))
		if !whole {
			p.torn = true
			break
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read line %d: %w", number, err)
		}
		p.add(r)
		p.whole += int64(len(line)) + 1
		file = rest
	}
	if p.whole == 0 {
		return nil, errors.New("read line 1: there is no whole line")
	}
	return p, nil
}

// add takes one line into account. Kinds of a later version are passed over.
func (p *Past) add(r record) {
	switch r.Type {
	case "session":
		p.Cwd = r.Cwd
	case "prompt":
		p.Prompts++
		p.Entries = append(p.Entries, Entry{User: true, MessageID: r.MessageID, Content: r.Content})
	case "reply":
		for _, m := range r.Messages {
			p.Entries = append(p.Entries, Entry{MessageID: m.MessageID, Text: m.Text})
		}
	case "title":
		p.Title = r.Title
	}
	if r.IDs != nil {
		p.IDs = *r.IDs
	}
}

// Create begins a session's file.
func (s *Store) Create(id, cwd string) error {
	return s.append(id, `{"type":"session","format":1,"cwd":`+wire.Quote(cwd)+`}`)
}

// Prompt stores a prompt, its blocks byte for byte, and a bound on the ids that
// its turn may give out.
func (s *Store) Prompt(id, messageID string, content []json.RawMessage, bound IDs) error {
	return s.append(id, `{"type":"prompt","messageId":`+wire.Quote(messageID)+`,"content":`+wire.Array(content)+`,"ids":`+bound.object()+`}`)
}

// Bound stores a higher bound on the ids that the turn may give out.
func (s *Store) Bound(id string, bound IDs) error {
	return s.append(id, `{"type":"ids","ids":`+bound.object()+`}`)
}

// Reply stores how a turn ended: what was said, why it stopped, and the ids
// given out.
func (s *Store) Reply(id string, messages []Said, stopReason string, used IDs) error {
	return s.append(id, `{"type":"reply","messages":`+said(messages)+`,"stopReason":`+wire.Quote(stopReason)+`,"ids":`+used.object()+`}`)
}

// Late stores something said after the end of its turn.
func (s *Store) Late(id string, message Said) error {
	return s.append(id, `{"type":"reply","messages":`+said([]Said{message})+`}`)
}

// Title stores the session's title.
func (s *Store) Title(id, title string) error {
	return s.append(id, `{"type":"title","title":`+wire.Quote(title)+`}`)
}

func (i IDs) object() string {
	return fmt.Sprintf(`{"messages":%d,"calls":%d}`, i.Messages, i.Calls)
}

func said(messages []Said) string {
	items := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		items[i] = json.RawMessage(`{"messageId":` + wire.Quote(m.MessageID) + `,"text":` + wire.Quote(m.Text) + `}`)
	}
	return wire.Array(items)
}
