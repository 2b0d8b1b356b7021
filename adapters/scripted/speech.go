package scripted

import (
	"fmt"
	"strings"
	"time"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// The directives that make text and other quiet updates.

func runChunks(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil {
		return err
	}
	return t.sayWords(n, 0)
}

func runSlow(t *turn, arg string) error {
	n, err := script.Integers(arg, 2)
	if err != nil || n[0] < 0 || n[1] < 0 {
		return script.ErrUsage
	}
	return t.sayWords(n[0], time.Duration(n[1])*time.Millisecond)
}

// sayWords says n words, one a delta.
func (t *turn) sayWords(n int, apart time.Duration) error {
	for i := 1; i <= n; i++ {
		if i > 1 && apart > 0 && !t.sleep(apart) || t.ctx.Err() != nil {
			return errStop
		}
		word := fmt.Sprintf("word%d ", i)
		if i == n {
			word += t.closing()
		}
		t.say(word)
	}
	return nil
}

func runBig(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil {
		return err
	}
	end := t.closing()
	if len(end) > n {
		end = ""
	}
	t.say(strings.Repeat("x", n-len(end)) + end)
	return nil
}

func runThink(t *turn, _ string) error {
	t.pause()
	id := t.session.nextMessage()
	for _, thought := range []string{"Let me think. ", "Done."} {
		t.update(t.agent.surface.Chunk("agent_thought_chunk", id, surface.Text(thought)))
	}
	return nil
}

func runLate(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil {
		return err
	}
	t.late = append(t.late, time.Duration(n)*time.Millisecond)
	return nil
}

// runUsage shows that a usage_update does not end the message around it.
func runUsage(t *turn, _ string) error {
	t.say("Counting ")
	_, prompts, _ := t.session.context()
	t.update(fmt.Sprintf(`{"sessionUpdate":"usage_update","used":%d,"size":200000}`, 100*prompts))
	t.say("tokens. " + t.closing())
	return nil
}

func runTitle(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	if err := t.session.remember(func() error { return t.session.store.Title(t.session.id, arg) }); err != nil {
		return err
	}
	t.update(`{"sessionUpdate":"session_info_update","title":` + wire.Quote(arg) + `}`)
	return nil
}

// runRaw says nothing of its own, not even the tags: what is on the wire is
// what the prompt put there.
func runRaw(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	t.pause()
	t.closing()
	t.update(arg)
	return nil
}
