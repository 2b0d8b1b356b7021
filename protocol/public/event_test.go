package public_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/protocol/public"
)

type member struct{ Key, Value string }

// membersOf takes an object apart with encoding/json.
func membersOf(t tb, object []byte) (out []member) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("not an object: %s", object)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatalf("read %s: %v", object, err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatalf("read %s: %v", object, err)
		}
		out = append(out, member{key.(string), string(raw)})
	}
	return out
}

type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// payload draws the members of an update: real ones, unknown ones, ones named
// like the envelope's, duplicates of all.
func payload() *rapid.Generator[[]member] {
	names := []string{"content", "messageId", "_meta", "x", "status", "requestId", "reason", "durability", "sessionId", "sequence",
		"timestamp", "acpVersion", "type", "run", "incomplete", "native", "afterSequence", "offset"}
	values := []string{"1.10", "null", `"<&>"`, `"\ud83d"`, `{"b" : 1,"a":[ ]}`, "9007199254740993", `"durable"`}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) member {
		return member{rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom(values).Draw(t, "value")}
	}), 0, 8)
}

var reservedInUpdates = []string{"durability", "sessionId", "sequence", "timestamp", "acpVersion", "type", "run", "incomplete", "native", "afterSequence", "offset"}

// Nothing of a payload is lost or changed, and an envelope member is always the
// envelope's (S5.1, S5.2).
func TestAppend_S5_1_Lossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"agent_message_chunk", "_acme/x", `q\"`}).Draw(t, "kind")
		native := payload().Draw(t, "members")
		at := rapid.IntRange(0, len(native)).Draw(t, "kind at")
		raw := "{"
		for i := range len(native) + 1 {
			if i == at {
				raw += `"sessionUpdate":"` + kind + `",`
			}
			if i < len(native) {
				raw += `"` + native[i].Key + `":` + native[i].Value + ","
			}
		}
		raw = strings.TrimSuffix(raw, ",") + "}"

		event := public.AppendEvent(nil, "main", protocol.Event{Sequence: 3, At: ms(5), ACP: 1, Kind: protocol.KindUpdate, Payload: []byte(raw)})
		delta := public.AppendDelta(nil, "main", protocol.Delta{After: 3, Run: "r", ACP: 1, Payload: []byte(raw)})
		checkLossless(t, event, native, []member{{"durability", `"durable"`}, {"sessionId", `"main"`}, {"sequence", "3"},
			{"timestamp", `"1970-01-01T00:00:00.005Z"`}, {"acpVersion", "1"}, {"type", `"` + kind + `"`}})
		checkLossless(t, delta, native, []member{{"durability", `"ephemeral"`}, {"sessionId", `"main"`}, {"afterSequence", "3"},
			{"run", `"r"`}, {"offset", "0"}, {"acpVersion", "1"}, {"type", `"` + kind + `"`}})
	})
}

func ms(n int64) protocol.TimeMS { return protocol.TimeMS(n) }

func checkLossless(t *rapid.T, got []byte, native, envelope []member) {
	t.Helper()
	isReserved := func(name string) bool {
		for _, r := range reservedInUpdates {
			if r == name {
				return true
			}
		}
		return false
	}
	want := append([]member(nil), envelope...)
	var kept []member
	for _, m := range native {
		if isReserved(m.Key) {
			kept = append(kept, m)
		} else {
			want = append(want, m)
		}
	}
	members := membersOf(t, got)
	if kept != nil {
		last := members[len(members)-1]
		members = members[:len(members)-1]
		if last.Key != "native" {
			t.Fatalf("%s: last member is %s; want native", got, last.Key)
		}
		if diff := cmp.Diff(kept, membersOf(t, []byte(last.Value))); diff != "" {
			t.Fatalf("%s: native: -want +got\n%s", got, diff)
		}
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Fatalf("%s: -want +got\n%s", got, diff)
	}
}

func TestAppendEvent_TimesAreAsTimeMSWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := protocol.TimeMS(rapid.Int64Range(0, 253402300799999).Draw(t, "ms"))
		got := public.AppendEvent(nil, "s", protocol.Event{At: at, Payload: []byte("{}")})
		if want := `,"timestamp":"` + at.String() + `",`; !bytes.Contains(got, []byte(want)) {
			t.Fatalf("%s: want %s", got, want)
		}
	})
}

func TestAppend_KeepsWhatIsThere(t *testing.T) {
	dst := []byte("x")
	if got := public.AppendEvent(dst, "s", protocol.Event{Payload: []byte("{}")}); !bytes.HasPrefix(got, []byte("x{")) {
		t.Errorf("AppendEvent = %s", got)
	}
	if got := public.AppendEvent(nil, "s", protocol.Event{}); !json.Valid(got) {
		t.Errorf("event without a payload = %s", got)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	e := protocol.Event{Sequence: 12, At: at, ACP: 1, Kind: protocol.KindUpdate,
		Payload: []byte(`{"sessionUpdate":"agent_message_chunk","messageId":"4a504473-7c30-4b30-91a7-edbed80a7940","content":{"type":"text","text":"` + strings.Repeat("All work and no play. ", 20) + `"}}`)}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = public.AppendEvent(dst[:0], "main", e)
	}
}
