package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/acp"
)

const request = `{"options":[{"kind":"allow_always","name":"Always Allow Bash","optionId":"allow_always"},{"kind":"allow_once","name":"Allow","optionId":"allow"},{"kind":"reject_once","name":"Reject","optionId":"reject"}],"sessionId":"0ccce613","toolCall":{"toolCallId":"call_1","rawInput":{"n": 9007199254740993},"title":"touch a.txt","kind":"execute","content":[]}}`

func TestParsePermission_S8(t *testing.T) {
	got, err := acp.ParsePermission([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	want := acp.Permission{Raw: []byte(request), SessionID: "0ccce613", ToolCallID: "call_1", Title: "touch a.txt", Options: []acp.Option{
		{ID: "allow_always", Name: "Always Allow Bash", Kind: "allow_always"}, {ID: "allow", Name: "Allow", Kind: "allow_once"}, {ID: "reject", Name: "Reject", Kind: "reject_once"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if o, ok := got.Option("allow"); !ok || o.Kind != acp.AllowOnce {
		t.Errorf("Option(allow) = %+v, %t", o, ok)
	}
	if o, ok := got.Option("nope"); ok {
		t.Errorf("Option(nope) = %+v; want none", o)
	}
	if o, ok := got.OfKind(acp.RejectOnce); !ok || o.ID != "reject" {
		t.Errorf("OfKind(reject_once) = %+v, %t", o, ok)
	}
	if o, ok := got.OfKind(acp.RejectAlways); ok {
		t.Errorf("OfKind(reject_always) = %+v; want none", o)
	}
}

// PR-07: whatever is malformed can never be picked as an allowance.
func TestParsePermission_PR_07_Malformed(t *testing.T) {
	p, err := acp.ParsePermission([]byte(`{"sessionId":"s","toolCall":null,"options":[null,5,{},{"optionId":7,"kind":"allow_once"},{"optionId":"a","kind":null},{"optionId":"b","kind":"ALLOW_ONCE"},{"optionId":"r","kind":"reject_once"},{"optionId":"r","kind":"allow_once"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []acp.Option{{ID: "a"}, {ID: "b", Kind: "ALLOW_ONCE"}, {ID: "r", Kind: "reject_once"}}
	if diff := cmp.Diff(want, p.Options); diff != "" || p.ToolCallID != "" || p.Title != "" {
		t.Errorf("%+v: -want +got\n%s", p, diff)
	}
	if o, ok := p.OfKind(acp.AllowOnce); ok {
		t.Errorf("OfKind(allow_once) = %+v; want none", o)
	}
	for _, params := range []string{``, `null`, `[]`, `{"options":[]}`, `{"sessionId":1,"options":[]}`, `{"sessionId":"s"}`, `{"sessionId":"s","options":{}}`} {
		if p, err := acp.ParsePermission([]byte(params)); err == nil {
			t.Errorf("ParsePermission(%s) = %+v; want an error", params, p)
		}
	}
}

func TestPublicRequest_S4_1(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{request, strings.Replace(request, `"0ccce613"`, `"my \"main\""`, 1)},
		{`{ "sessionId" : "a" , "x":{"sessionId":"a"},"sessionId":null,"\u0073essionId": {"a":[1]}}`,
			`{ "sessionId" : "my \"main\"" , "x":{"sessionId":"a"},"sessionId":"my \"main\"","\u0073essionId": "my \"main\""}`},
		{`{"a":1}`, `{"a":1}`},
	} {
		in := []byte(c.in)
		if got := acp.PublicRequest(in, `my "main"`); string(got) != c.want || string(in) != c.in {
			t.Errorf("PublicRequest(%s) = %s; want %s", c.in, got, c.want)
		}
	}
}

func TestPublicRequest_S4_1_ChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			`"sessionId":"theirs"`, ` "sessionId" : 7`, `"options":[{"sessionId":"x"}]`, `"a":1.10`, `"a":"\ud83d\/"`,
		}), 1, 6).Draw(t, "members")
		ours := rapid.String().Draw(t, "id")
		encoded := acp.Selected(ours)
		encoded = encoded[len(`{"outcome":{"outcome":"selected","optionId":`) : len(encoded)-2]
		var want []string
		for _, p := range pieces {
			p = strings.Replace(p, `"theirs"`, string(encoded), 1)
			want = append(want, strings.Replace(p, `: 7`, `: `+string(encoded), 1))
		}
		got := acp.PublicRequest([]byte("{"+strings.Join(pieces, ",")+"}"), ours)
		if string(got) != "{"+strings.Join(want, ",")+"}" {
			t.Fatalf("PublicRequest = %s; want {%s}", got, strings.Join(want, ","))
		}
	})
}

func TestOutcomes(t *testing.T) {
	if got, want := string(acp.Selected(`a"<1>`)), `{"outcome":{"outcome":"selected","optionId":"a\"<1>"}}`; got != want {
		t.Errorf("Selected = %s; want %s", got, want)
	}
	if got, want := string(acp.CancelledOutcome), `{"outcome":{"outcome":"cancelled"}}`; got != want || !json.Valid(acp.CancelledOutcome) {
		t.Errorf("CancelledOutcome = %s; want %s", got, want)
	}
}
