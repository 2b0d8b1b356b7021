package restore

import (
	"bytes"
	"slices"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// Stored returns the settings behind stored config options and modes, both raw and
// perhaps nil, in the order in which they are set again (S10.4). Options are in the
// agent's order, which is that of their importance: the model comes before what
// depends on it. The mode is last, because it is also an option with some agents.
func Stored(options, modes []byte) []protocol.Setting {
	var list []protocol.Setting
	for _, o := range acp.ConfigOptions(options) {
		switch rawjson.Kind(o.Current) {
		case '"', 't', 'f':
			list = append(list, protocol.Setting{Option: o.ID, Value: o.Current})
		}
	}
	if mode := acp.ParseModes(modes).Current; mode != "" {
		list = append(list, protocol.Setting{Mode: mode})
	}
	return list
}

// Said is what an adapter has said of how its session is set.
type Said struct {
	Options, Modes []byte // raw; nil if it said nothing of it
	// Whole: what was not said does not exist. So it is with a new session; an agent
	// that got one back may not repeat itself.
	Whole bool
}

// Verdict is how a stored setting and an adapter session agree.
type Verdict int

// The verdicts.
const (
	AsStored   Verdict = iota // it is set so
	Differs                   // it is to be set again
	NotOffered                // the agent does not have it any more
)

// Compare tells whether set has to be set again.
func (s Said) Compare(set protocol.Setting) Verdict {
	if set.Mode != "" {
		return s.compareMode(set.Mode)
	}
	if s.Options == nil && !s.Whole {
		return Differs
	}
	for _, o := range acp.ConfigOptions(s.Options) {
		if o.ID != set.Option {
			continue
		}
		value, text := rawjson.String(set.Value)
		switch {
		case sameValue(o.Current, set.Value):
			return AsStored
		case o.Boolean == text, o.Values != nil && !slices.Contains(o.Values, value):
			return NotOffered
		}
		return Differs
	}
	return NotOffered
}

func (s Said) compareMode(mode string) Verdict {
	modes := acp.ParseModes(s.Modes)
	switch {
	case s.Modes == nil && s.Whole:
		return NotOffered
	case modes.Current == mode:
		return AsStored
	case len(modes.Available) > 0 && !slices.Contains(modes.Available, mode):
		return NotOffered
	}
	return Differs
}

// sameValue compares texts by what they say, however they are spelled.
func sameValue(a, b []byte) bool {
	textA, okA := rawjson.String(a)
	textB, okB := rawjson.String(b)
	return okA && okB && textA == textB || bytes.Equal(a, b)
}
