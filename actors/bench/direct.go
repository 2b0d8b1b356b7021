package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// direct is the agent spoken to by hand: a process, two pipes, lines. Nothing can
// be less.
type direct struct {
	in      io.WriteCloser
	out     *bufio.Reader
	session string
	id      int
}

// lineBytes is the longest line that is understood; the agent's are far shorter.
const lineBytes = 64 << 10

// startDirect starts an agent and opens a session. It ends with the trial, or with
// its context, which ends every read too.
func (t *trial) startDirect() (*direct, error) {
	env, err := t.agentEnv()
	if err != nil {
		return nil, err
	}
	for name, value := range t.config.AgentEnv {
		env = append(env, name+"="+value)
	}
	ctx, kill := context.WithCancel(t.ctx)
	cmd := exec.CommandContext(ctx, t.config.Agent[0], t.config.Agent[1:]...)
	cmd.Env, cmd.WaitDelay = env, time.Second
	// An interrupt from the terminal is for this program: the agent would die of
	// it in the middle of a measure that is being ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		kill()
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		kill()
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		kill()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	t.atEnd(func() error { return stop(ctx, cmd, in, kill) })
	d := &direct{in: in, out: bufio.NewReaderSize(out, lineBytes)}
	return d, d.open()
}

// stop ends the agent as a client does, by closing its input, and then by force.
func stop(ctx context.Context, cmd *exec.Cmd, in io.Closer, kill context.CancelFunc) error {
	late := time.AfterFunc(patience, kill)
	defer late.Stop()
	defer kill()
	err := errors.Join(in.Close(), cmd.Wait())
	if ctx.Err() != nil {
		return ctx.Err() // it was killed, and says so
	}
	return err
}

// agentEnv is the environment of an agent with private sessions of its own.
func (t *trial) agentEnv() ([]string, error) {
	dir, err := t.mkdir()
	env := slices.DeleteFunc(slices.Clone(t.config.Env), func(v string) bool { return strings.HasPrefix(v, scriptedDir) })
	return append(env, scriptedDir+dir), err
}

// scriptedDir tells the built-in agent where its private sessions are.
const scriptedDir = "AGENTOS_SCRIPTED_DIR="

func (d *direct) open() error {
	if _, err := d.call("initialize", `{"protocolVersion":1}`); err != nil {
		return err
	}
	line, err := d.call("session/new", `{"cwd":"/","mcpServers":[]}`)
	if err != nil {
		return err
	}
	var opened struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal(line, &opened); err != nil {
		return fmt.Errorf("read the agent's session: %w", err)
	}
	d.session = opened.Result.SessionID
	return nil
}

// call sends a request and reads lines up to its answer, which it returns. It is
// valid until the next call.
func (d *direct) call(method, params string) ([]byte, error) {
	d.id++
	id := strconv.Itoa(d.id)
	if _, err := io.WriteString(d.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		return nil, fmt.Errorf("send %s: %w", method, err)
	}
	answer := []byte(`{"jsonrpc":"2.0","id":` + id + `,`)
	for {
		line, err := d.out.ReadSlice('\n')
		if err != nil {
			return nil, fmt.Errorf("read the answer to %s: %w", method, err)
		}
		if !bytes.HasPrefix(line, answer) {
			continue
		}
		if !bytes.HasPrefix(line[len(answer):], []byte(`"result":`)) {
			return nil, fmt.Errorf("%s: the agent answered %s", method, bytes.TrimSpace(line))
		}
		return line, nil
	}
}

// prompt runs one turn.
func (d *direct) prompt(text string) error {
	_, err := d.call("session/prompt", `{"sessionId":"`+d.session+`","prompt":`+content(text)+`}`)
	return err
}

// content is a prompt of one block of text.
func content(text string) string { return fmt.Sprintf(`[{"type":"text","text":%q}]`, text) }
