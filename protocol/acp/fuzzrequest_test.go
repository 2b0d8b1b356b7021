package acp_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
)

// FuzzRequest holds the view of a permission request to a decode into maps, and
// its public form to the bytes of the request.
func FuzzRequest(f *testing.F) {
	for _, v := range wireValues(acp.MethodRequestPermission) {
		f.Add(v, "main", "allow")
	}
	for _, s := range []string{request, `null`, ` { "sessionId" : "a" , "sessionId":null,"\u0073essionId": {"a":[1]} , "options":[]}`,
		`{"sessionId":"s","toolCall":{"toolCallId":"t","title":null,"title":"T"},"options":[null,{"optionId":"a","kind":"reject_once"},{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_once","kind":1}]}`} {
		f.Add([]byte(s), "q\"\\\n", "😀")
	}
	f.Fuzz(func(t *testing.T, params []byte, session, choice string) {
		acp.ParsePermission(params)
		acp.PublicRequest(params, session)
		if !usable(params) || !utf8.ValidString(session) || !utf8.ValidString(choice) {
			return
		}
		checkPermission(t, params, choice)
		checkPublicRequest(t, params, session)
		selected := acp.Selected(choice)
		if outcome, _ := twin.GetString(selected, "outcome", "outcome"); outcome != "selected" {
			t.Fatalf("Selected(%q) = %s", choice, selected)
		}
		if id, ok := twin.GetString(selected, "outcome", "optionId"); id != choice || !ok {
			t.Fatalf("Selected(%q) = %s", choice, selected)
		}
	})
}

func checkPermission(t *testing.T, params []byte, choice string) {
	t.Helper()
	id, hasID := twin.GetString(params, "sessionId")
	options := ofKind(twin.Get(params, "options"), '[')
	got, err := acp.ParsePermission(params)
	if (err == nil) != (hasID && options != nil) {
		t.Fatalf("ParsePermission(%q) = %v", params, err)
	}
	if err != nil {
		return
	}
	call, _ := twin.GetString(params, "toolCall", "toolCallId")
	title, _ := twin.GetString(params, "toolCall", "title")
	if !bytes.Equal(got.Raw, params) || got.SessionID != id || got.ToolCallID != call || got.Title != title {
		t.Fatalf("ParsePermission(%q) = %+v", params, got)
	}
	var want []acp.Option
	byID, byKind := map[string]acp.Option{}, map[string]acp.Option{}
	for _, e := range twin.Entries(options) {
		id, ok := twin.GetString([]byte(e.Value), "optionId")
		if _, twice := byID[id]; !ok || twice {
			continue
		}
		o := acp.Option{ID: id}
		o.Name, _ = twin.GetString([]byte(e.Value), "name")
		o.Kind, _ = twin.GetString([]byte(e.Value), "kind")
		want = append(want, o)
		byID[id] = o
		if _, later := byKind[o.Kind]; !later {
			byKind[o.Kind] = o
		}
	}
	wantSame(t, params, got.Options, want)
	chosen, offered := byID[choice]
	if o, ok := got.Option(choice); o != chosen || ok != offered {
		t.Fatalf("Option(%q) of %q = %+v, %t; want %+v, %t", choice, params, o, ok, chosen, offered)
	}
	for _, kind := range []string{acp.AllowOnce, acp.AllowAlways, acp.RejectOnce, acp.RejectAlways} {
		want, offered := byKind[kind]
		if o, ok := got.OfKind(kind); o != want || ok != offered {
			t.Fatalf("OfKind(%s) of %q = %+v, %t; want %+v, %t", kind, params, o, ok, want, offered)
		}
	}
}

// checkPublicRequest puts the new id where encoding/json says that the old is.
func checkPublicRequest(t *testing.T, params []byte, session string) {
	t.Helper()
	var want []byte
	from := 0
	if twin.Is(bytes.TrimLeft(params, " \t\r\n"), '{') {
		for _, e := range twin.Entries(params) {
			if e.Key == "sessionId" {
				want = rawjson.AppendString(append(want, params[from:e.At]...), session)
				from = e.At + len(e.Value)
			}
		}
	}
	want = append(want, params[from:]...)
	got := acp.PublicRequest(params, session)
	if !bytes.Equal(got, want) || !usable(got) {
		t.Fatalf("PublicRequest(%q) = %q; want %q", params, got, want)
	}
}
