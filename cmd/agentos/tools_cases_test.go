package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
)

// toolEvents makes events of payloads: those that begin with ? and ! are a
// permission request and its answer.
func toolEvents(payloads ...string) (events []protocol.Event) {
	for n, p := range payloads {
		e := protocol.Event{Sequence: protocol.Sequence(n + 1), Kind: protocol.KindUpdate, Payload: []byte(p)}
		switch p[0] {
		case '?':
			e.Kind, e.Request, e.Payload = protocol.KindPermissionRequest, "r", []byte(p[1:])
		case '!':
			e.Kind, e.Request, e.Payload, e.Status = protocol.KindPermissionResponse, "r", []byte(p[1:]), protocol.OutcomeAccepted
		}
		events = append(events, e)
	}
	return events
}

// toolEntry is how a tool call is named wherever it is shown.
var toolEntry = regexp.MustCompile(`(?m)(?:^\d+  \S+  tool|^•) (\w+: \w+)`)

// entries are the tool calls that history shows, with their statuses.
func entries(events []protocol.Event) (found []string) {
	var b strings.Builder
	transcript.Page(&b, transcript.Style{}, events)
	for _, m := range toolEntry.FindAllStringSubmatch(b.String(), -1) {
		found = append(found, m[1])
	}
	return found
}

// liveEntries are the last words of a prompt about each tool call.
func liveEntries(events []protocol.Event) (found []string) {
	var b strings.Builder
	l := transcript.NewLive(&b, transcript.Style{})
	for _, e := range events {
		l.Event(e)
	}
	l.End()
	for _, m := range toolEntry.FindAllStringSubmatch(b.String(), -1) {
		if !strings.HasSuffix(m[1], ": pending") {
			found = append(found, m[1])
		}
	}
	return found
}

func wantEntries(t *testing.T, events []protocol.Event, want ...string) {
	t.Helper()
	for what, got := range map[string][]string{"history": entries(events), "live": liveEntries(events)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", what, diff)
		}
	}
}

const (
	listPrompt   = `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"list"}}`
	removePrompt = `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"remove"}}`
	mayIRemove   = `?{"sessionId":"s","toolCall":{"toolCallId":"call_0","title":"rm"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`
	yes          = `!{"outcome":{"outcome":"selected","optionId":"y"}}`
)

// TestTC02_UnannouncedCallIsShown: a call that is first heard of in a permission
// request is shown all the same when it has ended.
func TestTC02_UnannouncedCallIsShown(t *testing.T) {
	wantEntries(t, toolEvents(removePrompt, mayIRemove, yes,
		`{"sessionUpdate":"tool_call_update","toolCallId":"call_0","status":"completed"}`,
	), "call_0: completed")
}

// TestTC05_TheIDOfAnotherTurn: the same id in two turns is two calls.
func TestTC05_TheIDOfAnotherTurn(t *testing.T) {
	wantEntries(t, toolEvents(
		listPrompt,
		`{"sessionUpdate":"tool_call","toolCallId":"call_0","title":"ls"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"call_0","status":"completed"}`,
		removePrompt,
		`{"sessionUpdate":"tool_call","toolCallId":"call_0","title":"rm","status":"pending"}`,
		mayIRemove, yes,
		`{"sessionUpdate":"tool_call_update","toolCallId":"call_0","status":"failed"}`,
	), "ls: completed", "rm: failed")
}
