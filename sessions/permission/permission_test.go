package permission_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/permission"
)

func drawOptions(t *rapid.T) []acp.Option {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) acp.Option {
		return acp.Option{
			ID:   rapid.SampledFrom([]string{"", "a", "b", "c", "allow", "reject"}).Draw(t, "id"),
			Kind: rapid.SampledFrom([]string{"", acp.AllowOnce, acp.AllowAlways, acp.RejectOnce, acp.RejectAlways, "allow", "ALLOW_ONCE", "allow_once "}).Draw(t, "kind"),
		}
	}), 0, 6).Draw(t, "options")
}

// TestDecide_S8_1_PR_07 holds every list of options to what each policy may say.
func TestDecide_S8_1_PR_07(t *testing.T) {
	may := map[protocol.Policy][2]string{
		protocol.PolicyAllowAll:  {acp.AllowOnce, acp.AllowAlways},
		protocol.PolicyRejectAll: {acp.RejectOnce, acp.RejectAlways},
	}
	rapid.Check(t, func(t *rapid.T) {
		options := drawOptions(t)
		kinds := map[string]map[string]bool{} // by id
		for _, o := range options {
			if kinds[o.ID] == nil {
				kinds[o.ID] = map[string]bool{}
			}
			kinds[o.ID][o.Kind] = true
		}
		only := func(kind string) (ids []string) { // that mean nothing else
			for _, o := range options {
				if o.ID != "" && o.Kind == kind && len(kinds[o.ID]) == 1 {
					ids = append(ids, o.ID)
				}
			}
			return ids
		}
		for policy, wanted := range may {
			got, verdict := permission.Decide(policy, options)
			once, always := only(wanted[0]), only(wanted[1])
			switch {
			case len(once) > 0:
				if verdict != permission.Picked || got.ID != once[0] || got.Kind != wanted[0] {
					t.Fatalf("%s of %+v = %+v, %v; want %s", policy, options, got, verdict, once[0])
				}
			case len(always) > 0:
				if verdict != permission.Picked || got.ID != always[0] || got.Kind != wanted[1] {
					t.Fatalf("%s of %+v = %+v, %v; want %s", policy, options, got, verdict, always[0])
				}
			default:
				if verdict != permission.Unsatisfied || got != (acp.Option{}) {
					t.Fatalf("%s of %+v = %+v, %v; want none", policy, options, got, verdict)
				}
			}
		}
		for _, policy := range []protocol.Policy{protocol.PolicyAsk, "", "allow"} {
			if got, verdict := permission.Decide(policy, options); verdict != permission.AskPerson || got != (acp.Option{}) {
				t.Fatalf("%q of %+v = %+v, %v; want a person asked", policy, options, got, verdict)
			}
		}
	})
}

func TestDecide_S8_1_Table(t *testing.T) {
	for name, c := range map[string]struct {
		policy  protocol.Policy
		options string // id:kind ...
		want    string // "" for unsatisfied
	}{
		"once before always":         {protocol.PolicyAllowAll, `[{"optionId":"w","kind":"allow_always"},{"optionId":"y","kind":"allow_once"}]`, "y"},
		"always if there is no once": {protocol.PolicyAllowAll, `[{"optionId":"n","kind":"reject_once"},{"optionId":"w","kind":"allow_always"}]`, "w"},
		"the first of two":           {protocol.PolicyAllowAll, `[{"optionId":"y1","kind":"allow_once"},{"optionId":"y2","kind":"allow_once"}]`, "y1"},
		"a denial is no options[0]":  {protocol.PolicyRejectAll, `[{"optionId":"w","kind":"allow_always"},{"optionId":"y","kind":"allow_once"}]`, ""},
		"without kinds":              {protocol.PolicyAllowAll, `[{"optionId":"allow"},{"optionId":"yes","kind":null}]`, ""},
		"kind of another type":       {protocol.PolicyAllowAll, `[{"optionId":"y","kind":["allow_once"]}]`, ""},
		"id of another type":         {protocol.PolicyAllowAll, `[{"optionId":1,"kind":"allow_once"}]`, ""},
		"no options":                 {protocol.PolicyAllowAll, `[]`, ""},
		"no list":                    {protocol.PolicyRejectAll, `{}`, ""},
		"one id, two meanings":       {protocol.PolicyRejectAll, `[{"optionId":"o","kind":"reject_once"},{"optionId":"o","kind":"allow_once"}]`, ""},
		"one id, one meaning, twice": {protocol.PolicyRejectAll, `[{"optionId":"o","kind":"reject_once"},{"optionId":"o","kind":"reject_once"}]`, "o"},
		"the doubtful one is passed": {protocol.PolicyRejectAll, `[{"optionId":"o","kind":"reject_once"},{"optionId":"o","kind":"odd"},{"optionId":"n","kind":"reject_always"}]`, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			options := permission.Options([]byte(`{"sessionId":"s","options":` + c.options + `}`))
			got, verdict := permission.Decide(c.policy, options)
			if got.ID != c.want || (verdict == permission.Picked) != (c.want != "") {
				t.Errorf("Decide(%s, %s) = %+v, %v; want %q", c.policy, c.options, got, verdict, c.want)
			}
		})
	}
}

// TestOffered_S8_3_PR_08: exactly an id that was offered, and never none.
func TestOffered_S8_3_PR_08(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		options := drawOptions(t)
		id := rapid.SampledFrom([]string{"", "a", "allow", "allow_everything", "a "}).Draw(t, "answer")
		want := false
		for _, o := range options {
			want = want || o.ID == id && id != ""
		}
		if got := permission.Offered(options, id); got != want {
			t.Fatalf("Offered(%+v, %q) = %t; want %t", options, id, got, want)
		}
	})
}

// FuzzOptions: whatever an adapter sends, Options reads it without harm, and a
// policy picks nothing that is not literally there.
func FuzzOptions(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","options":[{"optionId":"a","kind":"allow_once"}]}`))
	f.Add([]byte(`{"options":[null,1,"x",[],{},{"optionId":"a"},{"kind":"allow_once"}]}`))
	f.Add([]byte(`{"options":{"optionId":"a"},"options":[{"optionId":"\u0061","kind":"reject_\u006fnce"}]}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, params []byte) {
		options := permission.Options(params)
		for _, policy := range []protocol.Policy{protocol.PolicyAllowAll, protocol.PolicyRejectAll} {
			got, verdict := permission.Decide(policy, options)
			if verdict == permission.Picked && !permission.Offered(options, got.ID) {
				t.Errorf("Decide(%s) = %s of %s", policy, fmt.Sprint(got), params)
			}
		}
	})
}
