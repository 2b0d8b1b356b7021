package wire

import (
	"encoding/json"
	"errors"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/rawjson"
)

// Protocol is the number of this vocabulary. It changes when a client of before
// would misunderstand.
const Protocol = 1

// Hello says who answers at a door.
type Hello struct {
	Protocol int    `json:"protocol"`
	PID      int    `json:"pid"`
	Version  string `json:"version"`
	Command  string `json:"command"`  // its name, no arguments
	Stopping bool   `json:"stopping"` // it begins nothing new
}

// AppendHello appends h.
func AppendHello(dst []byte, h Hello) []byte {
	text, err := json.Marshal(h)
	if err != nil {
		panic("wire: " + err.Error()) // texts and numbers
	}
	return append(dst, text...)
}

// ParseHello reads what AppendHello wrote; members that a newer one has are passed
// over.
func ParseHello(body []byte) (Hello, error) {
	var h Hello
	if err := json.Unmarshal(body, &h); err != nil || h.Protocol == 0 {
		return h, errors.New("parse hello: it is none")
	}
	return h, nil
}

// Small bodies.
type (
	// Permit answers a permission request.
	Permit struct {
		Option string `json:"optionId"`
	}
	// Cancel names the turn that is meant; "" means the current one.
	Cancel struct {
		Prompt protocol.PromptID `json:"promptId"`
	}
	contentBody struct {
		Content json.RawMessage `json:"content"`
	}
	settingBody struct {
		Option string          `json:"option"`
		Value  json.RawMessage `json:"value"`
		Mode   string          `json:"mode"`
	}
	permissionBody struct {
		Status protocol.OutcomeStatus `json:"status"`
		Reason protocol.Reason        `json:"reason,omitempty"`
	}
)

// AppendPermit appends the body of a permission's answer.
func AppendPermit(dst []byte, p Permit) []byte { return appendObject(dst, p) }

// ParsePermit reads it.
func ParsePermit(body []byte) (p Permit, err error) {
	err = strict(body, &p)
	return p, err
}

// AppendCancel appends the body of a cancel.
func AppendCancel(dst []byte, c Cancel) []byte { return appendObject(dst, c) }

// ParseCancel reads it; no body at all means the current turn.
func ParseCancel(body []byte) (c Cancel, err error) {
	if len(body) == 0 {
		return c, nil
	}
	err = strict(body, &c)
	return c, err
}

// AppendContent appends the body of an edited prompt, whose content is valid JSON.
func AppendContent(dst, content []byte) []byte {
	return append(append(append(dst, `{"content":`...), content...), '}')
}

// ParseContent reads it.
func ParseContent(body []byte) ([]byte, error) {
	var b contentBody
	err := strict(body, &b)
	return b.Content, err
}

// AppendSetting appends the body that sets one thing.
func AppendSetting(dst []byte, s actors.Setting) []byte {
	if s.Option == "" {
		return append(rawjson.AppendString(append(dst, `{"mode":`...), s.Mode), '}')
	}
	dst = rawjson.AppendString(append(dst, `{"option":`...), s.Option)
	if s.Mode != "" {
		dst = rawjson.AppendString(append(dst, `,"mode":`...), s.Mode)
	}
	if s.Value != nil {
		dst = append(append(dst, `,"value":`...), s.Value...)
	}
	return append(dst, '}')
}

// ParseSetting reads it.
func ParseSetting(body []byte) (actors.Setting, error) {
	var b settingBody
	err := strict(body, &b)
	return actors.Setting{Option: b.Option, Value: b.Value, Mode: b.Mode}, err
}

// AppendPermission appends what became of a permission's answer.
func AppendPermission(dst []byte, a protocol.PermissionAnswer) []byte {
	return appendObject(dst, permissionBody{a.Status, a.Reason})
}

// ParsePermission reads it.
func ParsePermission(body []byte) (protocol.PermissionAnswer, error) {
	var b permissionBody
	err := json.Unmarshal(body, &b)
	return protocol.PermissionAnswer{Status: b.Status, Reason: b.Reason}, err
}

func appendObject(dst []byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("wire: " + err.Error()) // texts
	}
	return append(dst, text...)
}
