package sessions

import (
	"bytes"
	"slices"
	"strings"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// ConfigOf returns what is stored of the agent's config options and modes.
func ConfigOf(r protocol.Record) protocol.ConfigInfo {
	return protocol.ConfigInfo{Revision: r.ConfigRevision, Options: r.ConfigOptions, Modes: modesIn(r.Metadata)}
}

// stepConfigure asks the agent for a setting, bringing it up first if it must. A
// route that is live knows what there is to set, so it is held to that at once;
// what is stored from another day may be out of date, so there the agent is asked.
func (s *Session) stepConfigure(in Configure) *protocol.Error {
	if !s.exists {
		return s.noSession()
	}
	if err := validSetting(in.Setting); err != nil {
		return err
	}
	if s.phase == routeLive && len(s.settings) == 0 {
		if _, err := s.offered(in.Setting); err != nil {
			return err
		}
	}
	s.settings = append(s.settings, in)
	s.now(Hold{For: in.ID})
	if s.phase == routeNone {
		s.startRoute()
	}
	s.askSetting()
	return nil
}

// askSetting asks the adapter for the first setting that waits. They are asked
// for one by one, because what there is to set may depend on the one before.
func (s *Session) askSetting() {
	for s.phase == routeLive && !s.asked && len(s.settings) > 0 {
		in := s.settings[0]
		setting, err := s.offered(in.Setting)
		if err != nil {
			s.endSetting(Reply{Err: err})
			continue
		}
		s.asked = true
		s.after(SetConfig{Route: s.route, Token: in.Token, ACP: s.binding.ACPSession, Setting: setting})
	}
}

// stepConfigured stores what the adapter says of a setting, whoever it was for:
// the machine that asked may have been replaced since.
func (s *Session) stepConfigured(in Configured) {
	if in.Route != s.route || s.phase != routeLive {
		return
	}
	if in.Err == nil {
		options, modes := s.rec.ConfigOptions, modesIn(s.rec.Metadata)
		switch {
		case in.Setting.Mode != "":
			modes = acp.WithCurrentMode(modes, in.Setting.Mode)
		case in.Options != nil:
			options = in.Options
		default: // against the protocol, but it is set
			options = acp.WithCurrentValue(options, in.Setting.Option, in.Setting.Value)
		}
		s.configure(options, modes)
	}
	if s.asked && s.settings[0].Token == in.Token {
		reply := Reply{Err: in.Err}
		if in.Err == nil {
			config := ConfigOf(s.rec)
			reply.Config = &config
		}
		s.endSetting(reply)
	}
	s.askSetting()
}

// endSetting answers the first caller who waits for a setting.
func (s *Session) endSetting(reply Reply) {
	in := s.settings[0]
	s.settings, s.asked = slices.Delete(slices.Clone(s.settings), 0, 1), false
	reply.Token = in.Token
	s.after(reply)
	s.after(Release{For: in.ID})
}

// endSettings answers everybody whose route has gone.
func (s *Session) endSettings(why *protocol.Error) {
	for len(s.settings) > 0 {
		s.endSetting(Reply{Err: why})
	}
}

// configure keeps how the live route is set now.
func (s *Session) configure(options, modes []byte) {
	s.binding.ConfigOptions, s.binding.Modes = options, modes
	s.recordConfig(options, modes)
}

// bindConfig records how a route is set. What the adapter has not said of a
// session that it got back is as it was; of a fresh one it has said all.
func (s *Session) bindConfig(b Binding, fresh bool) {
	options, modes := b.ConfigOptions, b.Modes
	if options == nil && !fresh {
		options = s.rec.ConfigOptions
	}
	if modes == nil && !fresh {
		modes = modesIn(s.rec.Metadata)
	}
	s.recordConfig(options, modes)
}

// recordConfig stores options and modes if they are others than before. An empty
// list is no list, as it is in the row.
func (s *Session) recordConfig(options, modes []byte) {
	if !hasElements(options) {
		options = nil
	}
	if bytes.Equal(options, s.rec.ConfigOptions) && bytes.Equal(modes, modesIn(s.rec.Metadata)) {
		return
	}
	metadata := s.rec.Metadata
	if !bytes.Equal(modes, modesIn(metadata)) {
		metadata = withModes(metadata, modes)
	}
	s.record(protocol.ProfileChanged{
		ConfigRevision: s.rec.ConfigRevision + 1, ConfigOptions: options, Title: s.rec.Title, Metadata: metadata,
	})
}

func (s *Session) recordTitle(title *string) {
	s.record(protocol.ProfileChanged{
		ConfigRevision: s.rec.ConfigRevision, ConfigOptions: s.rec.ConfigOptions, Title: title, Metadata: s.rec.Metadata,
	})
}

func hasElements(array []byte) bool {
	for range rawjson.Elements(array) {
		return true
	}
	return false
}

// modesMember is where the metadata of a session has the agent's modes.
const modesMember = "modes"

func modesIn(metadata []byte) []byte {
	modes, _ := rawjson.Get(metadata, modesMember)
	if rawjson.Kind(modes) != '{' {
		return nil
	}
	return modes
}

// withModes returns metadata with other modes, nil for none, and the other members
// as they are.
func withModes(metadata, modes []byte) []byte {
	out := []byte{'{'}
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	for m := range rawjson.Members(metadata) {
		if !m.Is(modesMember) {
			add(m.Key, m.Value)
		}
	}
	if modes != nil {
		add(rawjson.AppendString(nil, modesMember), modes)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

func validSetting(set protocol.Setting) *protocol.Error {
	if (set.Option == "") == (set.Mode == "") {
		return protocol.Errorf(protocol.CodeInvalidArgument, "a setting is an option with a value, or a mode")
	}
	if kind := rawjson.Kind(set.Value); set.Option != "" && kind != '"' && kind != 't' && kind != 'f' {
		return protocol.Errorf(protocol.CodeInvalidConfigValue, "the value of option %q is neither a text nor true or false", set.Option)
	}
	return nil
}

// offered holds a setting to what the agent has, and returns it as the agent is to
// be asked for it.
func (s *Session) offered(set protocol.Setting) (protocol.Setting, *protocol.Error) {
	if set.Mode != "" {
		return set, s.offeredMode(set.Mode)
	}
	options := acp.ConfigOptions(s.rec.ConfigOptions)
	if len(options) == 0 {
		return set, protocol.Errorf(protocol.CodeUnsupportedByAgent, "agent %s has no config options", s.rec.Spec.Agent)
	}
	at := slices.IndexFunc(options, func(o acp.ConfigOption) bool { return o.ID == set.Option })
	if at < 0 {
		ids := make([]string, len(options))
		for i, o := range options {
			ids[i] = o.ID
		}
		return set, protocol.Errorf(protocol.CodeInvalidConfigValue, "agent %s has no config option %q; it has %s", s.rec.Spec.Agent, set.Option, listed(ids)).
			With("options", ids)
	}
	var values []string
	if set.Value, values = valueFor(options[at], set.Value); set.Value == nil {
		return set, protocol.Errorf(protocol.CodeInvalidConfigValue, "config option %q does not take that value; it takes %s", set.Option, listed(values)).
			With("values", values)
	}
	return set, nil
}

func (s *Session) offeredMode(mode string) *protocol.Error {
	raw := modesIn(s.rec.Metadata)
	if raw == nil {
		return protocol.Errorf(protocol.CodeUnsupportedByAgent, "agent %s has no modes", s.rec.Spec.Agent)
	}
	available := acp.ParseModes(raw).Available
	if len(available) > 0 && !slices.Contains(available, mode) {
		return protocol.Errorf(protocol.CodeInvalidConfigValue, "agent %s has no mode %q; it has %s", s.rec.Spec.Agent, mode, listed(available)).
			With("modes", available)
	}
	return nil
}

// valueFor returns value as the agent is to be sent it for that option, or nil and
// what there is instead.
func valueFor(o acp.ConfigOption, value []byte) (send []byte, values []string) {
	text, isText := rawjson.String(value)
	switch {
	case o.Boolean && !isText:
		return value, nil
	case o.Boolean && (text == "true" || text == "false"):
		return []byte(text), nil
	case o.Boolean:
		return nil, []string{"true", "false"}
	case o.Values == nil, isText && slices.Contains(o.Values, text):
		return value, nil
	}
	return nil, o.Values
}

// listed is for error messages: a list may be as long as an agent has models.
func listed(words []string) string {
	const most = 20
	if len(words) > most {
		return strings.Join(words[:most], ", ") + " and others"
	}
	return strings.Join(words, ", ")
}
