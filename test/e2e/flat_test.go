package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// event is what these tests read of a public event. The line is what counts.
type event struct {
	line       string // without its run
	Durability string
	Sequence   int64
	Type       string
	Run        string
	Offset     int
	MessageID  string
	RequestID  string
	Status     string
	Incomplete bool
	Content    json.RawMessage
}

// runMember is the one member that a durable event has only while it is live.
var runMember = regexp.MustCompile(`^(\{(?:"(?:durability|sessionId|sequence|timestamp|acpVersion|type)":(?:"[^"]*"|\d+),)*)"run":"[^"]*",`)

// durable returns the line of an event as history has it.
func durable(line string) string { return runMember.ReplaceAllString(line, "$1") }

func parseEvent(t *testing.T, line string) event {
	t.Helper()
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("read event %.300s: %v", line, err)
	}
	e.line = durable(line)
	return e
}

func parseEvents(t *testing.T, lines []string) []event {
	t.Helper()
	events := make([]event, len(lines))
	for i, line := range lines {
		events[i] = parseEvent(t, line)
	}
	return events
}

// text is the text of an event's content, "" if it is not one text.
func (e event) text() string {
	var content struct{ Type, Text string }
	if json.Unmarshal(e.Content, &content) != nil { // some kinds have an array here
		return ""
	}
	return content.Text
}

// member is a member of a JSON object, its value as the bytes that are there.
type member struct{ Key, Value string }

func (m member) String() string { return fmt.Sprintf("%q: %.80s", m.Key, m.Value) }

// members takes a JSON object apart, in order, keys that come twice included. It
// is not the project's own reader on purpose.
func members(object []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("no object: %v, %w", open, err)
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage // the decoder copies it byte for byte
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		all = append(all, member{key.(string), string(value)})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return all, nil
}

func TestMembers(t *testing.T) {
	got, err := members([]byte(`{ "a" : [ 1 ,` + "\t" + `2 ] ,"\u0061":"\ud800", "b":9007199254740993}`))
	want := "[\"a\": [ 1 ,\t2 ] \"a\": \"\\ud800\" \"b\": 9007199254740993]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("members = %v, %v; want %v", got, err, want)
	}
}

func TestDurable(t *testing.T) {
	live := `{"durability":"durable","sessionId":"main","sequence":2,"timestamp":"2026-01-01T00:00:00.000Z","acpVersion":1,"type":"x","run":"r1","a":{"type":"y","run":"z"}}`
	want := strings.Replace(live, `"run":"r1",`, "", 1)
	if got := durable(live); got != want || durable(want) != want {
		t.Errorf("durable = %s, then %s; want %s", got, durable(want), want)
	}
}
