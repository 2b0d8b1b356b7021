package public

import (
	"errors"
	"strconv"

	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// State is what `watch` says of a session between its events: what it does now.
type State struct {
	State    protocol.State
	Session  protocol.SessionID
	Prompt   protocol.PromptID // "" if it runs none and none has failed
	Sequence protocol.Sequence // the latest event before it
}

// AppendState appends {"state","sessionId","promptId","sequence"}.
func AppendState(dst []byte, s State) []byte {
	dst = rawjson.AppendString(append(dst, `{"state":`...), string(s.State))
	dst = appendText(dst, "sessionId", string(s.Session))
	dst = appendOptional(append(dst, `,"promptId":`...), string(s.Prompt))
	dst = strconv.AppendInt(append(dst, `,"sequence":`...), int64(s.Sequence), 10)
	return append(dst, '}')
}

// ParseState reads what AppendState wrote.
func ParseState(line []byte) (State, error) {
	state, ok := rawjson.GetString(line, "state")
	if !ok {
		return State{}, errors.New("parse state: the line is no state")
	}
	session, _ := rawjson.GetString(line, "sessionId")
	prompt, _ := rawjson.GetString(line, "promptId")
	return State{
		State: protocol.State(state), Session: protocol.SessionID(session), Prompt: protocol.PromptID(prompt),
		Sequence: protocol.Sequence(getInt(line, "sequence")),
	}, nil
}
