package script_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/adapters/scripted/script"
)

// form knows two directives.
func form(name string) script.Form {
	switch name {
	case "do":
		return script.Closed
	case "raw":
		return script.Whole
	}
	return script.Unknown
}

func text(texts ...string) []script.Block {
	var blocks []script.Block
	for _, s := range texts {
		blocks = append(blocks, script.Block{Kind: "text", Text: s})
	}
	return blocks
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    []script.Block
		steps []script.Step
		words string
	}{
		{"plain", text("  hello\n there "), nil, "hello there"},
		{"one", text("a [[do it now]] b"), []script.Step{{Name: "do", Arg: "it now"}}, "a b"},
		{"no argument", text("[[do]]"), []script.Step{{Name: "do"}}, ""},
		{"spaces", text("[[do   x  ]]"), []script.Step{{Name: "do", Arg: "x"}}, ""},
		{"no space", text("[[do]][[do x]]"), []script.Step{{Name: "do"}, {Name: "do", Arg: "x"}}, ""},
		{"unknown", text("[[other]] [[Do]] [[do-x]] [[do"), nil, "[[other]] [[Do]] [[do-x]] [[do"},
		{"over lines", text("[[do a\n{b\nc]] d"), []script.Step{{Name: "do", Arg: "a\n{b\nc"}}, "d"},
		{"to the first bracket", text("[[do a]]]"), []script.Step{{Name: "do", Arg: "a"}}, "]"},
		{"inside another", text("[[do [[do x]]"), []script.Step{{Name: "do", Arg: "[[do x"}}, ""},
		{"raw to the last", text("[[raw  [[1]], ]]  x ]] y\n[[do]]"), []script.Step{{Name: "raw", Arg: " [[1]], ]]  x "}, {Name: "do"}}, "y"},
		{"raw ends with its line", text("[[raw 1\n2]]"), nil, "[[raw 1 2]]"},
		{"data", text("{\"a\":\"[[do x]]\"}\n  {[[do y]]\nz [[do z]]"), []script.Step{{Name: "do", Arg: "z"}}, "z"},
		{"braces inside a line are no data", text("a {[[do y]]"), []script.Step{{Name: "do", Arg: "y"}}, "a {"},
		{"blocks", text("a [[do 1]]", "[[do 2]] b", "[[do 3]]"), []script.Step{{Name: "do", Arg: "1"}, {Name: "do", Arg: "2"}, {Name: "do", Arg: "3"}}, "b"},
		{"other kinds", []script.Block{{Kind: "image"}, {Kind: "resource", Text: "[[do x]]"}}, nil, "(with image, resource)"},
		{"long", text(strings.Repeat("é", 300)), nil, strings.Repeat("é", 200) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps, words := script.Parse(tt.in, form)
			if diff := cmp.Diff(tt.steps, steps); diff != "" {
				t.Errorf("steps differ (-want +got):\n%s", diff)
			}
			if words != tt.words {
				t.Errorf("words = %q; want %q", words, tt.words)
			}
		})
	}
}

// A prompt put together from known pieces is taken apart into the same pieces.
func TestParse_ReadsBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var prompt strings.Builder
		var want []script.Step
		for i := range rapid.IntRange(0, 8).Draw(t, "pieces") {
			label := fmt.Sprint(i)
			switch rapid.IntRange(0, 2).Draw(t, "kind"+label) {
			case 0:
				prompt.WriteString(rapid.StringMatching(`[a-z ,.\]\[]{0,10}`).Filter(func(s string) bool {
					return !strings.Contains(s, "[[") && !strings.HasSuffix(s, "[")
				}).Draw(t, "text"+label))
			case 1:
				arg := rapid.StringMatching(`[a-z0-9{\[]?[a-z0-9 {"\n]{0,8}[a-z0-9}]`).Draw(t, "arg"+label)
				prompt.WriteString("[[do " + arg + "]]")
				want = append(want, script.Step{Name: "do", Arg: strings.TrimSpace(arg)})
			default:
				arg := rapid.StringMatching(`[ {}a-z\[\]"]{0,12}`).Draw(t, "raw"+label)
				prompt.WriteString("[[raw " + arg + "]]\n")
				want = append(want, script.Step{Name: "raw", Arg: arg})
			}
		}
		got, _ := script.Parse(text("."+prompt.String()), form)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", prompt.String(), diff)
		}
	})
}

func TestTags(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "I have seen no tags yet."},
		{"# #! a # b", "I have seen no tags yet."},
		{"#one two#three #one, #four-5_x.", "I have seen #one #three #four-5_x."},
		{`{"text":"x\n#one\\n#two"}#é`, "I have seen #one #two #é."},
	} {
		if got := script.Seen(script.AddTags(nil, tt.in)); got != tt.want {
			t.Errorf("tags of %q: %q; want %q", tt.in, got, tt.want)
		}
	}
	var many strings.Builder
	for i := range script.MaxTags + 5 {
		fmt.Fprintf(&many, "#t%d ", i)
	}
	tags := script.AddTags([]string{"#first"}, many.String())
	if len(tags) != script.MaxTags || tags[0] != "#first" || tags[1] != "#t0" {
		t.Errorf("%d tags, from %q; want the first %d", len(tags), tags[:2], script.MaxTags)
	}
	if got := script.Seen(tags); !strings.HasSuffix(got, " and 9800 more.") || len(got) > 2000 {
		t.Errorf("Seen of many tags = %q; want a bounded sentence", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		n    int
		want []int
	}{
		{"3", 1, []int{3}}, {" 3  -4 ", 2, []int{3, -4}}, {"1000000000", 1, []int{1e9}},
		{"", 1, nil}, {"3 4", 1, nil}, {"3", 2, nil}, {"x", 1, nil}, {"1.5", 1, nil}, {"1000000001", 1, nil}, {"99999999999999999999", 1, nil},
	} {
		got, err := script.Integers(tt.arg, tt.n)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("Integers(%q, %d) = %v, %v; want %v", tt.arg, tt.n, got, err, tt.want)
		}
	}
	if n, err := script.Count("7"); n != 7 || err != nil {
		t.Errorf("Count(7) = %d, %v", n, err)
	}
	if _, err := script.Count("-1"); err == nil {
		t.Error("Count(-1) succeeds")
	}
}

func TestParseBlocks(t *testing.T) {
	good := []json.RawMessage{
		[]byte(`{"type":"text","text":"a"}`), []byte(`{"type":"image","data":"x"}`), []byte(`{"type":"resource","resource":{"text":"b"}}`),
		[]byte(`{"type":"resource","resource":{"blob":"AA=="}}`), []byte(`{"type":"_x","text":[1],"resource":2}`),
	}
	got, err := script.ParseBlocks(good)
	want := []script.Block{{Kind: "text", Text: "a"}, {Kind: "image"}, {Kind: "resource", Text: "b"}, {Kind: "resource"}, {Kind: "_x"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ParseBlocks: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, script.Texts(append(good, []byte(`5`)))); diff != "" {
		t.Errorf("Texts (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{}`, `"text"`, `{"type":"text"}`, `{"type":"text","text":null}`, `{"type":"text","text":5}`, `{"type":5}`, `{"type":"resource"}`, `{"type":"resource","resource":[]}`} {
		if got, err := script.ParseBlocks([]json.RawMessage{[]byte(bad)}); err == nil {
			t.Errorf("ParseBlocks(%s) = %v; want an error", bad, got)
		}
	}
	if _, err := script.ParseBlocks(nil); err == nil {
		t.Error("an empty prompt is accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "[[do x]]", "[[raw ]] ]]", "{[[do]]\n[[do]]", "[[do", "[[raw\n]]", "[[[[do]]]]", "\xff[[do \xff]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		steps, words := script.Parse(text(s), form)
		for _, step := range steps {
			if form(step.Name) == script.Unknown {
				t.Errorf("%q has a step %q", s, step.Name)
			}
			if !strings.Contains(s, step.Arg) {
				t.Errorf("%q does not contain the argument %q", s, step.Arg)
			}
		}
		if n := len([]rune(words)); n > 201 {
			t.Errorf("%d words are repeated", n)
		}
	})
}
