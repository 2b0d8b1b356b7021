package scripted

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// mainEnv makes the test binary behave as the agent, for tests that need a
// process of its own.
const mainEnv = "SCRIPTED_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test; none is meant to come near it.
const patience = 10 * time.Second

// unread is how many lines a client holds that its test has not asked for.
// Enough that an agent in a synctest bubble never blocks in a write: its writers
// queue for a mutex, which synctest does not take for idle.
const unread = 4096

// client is the other end of an agent.
type client struct {
	t     testing.TB
	in    io.WriteCloser
	lines chan string // closed at the end of the agent's output
	ended chan int    // holds the exit code
	proc  *exec.Cmd   // nil when the agent runs in this process
}

// start runs Main in this process, on the sessions of dir. The test's end waits
// for it.
func start(t testing.TB, dir string, args ...string) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan string, unread), ended: make(chan int, 1)}
	go func() {
		code := Main(args, inR, outW, io.Discard, environment(dir))
		outW.Close()
		c.ended <- code
	}()
	c.watch(outR)
	return c
}

// launch runs the agent in a process of its own.
func launch(t testing.TB, dir string, args ...string) *client {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1", "AGENTOS_SCRIPTED_DIR="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not StdoutPipe: Wait would close it under the reader.
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = outW, os.Stderr // where a race report would go
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	c := &client{t: t, in: in, lines: make(chan string, unread), ended: make(chan int, 1), proc: cmd}
	go func() {
		cmd.Wait() // its error is the exit code, which is read below
		c.ended <- cmd.ProcessState.ExitCode()
	}()
	c.watch(outR)
	return c
}

// watch reads the agent's output, and at the test's end makes sure that the
// agent is gone.
func (c *client) watch(out io.ReadCloser) {
	go func() {
		defer close(c.lines)
		defer out.Close()
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	c.t.Cleanup(func() {
		c.in.Close()
		if c.proc != nil {
			c.proc.Process.Kill() // it may be gone already
		}
		for range c.lines { // the agent may be writing
		}
		if len(c.ended) == 0 {
			c.exit()
		}
	})
}

// environment has the session directory and nothing else.
func environment(dir string) func(string) string {
	return func(name string) string {
		switch name {
		case "AGENTOS_SCRIPTED_DIR":
			return dir
		case "COLOUR":
			return "red"
		}
		return ""
	}
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("send %s: %v", line, err)
	}
}

// next returns the agent's next line, or false at the end of its output.
func (c *client) next() (string, bool) {
	c.t.Helper()
	select {
	case line, more := <-c.lines:
		return line, more
	case <-time.After(patience):
		c.t.Fatal("the agent says nothing")
		return "", false
	}
}

// until returns the lines up to and including the first that contains text.
func (c *client) until(text string) []string {
	c.t.Helper()
	var lines []string
	for {
		line, more := c.next()
		if !more {
			c.t.Fatalf("the output ended before %q; it was %q", text, lines)
		}
		lines = append(lines, line)
		if strings.Contains(line, text) {
			return lines
		}
	}
}

// exit waits for the agent's end and returns its exit code.
func (c *client) exit() int {
	c.t.Helper()
	select {
	case code := <-c.ended:
		c.ended <- code
		return code
	case <-time.After(patience):
		c.t.Fatal("the agent does not end")
		return 0
	}
}

const openV1 = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true}}}}`

// open initializes version 1, makes a session and returns its id.
func (c *client) open() string {
	c.t.Helper()
	c.send(openV1)
	c.until(`"id":"i"`)
	return c.another()
}

// another makes a session and returns its id.
func (c *client) another() string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/work dir","mcpServers":[]}}`)
	return sessionIn(c.until(`"id":"n"`)[0])
}

// prompt sends a prompt with that id.
func (c *client) prompt(session, id, text string) {
	c.t.Helper()
	c.send(promptLine(session, id, text))
}
