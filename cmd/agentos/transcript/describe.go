package transcript

import (
	"fmt"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// titleRunes bounds what is shown of a title on one line.
const titleRunes = 120

// toolCall is what a tool_call or tool_call_update says of a call; "" is what it
// does not mention.
type toolCall struct{ id, title, status string }

// The statuses of a tool call that have a colour.
const (
	statusPending   = "pending"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// parseTool reads an update about a tool call.
func parseTool(u acp.Update) (t toolCall, first, ok bool) {
	first = u.Kind == "tool_call"
	if !first && u.Kind != "tool_call_update" {
		return t, false, false
	}
	t.id, _ = rawjson.GetString(u.Raw, "toolCallId")
	t.title, _ = rawjson.GetString(u.Raw, "title")
	t.status, _ = rawjson.GetString(u.Raw, "status")
	if first && t.status == "" {
		t.status = statusPending // what ACP says a call without one is
	}
	return t, first, true
}

// merge takes over what a later update mentions.
func (t *toolCall) merge(later toolCall) {
	if later.title != "" {
		t.title = later.title
	}
	if later.status != "" {
		t.status = later.status
	}
}

func (t toolCall) name() string {
	if t.title != "" {
		return Line(t.title, titleRunes)
	}
	return Line(t.id, titleRunes)
}

func (s Style) status(status string) string {
	text := Line(status, titleRunes)
	switch status {
	case statusCompleted:
		return s.Good(text)
	case statusFailed:
		return s.Bad(text)
	}
	return s.Pending(text)
}

// Block describes a content block that is not text, "" for one that is.
func Block(raw []byte) string {
	kind, _ := rawjson.GetString(raw, "type")
	switch kind {
	case "text":
		return ""
	case "image", "audio":
		mime, _ := rawjson.GetString(raw, "mimeType")
		data, _ := rawjson.Get(raw, "data")
		return fmt.Sprintf("[%s %s, %d bytes of base64]", kind, Line(mime, titleRunes), len(rawjson.Inner(data)))
	case "resource_link":
		uri, _ := rawjson.GetString(raw, "uri")
		return "[link " + Line(uri, titleRunes) + "]"
	case "resource":
		uri, _ := rawjson.GetString(raw, "resource", "uri")
		return "[resource " + Line(uri, titleRunes) + "]"
	}
	return "[" + Line(kind, titleRunes) + "]"
}

// BlockText returns the text of a text block.
func BlockText(raw []byte) (text string, ok bool) {
	if kind, _ := rawjson.GetString(raw, "type"); kind != "text" {
		return "", false
	}
	return rawjson.GetString(raw, "text")
}

// plan says how far a plan is.
func plan(raw []byte) string {
	entries, _ := rawjson.Get(raw, "entries")
	all, done, current := 0, 0, ""
	for e := range rawjson.Elements(entries) {
		all++
		status, _ := rawjson.GetString(e, "status")
		content, _ := rawjson.GetString(e, "content")
		switch {
		case status == statusCompleted:
			done++
		case status == "in_progress" && current == "":
			current = ": " + Line(content, titleRunes)
		}
	}
	return fmt.Sprintf("plan: %d of %d steps done%s", done, all, current)
}

// other describes an update that is neither a message nor a tool call, "" for
// one that a person need not see.
func other(u acp.Update) string {
	switch u.Kind {
	case "plan":
		return plan(u.Raw)
	case acp.UpdateSessionInfo:
		if title, ok := acp.ParseSessionInfo(u.Raw); ok && title != nil {
			return "title: " + Line(*title, titleRunes)
		}
		return ""
	case acp.UpdateCurrentMode:
		mode, _ := acp.ParseCurrentMode(u.Raw)
		return "mode: " + Line(mode, titleRunes)
	case "notice":
		text, _ := rawjson.GetString(u.Raw, "message")
		return "notice: " + Line(text, titleRunes)
	case "usage_update", "available_commands_update", acp.UpdateConfigOption:
		return ""
	}
	return "(" + Line(u.Kind, titleRunes) + ")"
}

// asked is the title of a permission request.
func asked(payload []byte) string {
	p, err := acp.ParsePermission(payload)
	switch {
	case err != nil:
		return "(a request that cannot be read)"
	case p.Title != "":
		return Line(p.Title, titleRunes)
	case p.ToolCallID != "":
		return Line(p.ToolCallID, titleRunes)
	}
	return "(no title)"
}

// decided says what became of a permission request. names are the names of the
// options by id, as far as the request was seen.
func (s Style) decided(e protocol.Event, names map[string]string) string {
	option, selected := rawjson.GetString(e.Payload, "outcome", "optionId")
	switch {
	case e.Status == protocol.OutcomeNotPending:
		return s.Bad("not answered") + " (" + Line(string(e.Reason), titleRunes) + ")"
	case !selected:
		return s.Bad("cancelled")
	}
	name := option
	if n := names[option]; n != "" {
		name = n
	}
	return s.Bold(Line(name, titleRunes))
}

// optionNames returns the names of a request's options by id.
func optionNames(payload []byte) map[string]string {
	p, err := acp.ParsePermission(payload)
	if err != nil {
		return nil
	}
	names := make(map[string]string, len(p.Options))
	for _, o := range p.Options {
		names[o.ID] = o.Name
	}
	return names
}

// requestRunes bounds one line of what a permission request says of itself.
const requestRunes = 400

// Request returns what a permission request says about what it is for beside its
// title, as lines: a person who decides has to see the command and the files,
// not what the agent calls them.
func Request(payload []byte) []string {
	var lines []string
	call, _ := rawjson.Get(payload, "toolCall")
	if kind, _ := rawjson.GetString(call, "kind"); kind != "" {
		lines = append(lines, "kind: "+Line(kind, titleRunes))
	}
	locations, _ := rawjson.Get(call, "locations")
	for l := range rawjson.Elements(locations) {
		if path, ok := rawjson.GetString(l, "path"); ok {
			lines = append(lines, "file: "+Line(path, requestRunes))
		}
	}
	if input, ok := rawjson.Get(call, "rawInput"); ok && rawjson.Kind(input) != 'n' {
		lines = append(lines, "input: "+Line(string(input), requestRunes))
	}
	return lines
}
