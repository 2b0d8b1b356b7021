package restore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
	"agentos/sessions/restore"
)

const (
	model = `{"id":"model","type":"select","currentValue":"b","options":[{"value":"a"},{"value":"b"}]}`
	fast  = `{"id":"fast","type":"boolean","currentValue":false}`
	modes = `{"currentModeId":"plan","availableModes":[{"id":"default"},{"id":"plan"}]}`
)

func TestStored_S10_4_OptionsThenMode(t *testing.T) {
	got := restore.Stored([]byte(`[`+model+`,`+fast+`,{"id":"odd","currentValue":3},{"id":"none"}]`), []byte(modes))
	want := []protocol.Setting{{Option: "model", Value: []byte(`"b"`)}, {Option: "fast", Value: []byte(`false`)}, {Mode: "plan"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Stored (-want +got):\n%s", diff)
	}
	if got := restore.Stored(nil, nil); got != nil {
		t.Errorf("Stored of nothing = %+v", got)
	}
}

func TestSaid_S10_4_Compare(t *testing.T) {
	option := func(id, value string) protocol.Setting { return protocol.Setting{Option: id, Value: []byte(value)} }
	mode := func(id string) protocol.Setting { return protocol.Setting{Mode: id} }
	said := restore.Said{Options: []byte(`[` + model + `,` + fast + `,{"id":"odd","type":"slider","currentValue":"x"}]`), Modes: []byte(modes)}
	for _, c := range []struct {
		name string
		said restore.Said
		set  protocol.Setting
		want restore.Verdict
	}{
		{"as it was", said, option("model", `"b"`), restore.AsStored},
		{"as it was, spelled another way", said, option("model", `"\u0062"`), restore.AsStored},
		{"another value", said, option("model", `"a"`), restore.Differs},
		{"a value of another day", said, option("model", `"c"`), restore.NotOffered},
		{"an option of another day", said, option("effort", `"high"`), restore.NotOffered},
		{"off", said, option("fast", `false`), restore.AsStored},
		{"on", said, option("fast", `true`), restore.Differs},
		{"was a choice, is a switch", said, option("fast", `"slow"`), restore.NotOffered},
		{"was a switch, is a choice", said, option("model", `true`), restore.NotOffered},
		{"a kind that only the agent knows", said, option("odd", `"y"`), restore.Differs},
		{"mode as it was", said, mode("plan"), restore.AsStored},
		{"another mode", said, mode("default"), restore.Differs},
		{"a mode of another day", said, mode("party"), restore.NotOffered},
		{"nothing said of a session got back", restore.Said{}, option("model", `"b"`), restore.Differs},
		{"nothing said of its mode", restore.Said{}, mode("plan"), restore.Differs},
		{"a new session without options", restore.Said{Whole: true}, option("model", `"b"`), restore.NotOffered},
		{"a new session without modes", restore.Said{Whole: true}, mode("plan"), restore.NotOffered},
		{"no options any more", restore.Said{Options: []byte(`[]`)}, option("model", `"b"`), restore.NotOffered},
		{"modes without a list", restore.Said{Modes: []byte(`{"currentModeId":"x"}`)}, mode("plan"), restore.Differs},
	} {
		if got := c.said.Compare(c.set); got != c.want {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
