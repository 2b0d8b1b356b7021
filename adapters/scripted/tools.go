package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The directives about tool calls and permissions.

// toolCall is what is said of a tool call; empty members are not mentioned.
type toolCall struct {
	id      string
	title   string
	kind    string
	status  string
	input   string // raw
	content string // raw array
}

// members are the call's members, without braces.
func (c toolCall) members() string {
	m := []string{`"toolCallId":` + quote(c.id)}
	for _, text := range []struct{ name, value string }{{"title", c.title}, {"kind", c.kind}, {"status", c.status}} {
		if text.value != "" {
			m = append(m, `"`+text.name+`":`+quote(text.value))
		}
	}
	if c.content != "" {
		m = append(m, `"content":`+c.content)
	}
	if c.input != "" {
		m = append(m, `"rawInput":`+c.input)
	}
	return strings.Join(m, ",")
}

// toolText is text as the content of a tool call.
func toolText(text string) string { return `[{"type":"content","content":` + textBlock(text) + `}]` }

// startCall announces a tool call.
func (t *turn) startCall(title, kind, status, input string) toolCall {
	t.pause()
	c := toolCall{id: t.session.nextCall(), title: title, kind: kind, status: status, input: input}
	t.update(t.agent.surface.call(c, true))
	return c
}

// changeCall says what became of a tool call.
func (t *turn) changeCall(id, status, content string) {
	t.update(t.agent.surface.call(toolCall{id: id, status: status, content: content}, false))
}

func runTool(t *turn, arg string) error {
	if arg == "" {
		return errUsage
	}
	c := t.startCall(arg, "other", "pending", `{"tool":`+quote(arg)+`}`)
	t.changeCall(c.id, "in_progress", "")
	t.changeCall(c.id, "completed", toolText(arg+" is done"))
	return nil
}

func runCalls(t *turn, arg string) error {
	n, err := count(arg)
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

// permissionOptions are the options of every request; their ids are short words.
const permissionOptions = `[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow","kind":"allow_always"},` +
	`{"optionId":"reject","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject","kind":"reject_always"}]`

var permissionOptionIDs = []string{"allow", "allow_always", "reject", "reject_always"}

func runAsk(t *turn, arg string) error {
	if arg != "" && arg != "bare" {
		return errUsage
	}
	return t.ask(1, arg == "bare")
}

func runAsks(t *turn, arg string) error {
	n, err := count(arg)
	if err != nil {
		return err
	}
	return t.ask(n, false)
}

// ask makes n permission requests, waits for all and says what came of each.
func (t *turn) ask(n int, bare bool) error {
	calls := make([]toolCall, n)
	requests := make([]pending, n)
	wire, surface := t.agent.conn, t.agent.surface
	for i := range calls {
		title := fmt.Sprintf("dangerous thing %d", i+1)
		if bare {
			t.pause()
			calls[i] = toolCall{id: t.session.nextCall(), title: title, kind: "execute", status: "pending"}
		} else {
			calls[i] = t.startCall(title, "execute", "pending", "")
		}
		requests[i] = wire.request("session/request_permission", surface.permission(t.session.id, calls[i]))
	}
	surface.blocked(t, true)
	replies := t.await(requests, func() {
		for _, r := range requests {
			surface.abandon(wire, r)
		}
	})
	if t.ctx.Err() == nil {
		surface.blocked(t, false)
	}
	return t.sayOutcomes(calls, replies, bare)
}

// sayOutcomes ends the calls and says which option each was given. In version 1
// a cancelled outcome means that the turn is being cancelled, even when
// session/cancel itself comes later.
func (t *turn) sayOutcomes(calls []toolCall, replies []reply, bare bool) error {
	outcomes := make([]string, len(calls))
	for i, c := range calls {
		outcomes[i] = outcome(replies[i])
		if outcomes[i] == "cancelled" && t.agent.surface.version() == 1 {
			t.cancel()
		}
		switch {
		case bare:
		case strings.HasPrefix(outcomes[i], "allow"):
			t.changeCall(c.id, "completed", "")
		default:
			t.changeCall(c.id, "failed", toolText("not allowed"))
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

// outcome puts the answer to a permission request into words. Only an option
// that was offered is ever an allow.
func outcome(r reply) string {
	if r.err != nil {
		if r.err.Code == codeNotAnswered {
			return "cancelled"
		}
		return "not approved, " + r.err.Error()
	}
	var result struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	err := json.Unmarshal(r.result, &result)
	switch o := result.Outcome; {
	case err != nil:
		return "not approved, the answer is unreadable"
	case o.Outcome == "cancelled":
		return "cancelled"
	case o.Outcome == "selected" && slices.Contains(permissionOptionIDs, o.OptionID):
		return o.OptionID
	case o.Outcome == "selected":
		return fmt.Sprintf("not approved, option %q was not offered", o.OptionID)
	default:
		return fmt.Sprintf("not approved, outcome %q is not known", o.Outcome)
	}
}
