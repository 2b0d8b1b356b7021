package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// fakeAgent makes this binary an agent. It answers a prompt with what stands in
// files, byte for byte: AGENT STEP..., where a step is send:FILE, or wait:FIFO,
// which waits until somebody opens that for writing.
const fakeAgent = "fake-agent"

// fakeSession is the one session of the agent.
const fakeSession = "fake-1"

func runFakeAgent(steps []string) int {
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(line, &request); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		result := "{}"
		switch request.Method {
		case "initialize":
			result = `{"protocolVersion":1,"agentCapabilities":{}}`
		case "session/new":
			result = `{"sessionId":"` + fakeSession + `"}`
		case "session/prompt":
			if err := takeSteps(steps); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			result = `{"stopReason":"end_turn"}`
		}
		if request.ID != nil && request.Method != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
	}
}

func takeSteps(steps []string) error {
	for _, step := range steps {
		// Opening a FIFO waits for its other end; then it is empty.
		kind, path, _ := cutStep(step)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		var to io.Writer = os.Stdout
		if kind == "wait" {
			to = io.Discard
		}
		if _, err := io.Copy(to, f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func cutStep(step string) (kind, path string, err error) {
	for i := range step {
		if step[i] == ':' {
			return step[:i], step[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("step %q", step)
}

// sending returns a step that sends text, which it keeps in a file.
func sending(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "send:" + file
}
