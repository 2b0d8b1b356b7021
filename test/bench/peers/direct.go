package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// direct is the agent spoken to by hand: a process, two pipes, lines. Nothing can
// be less.
type direct struct {
	home    home
	child   *child
	session string
	id      int
	said    bytes.Buffer // the lines before the last answer
	sum     tally
}

// startDirect starts the agent and opens a session.
func startDirect(ctx context.Context, h home) (*direct, error) {
	dir, env, err := h.own(nameDirect)
	if err != nil {
		return nil, err
	}
	c, err := startChild(h.agent(), dir, env)
	if err != nil {
		return nil, err
	}
	d := &direct{home: h, child: c}
	err = c.guarded(ctx, func() error {
		if _, err := d.call("initialize", `{"protocolVersion":1}`); err != nil {
			return err
		}
		line, err := d.call("session/new", `{"cwd":"/","mcpServers":[]}`)
		if err != nil {
			return err
		}
		var opened struct{ Result struct{ SessionID string } }
		err = json.Unmarshal(line, &opened)
		d.session = opened.Result.SessionID
		return err
	})
	if err != nil {
		_ = d.close() // the reason is already known
		return nil, err
	}
	return d, nil
}

// call sends a request and reads up to its answer, which it returns; it is valid
// until the next call. What came before is in said.
func (d *direct) call(method, params string) ([]byte, error) {
	d.id++
	id := strconv.Itoa(d.id)
	if _, err := io.WriteString(d.child.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		return nil, fmt.Errorf("send %s: %w", method, err)
	}
	answer := []byte(`{"jsonrpc":"2.0","id":` + id + `,`)
	d.said.Reset()
	for {
		line, err := d.child.out.ReadSlice('\n')
		if err != nil {
			return nil, fmt.Errorf("read the answer to %s: %w", method, err)
		}
		if !bytes.HasPrefix(line, answer) {
			d.said.Write(line)
			continue
		}
		if !bytes.HasPrefix(line[len(answer):], []byte(`"result":`)) {
			return nil, fmt.Errorf("%s: %s", method, line)
		}
		return line, nil
	}
}

func (d *direct) prompt(ctx context.Context, text string) (took time.Duration, err error) {
	params := `{"sessionId":"` + d.session + `","prompt":` + content(text) + `}`
	err = d.child.guarded(ctx, func() error {
		start := time.Now()
		_, err := d.call("session/prompt", params)
		took = time.Since(start)
		return err
	})
	if err != nil {
		return 0, err
	}
	return took, d.count()
}

// count adds what the agent said to the tally, when the clock has stopped.
func (d *direct) count() error {
	for line := range bytes.Lines(d.said.Bytes()) {
		var m struct {
			Params struct{ Update json.RawMessage }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("read a line of the agent: %w", err)
		}
		if err := d.sum.add(m.Params.Update); err != nil {
			return err
		}
	}
	return nil
}

// add counts one event, given the update that is its payload.
func (t *tally) add(payload []byte) error {
	var u struct {
		SessionUpdate string
		Content       json.RawMessage
	}
	if err := json.Unmarshal(payload, &u); err != nil {
		return fmt.Errorf("read an update: %w", err)
	}
	t.Events++
	t.Payload += int64(len(payload))
	switch u.SessionUpdate {
	case "tool_call":
		t.Calls++
	case "agent_message_chunk":
		var block struct{ Text string }
		if err := json.Unmarshal(u.Content, &block); err != nil {
			return fmt.Errorf("read a chunk: %w", err)
		}
		t.Text += int64(len(block.Text))
	}
	return nil
}

func (d *direct) fresh(ctx context.Context, text string) (birth, error) {
	start := time.Now()
	other, err := startDirect(ctx, d.home)
	if err != nil {
		return birth{}, err
	}
	_, err = other.prompt(ctx, text)
	b := birth{first: time.Since(start)}
	if cerr := other.close(); err == nil {
		err = cerr
	}
	return b, err
}

func (d *direct) tally(context.Context) (tally, error) { return d.sum, nil }

func (d *direct) close() error { return d.child.stop() }

// content is a prompt of one block of text.
func content(text string) string { return fmt.Sprintf(`[{"type":"text","text":%q}]`, text) }
