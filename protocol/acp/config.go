package acp

import (
	"bytes"
	"slices"

	"agentos/protocol/rawjson"
)

// ConfigOption is a view of one config option of a session.
type ConfigOption struct {
	ID      string
	Current []byte // raw currentValue; nil if absent
	// Boolean: the option is on or off. Otherwise Values are what it can be set to;
	// nil if the option is of a kind that this view does not know, and then only
	// the agent can tell.
	Boolean bool
	Values  []string
}

// ConfigOptions returns views of a raw array of config options. What has no id is
// left out, as official peers do it.
func ConfigOptions(raw []byte) []ConfigOption {
	var list []ConfigOption
	for e := range rawjson.Elements(raw) {
		if o, ok := configOption(e); ok {
			list = append(list, o)
		}
	}
	return list
}

func configOption(raw []byte) (o ConfigOption, ok bool) {
	if o.ID, ok = rawjson.GetString(raw, "id"); !ok {
		return o, false
	}
	o.Current, _ = rawjson.Get(raw, "currentValue")
	if kind, _ := rawjson.GetString(raw, "type"); kind == "boolean" {
		o.Boolean = true
		return o, true
	}
	for e := range rawjson.Elements(getKind(raw, '[', "options")) {
		if group := getKind(e, '[', "options"); group != nil {
			for e := range rawjson.Elements(group) {
				o.addValue(e)
			}
			continue
		}
		o.addValue(e)
	}
	return o, true
}

func (o *ConfigOption) addValue(raw []byte) {
	if value, ok := rawjson.GetString(raw, "value"); ok {
		o.Values = append(o.Values, value)
	}
}

// Modes is a view of the modes of a session.
type Modes struct {
	Current   string // "" if unknown
	Available []string
}

// ParseModes returns a view of a raw modes object, which may be nil.
func ParseModes(raw []byte) (m Modes) {
	m.Current, _ = rawjson.GetString(raw, "currentModeId")
	for e := range rawjson.Elements(getKind(raw, '[', "availableModes")) {
		if id, ok := rawjson.GetString(e, "id"); ok {
			m.Available = append(m.Available, id)
		}
	}
	return m
}

// WithCurrentMode returns the raw modes object with another current mode and
// everything else as it is. Without an object it becomes one with no available
// modes.
func WithCurrentMode(modes []byte, mode string) []byte {
	if rawjson.Kind(modes) != '{' {
		modes = []byte(`{"availableModes":[]}`)
	}
	return withMember(modes, "currentModeId", rawjson.AppendString(nil, mode))
}

// WithCurrentValue returns the raw array of config options with another current
// value of the option id. An option that is not there stays away.
func WithCurrentValue(options []byte, id string, value []byte) []byte {
	out, found := []byte{'['}, false
	for e := range rawjson.Elements(options) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if got, ok := rawjson.GetString(e, "id"); ok && got == id {
			e, found = withMember(e, "currentValue", value), true
		}
		out = append(out, e...)
	}
	if !found {
		return options
	}
	return append(out, ']')
}

// withMember returns the raw object with the member name of that raw value, in
// the place of the one that counts or in front, and every other byte as it is.
func withMember(obj []byte, name string, value []byte) []byte {
	var have rawjson.Member
	empty := true
	for m := range rawjson.Members(obj) {
		empty = false
		if m.Is(name) {
			have = m
		}
	}
	if have.Key != nil {
		end := have.ValueAt + len(have.Value)
		return slices.Concat(obj[:have.ValueAt], value, obj[end:])
	}
	member := append(append(rawjson.AppendString(nil, name), ':'), value...)
	if !empty {
		member = append(member, ',')
	}
	at := bytes.IndexByte(obj, '{') + 1
	return slices.Concat(obj[:at], member, obj[at:])
}
