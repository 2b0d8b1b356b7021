package main

import (
	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/acp"
)

// ownTurn tells the turn of one prompt from what else is published in its session:
// turns that others run there before it, or instead of it.
//
// A turn's input is published before the state that says whose it is, so it is kept
// until that comes. Where nothing says whose something is, it is shown: a state may
// be lost to slowness, but no turn of ours is.
type ownTurn struct {
	prompt protocol.PromptID
	all    bool              // show everything
	runs   protocol.PromptID // the turn that runs, "" if none is known
	held   []feed.Item       // input of a turn that has no name yet
}

// take returns what is to be shown now that i has come.
func (o *ownTurn) take(i feed.Item) []feed.Item {
	switch {
	case o.all || o.runs == o.prompt && i.State == nil:
		return []feed.Item{i}
	case i.State != nil:
		return o.named(*i.State)
	case o.runs != "":
		return nil
	case isInput(i):
		o.held = append(o.held, i)
		return nil
	}
	return append(o.release(), i)
}

// named hears whose turn runs.
func (o *ownTurn) named(s feed.State) []feed.Item {
	o.runs = ""
	if s.State == protocol.StateRunning || s.State == protocol.StateWaiting {
		o.runs = s.Prompt
	}
	if o.runs == o.prompt {
		return o.release()
	}
	if o.runs != "" {
		o.held = nil
	}
	return nil
}

func (o *ownTurn) release() []feed.Item {
	held := o.held
	o.held = nil
	return held
}

func isInput(i feed.Item) bool {
	if i.Event == nil || i.Event.Kind != protocol.KindUpdate {
		return false
	}
	u, err := acp.ParseUpdate(i.Event.Payload)
	return err == nil && u.Chunk == acp.User
}
