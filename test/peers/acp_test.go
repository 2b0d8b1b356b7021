package peers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentos/test/peers"
)

// patience bounds the wait for one message of an agent.
const patience = 60 * time.Second

// message is any JSON-RPC message of an agent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// client is the least that can drive an agent. It is not the project's own
// wire on purpose: it shows what the agent does, whatever ours makes of it.
type client struct {
	t       *testing.T
	in      io.Writer
	lines   chan []byte // what the agent writes; closed when its output ends
	next    int
	updates []update // since the last call of turn
	// permission is the kind of option that answers session/request_permission,
	// allow_once for instance; empty means cancelled.
	permission string
	asked      int // permission requests so far
}

type update struct {
	Kind    string `json:"sessionUpdate"`
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

// start runs the agent until the test ends. Its whole process group is killed
// then: launchers leave their child behind.
func start(t *testing.T, launch peers.Launch) *client {
	t.Helper()
	cmd := exec.Command(launch.Argv[0], launch.Argv[1:]...)
	cmd.Env, cmd.Dir = launch.Env, launch.Home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var errs strings.Builder
	cmd.Stderr = &errs
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: in, lines: make(chan []byte, 4096)}
	go func() { // ends with the agent's output, at the latest when the group is killed
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for range c.lines {
		}
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("stderr of the agent: %s", errs.String())
		}
	})
	return c
}

func (c *client) write(m map[string]any) {
	c.t.Helper()
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatalf("write to the agent: %v", err)
	}
}

// read returns the next message.
func (c *client) read() message {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the agent's output ended")
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("the agent wrote %q: %v", line, err)
		}
		return m
	case <-time.After(patience):
		c.t.Fatalf("no message in %v", patience)
	}
	return message{}
}

// request sends a request and returns its id.
func (c *client) request(method string, params any) string {
	c.t.Helper()
	c.next++
	c.write(map[string]any{"id": c.next, "method": method, "params": params})
	return fmt.Sprint(c.next)
}

// answer serves the agent until it answers the request id, and decodes the
// result into out.
func (c *client) answer(id string, out any) {
	c.t.Helper()
	for {
		m := c.read()
		if m.Method != "" {
			c.serve(m)
			continue
		}
		if string(m.ID) != id {
			c.t.Fatalf("an answer to %s; want one to %s", m.ID, id)
		}
		if m.Error != nil {
			c.t.Fatalf("request %s failed: %s", id, m.Error)
		}
		if err := json.Unmarshal(m.Result, out); err != nil {
			c.t.Fatal(err)
		}
		return
	}
}

// serve takes a notification or a request of the agent.
func (c *client) serve(m message) {
	c.t.Helper()
	switch {
	case m.Method == "session/update":
		var p struct {
			Update update `json:"update"`
		}
		// Updates come in more shapes than these fields; what does not fit stays empty.
		_ = json.Unmarshal(m.Params, &p)
		c.updates = append(c.updates, p.Update)
	case m.ID == nil:
	case m.Method == "session/request_permission":
		c.asked++
		c.write(map[string]any{"id": m.ID, "result": map[string]any{"outcome": c.decide(m.Params)}})
	default:
		c.write(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
	}
}

// decide picks the option of a permission request.
func (c *client) decide(params json.RawMessage) map[string]any {
	c.t.Helper()
	var p struct {
		Options []struct {
			OptionID string `json:"optionId"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		c.t.Fatalf("permission request %s: %v", params, err)
	}
	for _, o := range p.Options {
		if o.Kind == c.permission {
			return map[string]any{"outcome": "selected", "optionId": o.OptionID}
		}
	}
	return map[string]any{"outcome": "cancelled"}
}

// open initializes the agent and makes a session.
func (c *client) open(cwd string) (session string) {
	c.t.Helper()
	var init struct {
		ProtocolVersion int `json:"protocolVersion"`
	}
	c.answer(c.request("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}), &init)
	if init.ProtocolVersion != 1 {
		c.t.Fatalf("protocolVersion = %d; want 1", init.ProtocolVersion)
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	c.answer(c.request("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}), &made)
	if made.SessionID == "" {
		c.t.Fatal("session/new answered without a sessionId")
	}
	return made.SessionID
}

func prompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// turn runs one prompt and returns its stop reason and the text the agent said.
func (c *client) turn(session, text string) (stop, said string) {
	c.t.Helper()
	c.updates = nil
	return c.finish(c.request("session/prompt", prompt(session, text)))
}

// finish waits for the end of the turn that the request id began.
func (c *client) finish(id string) (stop, said string) {
	c.t.Helper()
	var end struct {
		StopReason string `json:"stopReason"`
	}
	c.answer(id, &end)
	for _, u := range c.updates {
		if u.Kind == "agent_message_chunk" {
			said += u.Content.Text
		}
	}
	return end.StopReason, said
}
