// Package permission picks an option of a permission request for a policy. It is
// pure, and it can only say yes by an option that the adapter itself offered as
// an allow (S8.1, S8.3).
package permission

import (
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// Verdict is what a policy makes of a request.
type Verdict int

// The verdicts.
const (
	AskPerson   Verdict = iota // the policy leaves it to a person
	Picked                     // the option in question was picked
	Unsatisfied                // the policy may pick none of the options offered
)

// Options reads all options of a request's params. The view in package acp keeps
// one option of an id, which is right for a person to choose from; a policy must
// see that there was another.
func Options(params []byte) []acp.Option {
	var all []acp.Option
	raw, _ := rawjson.Get(params, "options")
	for o := range rawjson.Elements(raw) {
		id, _ := rawjson.GetString(o, "optionId")
		kind, _ := rawjson.GetString(o, "kind")
		all = append(all, acp.Option{ID: id, Kind: kind})
	}
	return all
}

// Decide applies policy to the options offered. The option is meaningful with
// Picked only.
func Decide(policy protocol.Policy, options []acp.Option) (acp.Option, Verdict) {
	switch policy {
	case protocol.PolicyAllowAll:
		return pick(options, acp.AllowOnce, acp.AllowAlways)
	case protocol.PolicyRejectAll:
		return pick(options, acp.RejectOnce, acp.RejectAlways)
	default:
		return acp.Option{}, AskPerson
	}
}

// pick returns the first option of the first kind that is offered at all. An
// option without an id cannot be answered and is passed over, and so is one
// whose id is offered twice with different kinds: picking it could say more
// than the policy allows.
func pick(options []acp.Option, kinds ...string) (acp.Option, Verdict) {
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind && o.ID != "" && unambiguous(options, o) {
				return o, Picked
			}
		}
	}
	return acp.Option{}, Unsatisfied
}

func unambiguous(options []acp.Option, o acp.Option) bool {
	for _, other := range options {
		if other.ID == o.ID && other.Kind != o.Kind {
			return false
		}
	}
	return true
}

// Offered reports whether id is among options.
func Offered(options []acp.Option, id string) bool {
	for _, o := range options {
		if o.ID == id && id != "" {
			return true
		}
	}
	return false
}
