package feed_test

import (
	"testing"

	"agentos/actors/feed"
	"agentos/protocol"
)

// What was received is shown in the bytes it came in; a state is encoded.
func TestReceived_KeepsItsBytes(t *testing.T) {
	i := feed.Received("main", feed.Item{Event: &protocol.Event{Sequence: 1, Payload: []byte(`{}`)}}, []byte("as it came"))
	if string(i.JSON()) != "as it came" || string(i.Line()) != "as it came" {
		t.Errorf("JSON = %s, Line = %s", i.JSON(), i.Line())
	}
	s := feed.NewState("main", feed.State{State: protocol.StateRunning, Prompt: "p", Sequence: 3})
	if got := string(s.Line()); s.JSON() != nil || got != `{"state":"running","sessionId":"main","promptId":"p","sequence":3}` {
		t.Errorf("Line = %s, JSON = %s", got, s.JSON())
	}
}
