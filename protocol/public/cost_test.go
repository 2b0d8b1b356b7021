package public_test

import (
	"runtime"
	"strings"
	"testing"

	"agentos/protocol"
	"agentos/protocol/public"
)

// A payload of nothing but tiny members is shown without a list of them, which
// would be ten times its size (S4.3: a line may be of 64 MiB).
func TestAppendEvent_MemoryIsThePayloads(t *testing.T) {
	for name, member := range map[string]string{"flat": `"a":1`, "native": `"type":1`, "kind": `"sessionUpdate":""`} {
		payload := []byte(`{` + strings.Repeat(member+",", 200_000) + member + `}`)
		for _, kind := range []protocol.EventKind{protocol.KindUpdate, protocol.KindPermissionRequest, protocol.KindPermissionResponse} {
			dst := make([]byte, 0, 2*len(payload)+1000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			public.AppendEvent(dst, "main", protocol.Event{Kind: kind, Payload: payload})
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(len(payload))/10 {
				t.Errorf("%s, %s: %d bytes of memory for %d", name, kind, allocated, len(payload))
			}
		}
	}
}
