package peers

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed mock-llm.mjs
var mockSource []byte

// startGrace bounds the wait for the mock to listen.
const startGrace = 20 * time.Second

// LLM is a running mock of the LLM services (see mock-llm.mjs for what it
// answers to what).
type LLM struct {
	URL string // http://127.0.0.1:PORT, without /v1
	log string // file of JSON lines
}

// Request is one request that the mock has begun to answer.
type Request struct {
	N        int      `json:"n"` // from 1, in order of arrival
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	Kind     string   `json:"kind"`     // anthropic, chat, responses, gemini; empty for others
	Items    []string `json:"items"`    // the conversation, "role:text", each text cut to its last 160 characters
	Tools    []string `json:"tools"`    // names
	NotFound bool     `json:"notFound"` // the mock has no such path
	Cut      bool     `json:"cut"`      // the client went away before the end
}

// StartLLM starts a mock for this test and waits until it listens. The test is
// skipped where node is missing.
func StartLLM(tb testing.TB) *LLM {
	tb.Helper()
	node, err := findNode()
	if err != nil {
		missing(tb, err)
	}
	dir := tb.TempDir()
	script, log := filepath.Join(dir, "mock-llm.mjs"), filepath.Join(dir, "requests.jsonl")
	if err := os.WriteFile(script, mockSource, 0o600); err != nil {
		tb.Fatalf("write the mock LLM: %v", err)
	}
	cmd := exec.Command(node, script, "--log", log)
	cmd.Env = baseEnv(dir, filepath.Dir(node))
	mock, err := startProcess(cmd)
	if err != nil {
		tb.Fatalf("start the mock LLM: %v", err)
	}
	tb.Cleanup(func() {
		if err := mock.stop(); err != nil {
			tb.Errorf("stop the mock LLM: %v: %s", err, mock.errs.String())
		}
	})
	select {
	case line := <-mock.first:
		url, ok := strings.CutPrefix(line, "mock-llm ")
		if !ok {
			tb.Fatalf("start the mock LLM: it printed %q", line)
		}
		return &LLM{URL: url, log: log}
	case <-time.After(startGrace):
		tb.Fatalf("start the mock LLM: it does not listen after %v", startGrace)
	}
	return nil
}

// Requests returns the requests so far, in the order in which the mock began to
// answer them. Whoever has seen a byte of an answer finds its request here; Cut
// is set somewhat later than the client goes.
func (l *LLM) Requests(tb testing.TB) []Request {
	tb.Helper()
	data, err := os.ReadFile(l.log)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatalf("read the mock LLM's log: %v", err)
	}
	var requests []Request
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		var r Request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			tb.Fatalf("read the mock LLM's log: %v", err)
		}
		if !r.Cut {
			requests = append(requests, r)
			continue
		}
		for i := range requests {
			if requests[i].N == r.N {
				requests[i].Cut = true
			}
		}
	}
	return requests
}
