package surface

import (
	"encoding/json"
	"fmt"
	"slices"

	"agentos/adapters/scripted/wire"
)

// Every permission request has the same four options, whose ids are short words.
var optionIDs = []string{"allow", "allow_always", "reject", "reject_always"}

const options = `[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow","kind":"allow_always"},` +
	`{"optionId":"reject","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject","kind":"reject_always"}]`

// Cancelled is the outcome of a permission that nobody decided.
const Cancelled = "cancelled"

// Outcome puts the answer to a permission request into words: the option's id,
// Cancelled, or why it is not approved. Only an option that was offered is ever
// an allow.
func Outcome(r wire.Reply) string {
	if r.Err != nil {
		if r.Err.Code == wire.CodeCancelled {
			return Cancelled
		}
		return "not approved, " + r.Err.Error()
	}
	var result struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	err := json.Unmarshal(r.Result, &result)
	switch o := result.Outcome; {
	case err != nil:
		return "not approved, the answer is unreadable"
	case o.Outcome == Cancelled:
		return Cancelled
	case o.Outcome == "selected" && slices.Contains(optionIDs, o.OptionID):
		return o.OptionID
	case o.Outcome == "selected":
		return fmt.Sprintf("not approved, option %q was not offered", o.OptionID)
	default:
		return fmt.Sprintf("not approved, outcome %q is not known", o.Outcome)
	}
}
