package acp

import (
	"bytes"
	"errors"

	"agentos/protocol/rawjson"
)

// ChunkKind says which kind of message an update is a piece of (S7.1).
type ChunkKind int

// The kinds of chunks.
const (
	None ChunkKind = iota // not a chunk
	User
	Agent
	Thought
	Compaction // of a compaction's summary
)

func (k ChunkKind) String() string {
	switch k {
	case User:
		return "user"
	case Agent:
		return "agent"
	case Thought:
		return "thought"
	case Compaction:
		return "compaction"
	}
	return "none"
}

// The names of the updates that the runtime acts on.
const (
	updateUser       = "user_message_chunk"
	updateAgent      = "agent_message_chunk"
	updateThought    = "agent_thought_chunk"
	updateCompaction = "compaction_summary_chunk"

	UpdateSessionInfo  = "session_info_update"
	UpdateConfigOption = "config_option_update"
	UpdateCurrentMode  = "current_mode_update"
)

func chunkKind(update string) ChunkKind {
	switch update {
	case updateUser:
		return User
	case updateAgent:
		return Agent
	case updateThought:
		return Thought
	case updateCompaction:
		return Compaction
	}
	return None
}

// Update is a view of one session update.
type Update struct {
	Raw   []byte // the value of params.update as received
	Kind  string // its sessionUpdate, known or not; not ""
	Chunk ChunkKind
	// MessageID names the message of a chunk; for a compaction it is the
	// compactionId. Absent, null and malformed are all "no id", which is not the
	// same as an empty one.
	MessageID    string
	HasMessageID bool
	// IsText: a chunk whose only content is a text block with one text. Then
	// Raw[TextAt:TextEnd] is that text, escaped, without its quotes.
	IsText          bool
	TextAt, TextEnd int
	ContentRaw      []byte // the content of a chunk; nil if absent
}

// ParseSessionUpdate takes the params of session/update apart. The update is
// not looked into: see ParseUpdate.
func ParseSessionUpdate(params []byte) (sessionID string, update []byte, err error) {
	sessionID, ok := rawjson.GetString(params, "sessionId")
	if !ok {
		return "", nil, errors.New("read session/update: no sessionId")
	}
	update, ok = rawjson.Get(params, "update")
	if !ok {
		return "", nil, errors.New("read session/update: no update")
	}
	return sessionID, update, nil
}

// ParseUpdate returns a view of an update. It fails only if raw is not an
// object or does not say what kind of update it is.
func ParseUpdate(raw []byte) (Update, error) {
	if rawjson.Kind(raw) != '{' {
		return Update{}, errors.New("read update: not an object")
	}
	var v members
	for m := range rawjson.Members(raw) {
		switch {
		case m.Is("sessionUpdate"):
			v.kind = m.Value
		case m.Is("messageId"):
			v.messageID = m.Value
		case m.Is("compactionId"):
			v.compactionID = m.Value
		case m.Is("content"):
			v.content, v.contentAt = m.Value, m.ValueAt
			v.contents++
		}
	}
	kind, ok := updateKind(v.kind)
	if !ok || kind == "" {
		return Update{}, errors.New("read update: no sessionUpdate")
	}
	u := Update{Raw: raw, Kind: kind, Chunk: chunkKind(kind)}
	if u.Chunk == None {
		return u, nil
	}
	id := v.messageID
	if u.Chunk == Compaction {
		id = v.compactionID
	}
	u.MessageID, u.HasMessageID = rawjson.String(id)
	u.ContentRaw = v.content
	if v.contents == 1 {
		u.findText(v.contentAt)
	}
	return u, nil
}

// updateKind decodes the kind of an update; those that come by the thousand
// cost no memory.
func updateKind(raw []byte) (string, bool) {
	for _, kind := range []string{updateAgent, updateThought, updateUser} {
		if rawjson.IsString(raw, kind) {
			return kind, true
		}
	}
	return rawjson.String(raw)
}

// members are the raw members of an update that matter.
type members struct {
	kind, messageID, compactionID, content []byte
	contentAt, contents                    int
}

// findText sets the text members of u if its content, which is at Raw[at:], is
// a text block. Duplicates make it something to be kept as it is.
func (u *Update) findText(at int) {
	var kind, text rawjson.Member
	kinds, texts := 0, 0
	for m := range rawjson.Members(u.ContentRaw) {
		switch {
		case m.Is("type"):
			kind = m
			kinds++
		case m.Is("text"):
			text = m
			texts++
		}
	}
	if kinds != 1 || texts != 1 || rawjson.Kind(text.Value) != '"' {
		return
	}
	if !rawjson.IsString(kind.Value, "text") {
		return
	}
	u.IsText = true
	u.TextAt = at + text.ValueAt + 1
	u.TextEnd = at + text.ValueAt + len(text.Value) - 1
}

// Text returns the decoded text of a text chunk, "" of anything else.
func (u Update) Text() string {
	if !u.IsText {
		return ""
	}
	s, _ := rawjson.Unescape(u.Raw[u.TextAt:u.TextEnd])
	return s
}

// Side reports whether the update is of a kind that comes between the chunks of
// a message without ending it (S7.1).
func (u Update) Side() bool {
	switch u.Kind {
	case "usage_update", UpdateSessionInfo, "available_commands_update", UpdateCurrentMode, UpdateConfigOption, "notice":
		return true
	}
	return false
}

// Mergeable reports whether b's text may be appended to a's: both are text
// chunks and all but the text is the same, byte for byte (S7.3).
func Mergeable(a, b Update) bool {
	return a.IsText && b.IsText &&
		bytes.Equal(a.Raw[:a.TextAt], b.Raw[:b.TextAt]) &&
		bytes.Equal(a.Raw[a.TextEnd:], b.Raw[b.TextEnd:])
}

// ContentOf returns the content block of a stored chunk, nil if it has none.
func ContentOf(chunkRaw []byte) []byte {
	content, _ := rawjson.Get(chunkRaw, "content")
	return content
}

// ParseSessionInfo reads the title of a session_info_update. hasTitle says that
// the update is about the title; then a nil title clears it.
func ParseSessionInfo(raw []byte) (title *string, hasTitle bool) {
	value, ok := rawjson.Get(raw, "title")
	if !ok {
		return nil, false
	}
	if text, ok := rawjson.String(value); ok {
		return &text, true
	}
	return nil, rawjson.Kind(value) == 'n'
}

// ParseConfigOptions returns the configOptions of a config_option_update or of
// the result of session/set_config_option, nil if there is no such array.
func ParseConfigOptions(raw []byte) []byte { return getKind(raw, '[', "configOptions") }

// ParseCurrentMode returns the mode of a current_mode_update.
func ParseCurrentMode(raw []byte) (mode string, ok bool) {
	return rawjson.GetString(raw, "currentModeId")
}

// getKind returns the value at names if it is of the kind that rawjson.Kind
// calls kind, else nil.
func getKind(raw []byte, kind byte, names ...string) []byte {
	value, ok := rawjson.Get(raw, names...)
	if !ok || rawjson.Kind(value) != kind {
		return nil
	}
	return value
}
