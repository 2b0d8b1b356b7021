package main

import (
	"strings"
	"testing"
)

func TestParseReply(t *testing.T) {
	for _, c := range []struct {
		line string
		ours bool
		err  string
	}{
		{`{"answer":3,"ms":1.5,"events":2}`, true, ""},
		{`a library says something`, false, ""},
		{`{"level":"info"}`, false, ""},
		{`{"answer":3,"error":"no such session"}`, true, "no such session"},
		{`{"answer":2}`, false, `the driver answered "{\"answer\":2}" to request 3`},
		{`{"answer":null}`, false, `the driver answered "{\"answer\":null}" to request 3`},
		{`{"answer":`, false, "read a line of the driver: unexpected end of JSON input"},
	} {
		r, ours, err := parseReply([]byte(c.line), 3)
		if text := errorText(err); ours != c.ours || text != c.err {
			t.Errorf("parseReply(%s) = %v, %q; want %v, %q", c.line, ours, text, c.ours, c.err)
		}
		if c.err == "" && c.ours && (r.MS != 1.5 || r.Events != 2) {
			t.Errorf("parseReply(%s) = %+v; want all of it", c.line, r)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"answer":3,"ms":1.5,"events":2}`))
	f.Add([]byte(`{"answer":3,"error":"x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, ours, err := parseReply(line, 3); ours && (r.Answer == nil || *r.Answer != 3 || r.Error != "" && err == nil) {
			t.Errorf("parseReply(%q) takes %+v for the answer", line, r)
		}
	})
}

func FuzzTally(f *testing.F) {
	f.Add([]byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ab"}}`))
	f.Add([]byte(`{"sessionUpdate":"tool_call","content":[]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var sum tally
		if err := sum.add(payload); err == nil && (sum.Events != 1 || sum.Payload != int64(len(payload)) || sum.Calls > 1) {
			t.Errorf("add(%q) = %+v; want one event", payload, sum)
		}
	})
}

func TestTail_KeepsTheEnd(t *testing.T) {
	var errs tail
	for range 100 {
		if n, err := errs.Write([]byte(strings.Repeat("x", 99) + "\n")); n != 100 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if _, err := errs.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	if got := errs.String(); len(got) > tailBytes || !strings.HasSuffix(got, "x\nthe end") {
		t.Errorf("tail has %d bytes and ends with %.20q; want at most %d, and the end", len(got), got[max(0, len(got)-20):], tailBytes)
	}
}

func TestPeersTable_VersionsArePinned(t *testing.T) {
	for _, want := range []string{"AgentOS 0.2.21", "sandbox-agent 0.4.2"} {
		if got := titles(); !strings.Contains(got, want) {
			t.Errorf("peers.txt has %s; want %s", got, want)
		}
	}
	for _, p := range peers() {
		if _, err := drivers.ReadFile("driver/" + p.name + ".mjs"); err != nil {
			t.Errorf("%s of peers.txt has no driver: %v", p.name, err)
		}
	}
}

func titles() string {
	var list []string
	for _, p := range peers() {
		list = append(list, title(p.name))
	}
	return strings.Join(list, ", ")
}
