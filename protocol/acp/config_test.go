package acp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol/acp"
	"agentos/protocol/testdata/twin"
)

func TestConfigOptions_Views(t *testing.T) {
	raw := `[ {"type":"select","id":"model","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b"},{"name":"no value"},7]},
		{"id":"effort","type":"select","currentValue":"low","options":[{"group":"g","name":"G","options":[{"value":"low"}]},{"group":"h","options":[{"value":"high"}]},{"group":"i","options":null}]},
		{"id":"fast","type":"boolean","currentValue":true}, {"id":"odd","type":"slider","currentValue":1.50}, {"type":"select"}, "x", null ]`
	want := []acp.ConfigOption{
		{ID: "model", Current: []byte(`"a"`), Values: []string{"a", "b"}},
		{ID: "effort", Current: []byte(`"low"`), Values: []string{"low", "high"}},
		{ID: "fast", Current: []byte(`true`), Boolean: true},
		{ID: "odd", Current: []byte(`1.50`)},
	}
	if diff := cmp.Diff(want, acp.ConfigOptions([]byte(raw))); diff != "" {
		t.Errorf("ConfigOptions (-want +got):\n%s", diff)
	}
	for _, raw := range []string{``, `null`, `{}`, `[]`, `[null]`} {
		if got := acp.ConfigOptions([]byte(raw)); got != nil {
			t.Errorf("ConfigOptions(%s) = %+v; want none", raw, got)
		}
	}
}

func TestParseModes_Views(t *testing.T) {
	for raw, want := range map[string]acp.Modes{
		`{"currentModeId":"plan","availableModes":[{"id":"default","name":"D"},{"id":"plan"},{"name":"x"},3]}`: {Current: "plan", Available: []string{"default", "plan"}},
		`{"availableModes":null}`: {},
		`null`:                    {},
		``:                        {},
	} {
		if diff := cmp.Diff(want, acp.ParseModes([]byte(raw))); diff != "" {
			t.Errorf("ParseModes(%s) (-want +got):\n%s", raw, diff)
		}
	}
}

func TestWithCurrent_KeepsTheRest(t *testing.T) {
	modes := func(raw, want string) {
		if got := acp.WithCurrentMode([]byte(raw), `p"n`); string(got) != want {
			t.Errorf("WithCurrentMode(%s) = %s; want %s", raw, got, want)
		}
	}
	modes(`{ "currentModeId" : "a" , "_meta":{"n":1.0}, "availableModes":[ ] }`, `{ "currentModeId" : "p\"n" , "_meta":{"n":1.0}, "availableModes":[ ] }`)
	modes(`{"currentModeId":"a","currentModeId":"b"}`, `{"currentModeId":"a","currentModeId":"p\"n"}`)
	modes(` { } `, ` {"currentModeId":"p\"n" } `)
	modes(`{"x":1}`, `{"currentModeId":"p\"n","x":1}`)
	modes(``, `{"currentModeId":"p\"n","availableModes":[]}`)

	options := `[ {"id":"a", "currentValue":"x","n":1.0},{"id":"b"} , 7]`
	for _, c := range []struct{ id, want string }{
		{"a", `[{"id":"a", "currentValue":true,"n":1.0},{"id":"b"},7]`},
		{"b", `[{"id":"a", "currentValue":"x","n":1.0},{"currentValue":true,"id":"b"},7]`},
		{"c", options},
	} {
		if got := acp.WithCurrentValue([]byte(options), c.id, []byte("true")); string(got) != c.want {
			t.Errorf("WithCurrentValue(%s) = %s; want %s", c.id, got, c.want)
		}
	}
}

// FuzzConfig: any JSON gives views, and another current mode or value is what is
// read back.
func FuzzConfig(f *testing.F) {
	for _, v := range wireValues("") {
		for _, name := range []string{"modes", "configOptions"} {
			if raw := twin.Get(v, name); raw != nil {
				f.Add(raw, "model", "plan")
			}
		}
		if raw := twin.Get(v, "update", "configOptions"); raw != nil {
			f.Add(raw, "mode", "a")
		}
	}
	f.Add([]byte(` [ {"id":"a","id":"b","currentValue":1,"type":"select","options":[{"options":[{"value":"v"}]}]} ] `), "b", "v")
	f.Fuzz(func(t *testing.T, raw []byte, id, word string) {
		if !usable(raw) || !json.Valid(raw) {
			return
		}
		value, err := json.Marshal(word)
		if err != nil {
			return
		}
		var plain string
		if err := json.Unmarshal(value, &plain); err != nil {
			t.Fatal(err)
		}
		if got := acp.ParseModes(acp.WithCurrentMode(raw, plain)); got.Current != plain {
			t.Fatalf("WithCurrentMode(%q, %q) is read as %+v", raw, plain, got)
		}
		before := acp.ConfigOptions(raw)
		changed := acp.WithCurrentValue(raw, id, value)
		if len(before) > 0 && !json.Valid(changed) {
			t.Fatalf("WithCurrentValue(%q) = %q", raw, changed)
		}
		after := acp.ConfigOptions(changed)
		if len(after) != len(before) {
			t.Fatalf("%d options of %q are %d of %q", len(before), raw, len(after), changed)
		}
		for i, o := range after {
			want := before[i]
			if o.ID == id {
				want.Current = value
			}
			if diff := cmp.Diff(want, o); diff != "" {
				t.Fatalf("option %d of %q (-want +got):\n%s", i, changed, diff)
			}
			if want.Current != nil && !bytes.Equal(o.Current, want.Current) {
				t.Fatalf("current value of %q is %q", changed, o.Current)
			}
		}
	})
}
