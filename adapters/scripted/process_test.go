package scripted

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// updates returns the updates of lines, without their envelopes.
func updates(session string, lines []string) []string {
	var all []string
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`+session+`","update":`); ok {
			all = append(all, strings.TrimSuffix(rest, "}}"))
		}
	}
	return all
}

// load opens a session on a new agent and returns what was replayed.
func (c *client) load(session string) []string {
	c.t.Helper()
	c.send(openV1)
	c.until(`"id":"i"`)
	c.send(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":"` + session + `","cwd":"/w","mcpServers":[]}}`)
	lines := c.until(`"id":"l"`)
	if last := lines[len(lines)-1]; !strings.Contains(last, `"result"`) {
		c.t.Fatalf("load: %s", last)
	}
	return updates(session, lines)
}

// S10: what a killed agent leaves: finished turns whole, the prompt of a broken
// turn without its reply, and no id that is given out twice.
func TestS10_KilledInATurn(t *testing.T) {
	dir := t.TempDir()
	c := launch(t, dir)
	s := c.open()
	c.prompt(s, "1", "#one")
	c.until(`"id":1,"result"`)
	c.prompt(s, "2", "#two [[calls 100]] [[chunks 2]] [[wait]]")
	seen := strings.Join(c.until("word2"), "\n")
	if err := c.proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.exit()

	c = launch(t, dir)
	got := c.load(s)
	want := []string{
		`{"sessionUpdate":"user_message_chunk","messageId":"m1","content":{"type":"text","text":"#one"}}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"You said: #one\nI have seen #one."}}`,
		`{"sessionUpdate":"user_message_chunk","messageId":"m3","content":{"type":"text","text":"#two [[calls 100]] [[chunks 2]] [[wait]]"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}
	c.prompt(s, "4", "#three [[calls 1]] [[chunks 1]]")
	lines := updates(s, c.until(`"id":4,"result"`))
	for _, u := range lines {
		for _, name := range []string{`"messageId":"`, `"toolCallId":"`} {
			if _, rest, ok := strings.Cut(u, name); ok {
				if id, _, _ := strings.Cut(rest, `"`); strings.Contains(seen, name+id+`"`) {
					t.Errorf("the id %s is given out again", id)
				}
			}
		}
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "I have seen #one #two #three.") {
		t.Errorf("the reply is %s; want all three tags", last)
	}
}

func TestS10_KilledBetweenTurns(t *testing.T) {
	dir := t.TempDir()
	c := launch(t, dir)
	s := c.open()
	c.prompt(s, "1", "[[chunks 1]]")
	c.until(`"id":1,"result"`)
	if err := c.proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.exit()
	c = launch(t, dir)
	if got := c.load(s); len(got) != 2 {
		t.Errorf("the replay is %q; want prompt and reply", got)
	}
	c.prompt(s, "2", "[[chunks 1]]")
	if got := updates(s, c.until(`"id":2,"result"`))[0]; !strings.Contains(got, `"messageId":"m4"`) {
		t.Errorf("the next reply is %s; want m4", got)
	}
}

func TestProcess_Ends(t *testing.T) {
	for _, tt := range []struct {
		name, prompt, until string
		end                 func(c *client) error
		want                int
	}{
		{"exit", "[[exit 7]]", "", func(*client) error { return nil }, 7},
		{"half", "[[half]]", "", func(*client) error { return nil }, 1},
		{"end of input", "[[chunks 1]] [[wait]]", "word1", func(c *client) error { return c.in.Close() }, 0},
		{"end of input, hanging", "[[chunks 1]] [[hang]]", "word1", func(c *client) error { return c.in.Close() }, 0},
		{"SIGTERM", "[[chunks 1]] [[wait]]", "word1", func(c *client) error { return c.proc.Process.Signal(syscall.SIGTERM) }, 0},
		// The client reads no more: the pipe fills, and the turn cannot write.
		{"unread output", "[[big 300000]] [[chunks 100000]]", "xxx", func(c *client) error { return c.in.Close() }, 0},
		{"output dropped", "[[drop]]", "", func(c *client) error {
			if line, more := c.next(); more {
				c.t.Errorf("it said %s after [[drop]]", line)
			}
			return c.in.Close()
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := launch(t, t.TempDir())
			c.prompt(c.open(), "1", tt.prompt)
			if tt.until != "" {
				c.until(tt.until)
			}
			if err := tt.end(c); err != nil {
				t.Fatal(err)
			}
			if code := c.exit(); code != tt.want {
				t.Errorf("exit code %d; want %d", code, tt.want)
			}
		})
	}
}
