package actors_test

import (
	"testing"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence/core"
	"agentos/protocol"
)

// A session is deleted in its turn: gone at once for everybody, its adapter too,
// and its name is free when it has been swept, over a restart as well (S9.3).
func TestS9_3_Delete(t *testing.T) {
	r := newRig(t).start()
	for range 5 {
		r.mustPrompt("#old [[calls 200]] [[chunks 50]]")
	}
	w := r.watch("main", 0)
	ended := make(chan error, 1)
	go func() {
		_, err := r.prompt("[[ask]] [[hang]]")
		ended <- err
	}()
	w.until(t, "question", func(i feed.Item) bool { return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest })
	if err := r.vm.Delete(r.ctx(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; protocol.CodeOf(err) != protocol.CodePromptInterrupted {
		t.Errorf("its turn: %v; want prompt_interrupted", err)
	}
	if running, _ := r.agents.counts(); running != 0 {
		t.Errorf("%d agents are running", running)
	}
	if err := r.vm.Delete(r.ctx(), "main"); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := r.vm.History(r.ctx(), "main", core.PageRequest{}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Errorf("history: %v; want session_not_found", err)
	}
	if _, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "main", Content: text("hi")}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Errorf("prompt without opening: %v; want session_not_found", err)
	}
	if list, _, err := r.vm.Sessions(r.ctx(), "", 0); err != nil || len(list) != 0 {
		t.Errorf("sessions = %v, %v; want none", list, err)
	}
	r.restart() // in the middle of the sweep, most likely
	if a := r.mustPrompt("which?"); messageText(a.Message) == "" || a.RestoredBy != protocol.RestoredNew {
		t.Errorf("opened anew: %+v", a)
	}
	if events := r.history("main"); len(events) != 2 || events[0].Sequence != 1 {
		t.Errorf("%d events from %d; want those of one turn", len(events), events[0].Sequence)
	}
	r.check()
}
