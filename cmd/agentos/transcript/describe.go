package transcript

import (
	"fmt"
	"strings"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
)

// titleRunes bounds what is shown of a title on one line, uriRunes of an address,
// which is of no use if it is cut.
const (
	titleRunes = 120
	uriRunes   = 2000
)

// Block describes a content block that is not text, "" for one that is.
func Block(raw []byte) string {
	kind, _ := rawjson.GetString(raw, "type")
	switch kind {
	case "text":
		return ""
	case "image", "audio":
		mime, _ := rawjson.GetString(raw, "mimeType")
		data, _ := rawjson.Get(raw, "data")
		return fmt.Sprintf("[%s %s, %s]", kind, Line(mime, titleRunes), size(len(rawjson.Inner(data))/4*3))
	case "resource_link":
		uri, _ := rawjson.GetString(raw, "uri")
		if name, _ := rawjson.GetString(raw, "name"); name != "" && !strings.HasSuffix(uri, name) {
			return "[link " + Line(name, titleRunes) + ": " + Line(uri, uriRunes) + "]"
		}
		return "[link " + Line(uri, uriRunes) + "]"
	case "resource":
		uri, _ := rawjson.GetString(raw, "resource", "uri")
		return "[resource " + Line(uri, uriRunes) + "]"
	}
	return "[" + Line(kind, titleRunes) + "]"
}

// size is a number of bytes for a person.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
}

// BlockText returns the text of a text block.
func BlockText(raw []byte) (text string, ok bool) {
	if kind, _ := rawjson.GetString(raw, "type"); kind != "text" {
		return "", false
	}
	return rawjson.GetString(raw, "text")
}

// planSteps is how many steps of a plan are shown.
const planSteps = 20

// plan says how far a plan is, and lists its steps in further lines.
func plan(raw []byte) (head string, steps []string) {
	entries, _ := rawjson.Get(raw, "entries")
	all, done := 0, 0
	for e := range rawjson.Elements(entries) {
		all++
		status, _ := rawjson.GetString(e, "status")
		content, _ := rawjson.GetString(e, "content")
		mark := "[ ] "
		switch status {
		case statusCompleted:
			done++
			mark = "[x] "
		case statusInProgress:
			mark = "[>] "
		}
		if len(steps) < planSteps {
			steps = append(steps, mark+Line(content, titleRunes))
		}
	}
	if all > planSteps {
		steps = append(steps, fmt.Sprintf("… %d more", all-planSteps))
	}
	return fmt.Sprintf("plan: %d of %d steps done", done, all), steps
}

// other describes an update that is neither a message nor a tool call, "" for
// one that a person need not see.
func other(u acp.Update) string {
	switch u.Kind {
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
