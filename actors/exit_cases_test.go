package actors_test

import (
	"fmt"
	"strings"
	"testing"

	"agentos/actors/feed"
	"agentos/protocol"
)

// TestAD01_KilledInATurn: an agent that is killed behind three chunks fails its
// prompt at once; the chunks are there, and the next prompt brings the session back.
func TestAD01_KilledInATurn(t *testing.T) {
	r := newRig(t).start()
	w := r.watch("main", 0)
	end := r.prompting("[[chunks 3]] [[hang]]")
	said := 0
	w.until(t, "three chunks", func(i feed.Item) bool {
		if i.Delta != nil {
			said++
		}
		return said == 3
	})
	r.agents.kill()
	if got := <-end; got != string(protocol.CodeAdapterExited) {
		t.Errorf("prompt: %s; want adapter_exited", got)
	}
	if info := r.info("main"); info.State != protocol.StateFailed || len(info.Error) == 0 {
		t.Errorf("session is %s, %s; want failed, with its reason", info.State, info.Error)
	}
	text := ""
	for _, e := range r.history("main") {
		if kindOf(e) == "agent_message_chunk" {
			text += chunkText(t, e.Payload)
		}
	}
	if !strings.HasPrefix(text, "word1 word2 word3") {
		t.Errorf("what it had said: %q", text)
	}
	if a := r.mustPrompt("again"); a.RestoredBy != protocol.RestoredResume {
		t.Errorf("restoredBy = %s; want resume", a.RestoredBy)
	}
	r.check()
}

// TestAD06_GoneWhileIdle: an agent that ended between two turns is not written to;
// the next prompt starts another, which brings the session back.
func TestAD06_GoneWhileIdle(t *testing.T) {
	r := newRig(t).start()
	for n := range 3 {
		a := r.mustPrompt(fmt.Sprint("hello ", n))
		if want := []protocol.RestoredBy{protocol.RestoredNew, protocol.RestoredResume, protocol.RestoredResume}[n]; a.RestoredBy != want {
			t.Errorf("turn %d: restoredBy = %s; want %s", n, a.RestoredBy, want)
		}
		r.agents.kill()
		r.becomes("the end noticed", func() bool { running, _ := r.agents.counts(); return running == 0 })
		if s := r.info("main").State; s != protocol.StateIdle {
			t.Errorf("session is %s; want idle", s)
		}
	}
	for line, n := range r.agents.sent() {
		if n != 1 {
			t.Errorf("%s was sent %d times", line, n)
		}
	}
	r.check()
}
