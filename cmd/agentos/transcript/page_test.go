package transcript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
)

func TestPage(t *testing.T) {
	events := []protocol.Event{
		{Payload: chunk("user_message_chunk", "u", "first\nsecond line")},
		{Payload: chunk("agent_thought_chunk", "t", "hm")},
		update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"grep"}`),
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}`),
		{Payload: chunk("agent_message_chunk", "m", "3  2026-11-30T20:00:00.000Z  you\n\nnot a line of ours\n"), Incomplete: true},
		{Payload: chunk("user_message_chunk", "u", "next")},
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"from an earlier page","status":"completed"}`),
		update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"the id again","status":"completed"}`),
		update(`{"sessionUpdate":"usage_update","used":1}`),
		update(`{"no":"kind"}`),
	}
	for i := range events {
		events[i].Kind, events[i].Sequence, events[i].At = protocol.KindUpdate, protocol.Sequence(i+1), protocol.TimeMS(1000*i)
	}
	const want = `1  1970-01-01T00:00:00.000Z  you
    first
    second line
2  1970-01-01T00:00:01.000Z  thinking
    hm
3  1970-01-01T00:00:02.000Z  tool grep: failed
5  1970-01-01T00:00:04.000Z  agent (incomplete: the runtime ended while it was said)
    3  2026-11-30T20:00:00.000Z  you

    not a line of ours

6  1970-01-01T00:00:05.000Z  you
    next
7  1970-01-01T00:00:06.000Z  tool from an earlier page: completed
8  1970-01-01T00:00:07.000Z  tool the id again: completed
10  1970-01-01T00:00:09.000Z  (an update that cannot be read)
`
	var b strings.Builder
	transcript.Page(&b, transcript.Style{}, events)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
