package acp_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// hostile are messages of some megabytes that no view may be slow or greedy on.
func hostile() map[string]string {
	const n = 50_000
	many := func(format string) string {
		var out strings.Builder
		for i := range n {
			if i > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	deep := strings.Repeat(`{"a":`, 997) + "1" + strings.Repeat("}", 997)
	return map[string]string{
		"options":   `{"sessionId":"s","options":[` + many(`{"optionId":"%d"}`) + `]}`,
		"one id":    `{"sessionId":"s","options":[` + many(`{"optionId":"a","kind":%d}`) + `]}`,
		"members":   `{"sessionId":"s","update":{},"options":[],"protocolVersion":1,"sessionUpdate":"agent_message_chunk",` + many(`"%d":1`) + `}`,
		"one name":  `{"sessionId":"s","options":[],"protocolVersion":1,"sessionUpdate":"agent_message_chunk",` + strings.Repeat(`"sessionId":"s","content":{"type":"text"},`, n) + `"a":1}`,
		"methods":   `{"protocolVersion":1,"authMethods":[` + many(`{"id":"%d"}`) + `]}`,
		"backslash": `{"sessionId":"s","sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat(`\\\"`, n) + `"}}`,
		"keys":      `{"sessionId":"s","options":[],"` + strings.Repeat(`\u0061`, n) + `":1}`,
		"deep":      `{"sessionId":"s","options":[` + strings.Repeat(deep+",", 100) + `1]}`,
		"blocks":    `[` + many(`{"type":"%d"}`) + `]`,
	}
}

// A message costs time and memory in proportion to its size, whatever is in it:
// an agent cannot stop a session with one (S4.3). Time is measured by that of
// Check, so that a slow machine slows both: a view takes some tens of it, the
// square of the size would take thousands.
func TestViews_S4_3_CostIsLinear(t *testing.T) {
	views := map[string]func(b []byte){
		"ParseUpdate":        func(b []byte) { acp.ParseUpdate(b) },
		"ParseSessionUpdate": func(b []byte) { acp.ParseSessionUpdate(b) },
		"ParsePermission":    func(b []byte) { acp.ParsePermission(b) },
		"PublicRequest":      func(b []byte) { acp.PublicRequest(b, "main") },
		"ParseInitialize":    func(b []byte) { acp.ParseInitialize(b) },
		"ParseSession":       func(b []byte) { acp.ParseSession(b) },
		"ParseSessionInfo":   func(b []byte) { acp.ParseSessionInfo(b) },
		"Blocks":             func(b []byte) { acp.Blocks(b) },
		"Canonical":          func(b []byte) { rawjson.AppendCanonical(make([]byte, 0, len(b)), b) },
	}
	for name, text := range hostile() {
		b := []byte(text)
		if err := rawjson.Check(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check := cost(func() { rawjson.Check(b) })
		for view, run := range views {
			limit := time.Second + 200*check.took
			c := cost(func() { run(b) })
			if c.took > limit { // the machine may have been busy
				c = cost(func() { run(b) })
			}
			if c.took > limit {
				t.Errorf("%s of %s: %v for %d bytes, which Check reads in %v", view, name, c.took, len(b), check.took)
			}
			if c.bytes > uint64(32*len(b)) {
				t.Errorf("%s of %s: %d bytes of memory for %d", view, name, c.bytes, len(b))
			}
		}
	}
}

// spent is what a call cost.
type spent struct {
	took  time.Duration
	bytes uint64
}

func cost(run func()) spent {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	run()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return spent{took, after.TotalAlloc - before.TotalAlloc}
}
