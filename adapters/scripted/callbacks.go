package scripted

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"agentos/adapters/scripted/script"
	"agentos/adapters/scripted/wire"
)

// The directives that ask something of the client, and those that say what the
// client gave.

// maxShown bounds, in bytes, how much of a file or an output is said.
const maxShown = 64 << 10

func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:cut], len(text))
}

// absolute makes a path absolute, as the protocol wants them.
func (t *turn) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.session.params().Cwd, path)
}

// callClient makes one request and returns its answer.
func (t *turn) callClient(method, params string) (json.RawMessage, *wire.Error) {
	r := t.await([]wire.Request{t.agent.conn.Request(method, params)}, nil)[0]
	return r.Result, r.Err
}

func runWrite(t *turn, arg string) error {
	path, text, _ := strings.Cut(arg, " ")
	if path == "" {
		return script.ErrUsage
	}
	if !t.agent.client.FS.WriteTextFile {
		t.say("The client offers no fs/write_text_file.\n" + t.closing())
		return nil
	}
	path = t.absolute(path)
	params := fmt.Sprintf(`{"sessionId":%s,"path":%s,"content":%s}`, wire.Quote(t.session.id), wire.Quote(path), wire.Quote(text))
	if _, err := t.callClient("fs/write_text_file", params); err != nil {
		t.say("write " + path + ": " + err.Error() + "\n" + t.closing())
		return nil
	}
	t.say(fmt.Sprintf("wrote %d bytes to %s\n%s", len(text), path, t.closing()))
	return nil
}

func runRead(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	if !t.agent.client.FS.ReadTextFile {
		t.say("The client offers no fs/read_text_file.\n" + t.closing())
		return nil
	}
	path := t.absolute(arg)
	result, err := t.callClient("fs/read_text_file", fmt.Sprintf(`{"sessionId":%s,"path":%s}`, wire.Quote(t.session.id), wire.Quote(path)))
	if err != nil {
		t.say("read " + path + ": " + err.Error() + "\n" + t.closing())
		return nil
	}
	var file struct{ Content string }
	if err := json.Unmarshal(result, &file); err != nil {
		return fmt.Errorf("read the answer to fs/read_text_file: %w", err)
	}
	t.say(path + ": " + shown(file.Content) + "\n" + t.closing())
	return nil
}

func runShell(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	if !t.agent.client.Terminal {
		t.say("The client offers no terminal.\n" + t.closing())
		return nil
	}
	session := wire.Quote(t.session.id)
	result, err := t.callClient("terminal/create", fmt.Sprintf(`{"sessionId":%s,"command":"/bin/sh","args":["-c",%s],"cwd":%s}`,
		session, wire.Quote(arg), wire.Quote(t.session.params().Cwd)))
	if err != nil {
		t.say("sh: " + err.Error() + "\n" + t.closing())
		return nil
	}
	var created struct{ TerminalID string }
	if err := json.Unmarshal(result, &created); err != nil {
		return fmt.Errorf("read the answer to terminal/create: %w", err)
	}
	terminal := fmt.Sprintf(`{"sessionId":%s,"terminalId":%s}`, session, wire.Quote(created.TerminalID))
	call := t.startCall(arg, "execute", "in_progress", `{"command":`+wire.Quote(arg)+`}`)
	t.changeCall(call.ID, "", `[{"type":"terminal","terminalId":`+wire.Quote(created.TerminalID)+`}]`)
	ending, ok := t.finishTerminal(terminal)
	status := "completed"
	if !ok {
		status = "failed"
	}
	t.changeCall(call.ID, status, "")
	t.say("sh: " + ending + "\n" + t.closing())
	return nil
}

// finishTerminal waits for a terminal, kills it when the turn is cancelled, and
// releases it in any case. It returns what is to be said, and whether all is well.
func (t *turn) finishTerminal(terminal string) (string, bool) {
	conn := t.agent.conn
	exited := t.await([]wire.Request{conn.Request("terminal/wait_for_exit", terminal)}, func([]wire.Request) {
		conn.Forget(conn.Request("terminal/kill", terminal)) // its answer changes nothing
	})[0]
	result, err := t.callClient("terminal/output", terminal)
	conn.Forget(conn.Request("terminal/release", terminal)) // nor does this one's
	if exited.Err != nil {
		err = exited.Err
	}
	if err != nil {
		return err.Error(), false
	}
	var exit struct {
		ExitCode *int
		Signal   *string
	}
	var output struct{ Output string }
	if json.Unmarshal(exited.Result, &exit) != nil || json.Unmarshal(result, &output) != nil {
		return "the client's answers are unreadable", false
	}
	switch {
	case exit.ExitCode != nil:
		return fmt.Sprintf("exit %d: %s", *exit.ExitCode, shown(output.Output)), *exit.ExitCode == 0
	case exit.Signal != nil:
		return fmt.Sprintf("signal %s: %s", *exit.Signal, shown(output.Output)), false
	}
	return "ended: " + shown(output.Output), true
}

// runSession says what a restore must give back whole, so that a test can see
// whether it did.
func runSession(t *turn, _ string) error {
	p := t.session.params()
	verbosity, mode := t.session.settings()
	var servers []string
	if p.MCPServers != nil {
		for _, s := range *p.MCPServers {
			servers = append(servers, s.Name)
		}
	}
	t.say(fmt.Sprintf("cwd %s\ndirectories %q\nmcp servers %q\nmode %s\nverbosity %s\n%s",
		p.Cwd, p.AdditionalDirectories, servers, mode, verbosity, t.closing()))
	return nil
}

func runEnv(t *turn, arg string) error {
	if arg == "" {
		return script.ErrUsage
	}
	if value := t.agent.env(arg); value != "" {
		t.say(arg + "=" + value + "\n" + t.closing())
	} else {
		t.say(arg + " is not set\n" + t.closing())
	}
	return nil
}
