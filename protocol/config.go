package protocol

import "encoding/json"

// Setting is one thing about how the agent works in a session: Option with
// Value, or Mode. Which there are, only the agent knows.
type Setting struct {
	Option string // id of a config option; "" if Mode is set
	// Value is a JSON string, or true or false. For an option that is on or off
	// "true" and "false" are taken as well.
	Value json.RawMessage
	Mode  string // id of a mode; "" if Option is set
}

// ConfigInfo is what is stored of an agent's config options and modes in a
// session, as the agent said it last.
type ConfigInfo struct {
	Revision int64           // grows by one whenever what follows changes
	Options  json.RawMessage // array of ACP config options; nil if there are none
	Modes    json.RawMessage // ACP object with currentModeId and availableModes; nil if there are none
}
