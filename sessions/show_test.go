package sessions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/sessions"
)

// showChange writes one change of a batch.
func showChange(c protocol.Change) string {
	switch c := c.(type) {
	case protocol.SessionOpened:
		return fmt.Sprintf("session %s %s %s", c.Record.Spec.Agent, c.Record.Spec.Cwd, c.Record.Spec.Policy)
	case protocol.EventAppended:
		return fmt.Sprintf("event %d %s", c.Event.Sequence, showEvent(c.Event))
	case protocol.PromptAccepted:
		key := ""
		if c.Prompt.Key != "" {
			key = ", key " + c.Prompt.Key
		}
		return fmt.Sprintf("accepted %s%s, input from %d", c.Prompt.ID, key, c.Prompt.FirstInput)
	case protocol.PromptEnded:
		what := string(c.Prompt.Result)
		if c.Prompt.State == protocol.PromptFailedState {
			what = showError(c.Prompt.Error)
		}
		return fmt.Sprintf("ended %s %s, output to %d: %s", c.Prompt.ID, c.Prompt.State, c.Prompt.LastOutput, what)
	case protocol.PermissionOpened:
		return fmt.Sprintf("pending %s of %s", c.Permission.ID, c.Permission.Prompt)
	case protocol.PermissionClosed:
		return fmt.Sprintf("closed %s %s, %s", c.Permission.ID, c.Permission.State, c.Permission.Reason)
	case protocol.AdapterBound:
		s := fmt.Sprintf("bound %s by %s", c.ACPSession, c.RestoredBy)
		if c.Prompted {
			s += ", prompted"
		}
		if c.PreviousACP != nil {
			s += ", aside " + string(c.PreviousACP)
		}
		return s
	case protocol.ProfileChanged:
		return fmt.Sprintf("profile title %s, config %d %s", showTitle(c.Title), c.ConfigRevision, orNone(c.ConfigOptions)) + showMetadata(c.Metadata)
	case protocol.SessionDeleted:
		return "deleted"
	case protocol.PromptQueued:
		return fmt.Sprintf("queued %d %s %s", c.Queued.Position, c.Queued.ID, c.Queued.Content)
	case protocol.QueueEdited:
		return fmt.Sprintf("queued %s is now %s", c.ID, c.Content)
	case protocol.QueueRemoved:
		return fmt.Sprintf("out of the queue %s", c.ID)
	case protocol.LaunchChanged:
		if c.Launch == nil {
			return "agent " + c.Agent
		}
		return fmt.Sprintf("agent %s %q", c.Agent, c.Launch.Argv)
	}
	return fmt.Sprintf("%T", c)
}

func showEvent(e protocol.Event) string {
	switch e.Kind {
	case protocol.KindPermissionRequest:
		return fmt.Sprintf("request %s %s", e.Request, e.Payload)
	case protocol.KindPermissionResponse:
		return strings.TrimSpace(fmt.Sprintf("response %s %s %s", e.Request, e.Status, e.Reason)) + " " + string(e.Payload)
	}
	return string(e.Payload)
}

func (c *console) showEffect(e sessions.Effect) string {
	switch e := e.(type) {
	case sessions.Publish:
		if e.Event.Run != "" {
			return fmt.Sprintf("publish %d, run %s", e.Event.Sequence, e.Event.Run)
		}
		return fmt.Sprintf("publish %d", e.Event.Sequence)
	case sessions.PublishDelta:
		return fmt.Sprintf("delta after %d, run %s+%d %s", e.Delta.After, e.Delta.Run, e.Delta.Offset, e.Delta.Payload)
	case sessions.PublishState:
		return fmt.Sprintf("state %s at %d", state(protocol.Record{State: e.State, Prompt: e.Prompt}), e.Sequence)
	case sessions.StartRoute:
		return fmt.Sprintf("start route %d for %q", e.Route, e.Record.ACPSession)
	case sessions.StopRoute:
		return fmt.Sprintf("stop route %d", e.Route)
	case sessions.Dispatch:
		return fmt.Sprintf("dispatch %s to %s on route %d: %s", e.Prompt, e.ACP, e.Route, bytes.Join(e.Blocks, []byte(" ")))
	case sessions.SendCancel:
		return fmt.Sprintf("send cancel of %s to %s on route %d", e.Prompt, e.ACP, e.Route)
	case sessions.AnswerCall:
		return fmt.Sprintf("answer %s on route %d: %s", e.Call, e.Route, e.Result)
	case sessions.Deleted:
		return "deleted"
	case sessions.FindKey:
		return "find key " + e.Key
	case sessions.FindPermission:
		return fmt.Sprintf("find what became of %s for %s", e.Request, c.tokens[e.Token-1])
	case sessions.SetConfig:
		if e.Setting.Mode != "" {
			return fmt.Sprintf("set mode %s of %s on route %d for %s", e.Setting.Mode, e.ACP, e.Route, c.tokens[e.Token-1])
		}
		return fmt.Sprintf("set %s to %s of %s on route %d for %s", e.Setting.Option, e.Setting.Value, e.ACP, e.Route, c.tokens[e.Token-1])
	case sessions.Reply:
		return c.showReply(e)
	case sessions.Hold:
		return "hold " + e.For
	case sessions.Release:
		return "release " + e.For
	case sessions.Note:
		return "note: " + e.Text
	}
	return fmt.Sprintf("%T", e)
}

// showReply writes a reply; it is the console that knows who waits.
func (c *console) showReply(r sessions.Reply) string {
	who := "nobody"
	if r.Token > 0 {
		who = c.tokens[r.Token-1]
	}
	switch {
	case r.Err != nil:
		return fmt.Sprintf("reply to %s: error %s", who, showError(public.ErrorObject(r.Err)))
	case r.Answer != nil:
		line := public.AppendAnswer(nil, *r.Answer)
		if !json.Valid(line) {
			c.t.Errorf("the answer is no JSON: %s", line)
		}
		return fmt.Sprintf("reply to %s: %s", who, line)
	}
	if r.Queued != nil {
		return fmt.Sprintf("reply to %s: queued %d %s", who, r.Queued.Position, r.Queued.ID)
	}
	if r.Permission != nil {
		return fmt.Sprintf("reply to %s: %s", who, r.Permission.Status)
	}
	if r.Config != nil {
		return fmt.Sprintf("reply to %s: config %d %s, modes %s", who, r.Config.Revision, orNone(r.Config.Options), orNone(r.Config.Modes))
	}
	return fmt.Sprintf("reply to %s: done", who)
}

func errorObject(e *protocol.Error) []byte { return public.ErrorObject(e) }

// showError writes code and details of an error object; its words are not the
// scripts' business.
func showError(raw []byte) string {
	e := public.ParseErrorObject(raw)
	out := string(e.Code)
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		out += fmt.Sprintf(" %s=%s", name, e.Details[name])
	}
	return out
}

func showTitle(t *string) string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *t)
}

func showMetadata(raw []byte) string {
	if raw == nil {
		return ""
	}
	return ", metadata " + string(raw)
}

func orNone(raw []byte) string {
	if raw == nil {
		return "none"
	}
	return string(raw)
}
