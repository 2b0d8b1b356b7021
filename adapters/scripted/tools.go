package scripted

import (
	"fmt"
	"strings"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/surface"
	"agentos/adapters/scripted/wire"
)

// The directives about tool calls and permissions.

// startCall announces a tool call.
func (t *turn) startCall(title, kind, status, input string) surface.Call {
	t.pause()
	c := surface.Call{ID: t.session.nextCall(), Title: title, Kind: kind, Status: status, Input: input}
	t.update(t.agent.surface.Call(c, true))
	return c
}

// changeCall says what became of a tool call.
func (t *turn) changeCall(id, status, content string) {
	t.update(t.agent.surface.Call(surface.Call{ID: id, Status: status, Content: content}, false))
}

func runTool(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	c := t.startCall(arg, "other", "pending", `{"tool":`+wire.Quote(arg)+`}`)
	t.changeCall(c.ID, "in_progress", "")
	t.changeCall(c.ID, "completed", surface.CallText(arg+" is done"))
	return nil
}

func runCalls(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		if t.ctx.Err() != nil {
			return errStop
		}
		t.startCall(fmt.Sprintf("call %d", i), "other", "completed", "")
	}
	return nil
}

func runAsk(t *turn, arg string) error {
	if arg != "" && arg != "bare" {
		return script.ErrUsage
	}
	return t.ask(1, arg == "bare")
}

// maxAsks bounds [[asks]]: all its requests are held at once.
const maxAsks = 100_000

func runAsks(t *turn, arg string) error {
	n, err := script.Count(arg)
	if err != nil || n > maxAsks {
		return script.ErrUsage
	}
	return t.ask(n, false)
}

// ask makes n permission requests, waits for all and says what came of each.
func (t *turn) ask(n int, bare bool) error {
	calls := make([]surface.Call, n)
	requests := make([]wire.Request, n)
	conn, version := t.agent.conn, t.agent.surface
	for i := range calls {
		title := fmt.Sprintf("dangerous thing %d", i+1)
		if bare {
			t.pause()
			calls[i] = surface.Call{ID: t.session.nextCall(), Title: title, Kind: "execute", Status: "pending"}
		} else {
			calls[i] = t.startCall(title, "execute", "pending", "")
		}
		requests[i] = conn.Request("session/request_permission", version.Permission(t.session.id, calls[i]))
	}
	t.update(version.Blocked(true))
	replies := t.await(requests, func(open []wire.Request) {
		for _, r := range open {
			if version.Withdraws() {
				conn.Notify("$/cancel_request", `{"requestId":`+r.ID+`}`)
			}
		}
	})
	if t.ctx.Err() == nil {
		t.update(version.Blocked(false))
	}
	return t.sayOutcomes(calls, replies, bare)
}

// sayOutcomes ends the calls and says which option each was given. Where a
// cancelled outcome means that the turn is being cancelled, it is, even when
// session/cancel itself comes later.
func (t *turn) sayOutcomes(calls []surface.Call, replies []wire.Reply, bare bool) error {
	outcomes := make([]string, len(calls))
	for i, c := range calls {
		outcomes[i] = surface.Outcome(replies[i])
		if outcomes[i] == surface.Cancelled && t.agent.surface.CancelledEnds() {
			t.cancel()
		}
		switch {
		case bare:
		case strings.HasPrefix(outcomes[i], "allow"):
			t.changeCall(c.ID, "completed", "")
		default:
			t.changeCall(c.ID, "failed", surface.CallText("not allowed"))
		}
	}
	for i, o := range outcomes {
		text := "permission: " + o + "\n"
		if len(outcomes) > 1 {
			text = fmt.Sprintf("permission %d: %s\n", i+1, o)
		}
		if i == len(outcomes)-1 {
			text += t.closing()
		}
		t.say(text)
	}
	return nil
}
