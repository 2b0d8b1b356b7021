package actors_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// wireAgent is one life of an agent whose every byte a test writes. Its methods
// are for the goroutine of its serve function, which returns when next says that
// the runtime has hung up.
type wireAgent struct {
	in  *bufio.Reader
	out io.Writer
	// lines are what the runtime has sent, over all lives, in their order.
	lines *wireLog
}

// wireCall is a line of the runtime.
type wireCall struct {
	ID, Params, Result json.RawMessage
	Method             string
	line               string
}

// next returns the next line of the runtime; false if there will be none.
func (w *wireAgent) next() (c wireCall, ok bool) {
	line, err := w.in.ReadBytes('\n')
	if err != nil {
		return c, false
	}
	c.line = string(line[:len(line)-1])
	if err := json.Unmarshal(line, &c); err != nil {
		panic(fmt.Sprintf("the runtime wrote %q: %v", line, err))
	}
	w.lines.add(c)
	return c, true
}

// put writes text as it is. A runtime that has hung up is noticed by next.
func (w *wireAgent) put(text string) { _, _ = io.WriteString(w.out, text) }

func (w *wireAgent) answer(c wireCall, result string) {
	w.put(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":` + result + "}\n")
}

// update writes a session/update of the session.
func (w *wireAgent) update(session, update string) { w.put(updateLine(session, update)) }

func updateLine(session, update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":` + update + "}}\n"
}

func textUpdate(message, text string) string {
	return fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","messageId":%q,"content":{"type":"text","text":%q}}`, message, text)
}

// serve answers everything but prompts, which are turn's: it writes what is said
// and returns the result, "" for none.
func (w *wireAgent) serve(session string, turn func(prompt wireCall) (result string)) {
	for {
		c, ok := w.next()
		if !ok {
			return
		}
		switch {
		case c.Method == "initialize":
			w.answer(c, `{"protocolVersion":1,"agentCapabilities":{}}`)
		case c.Method == "session/new":
			w.answer(c, `{"sessionId":"`+session+`"}`)
		case c.Method == "session/prompt":
			if result := turn(c); result != "" {
				w.answer(c, result)
			}
		}
	}
}

const endTurn = `{"stopReason":"end_turn"}`

// wireLog is what runtimes have sent to agents, by session and life.
type wireLog struct {
	mu    sync.Mutex
	calls []wireCall
}

func (l *wireLog) add(c wireCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// of returns the lines with that method.
func (l *wireLog) of(method string) (found []wireCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.Method == method {
			found = append(found, c)
		}
	}
	return found
}

// wireRig is a rig whose sessions have wire agents, and what was diagnosed.
type wireRig struct {
	*rig
	wire wireLog

	mu          sync.Mutex
	diagnostics map[protocol.SessionID]map[jsonrpc.DiagnosticKind][]jsonrpc.Diagnostic
}

func newWireRig(t *testing.T, maxLine int64, serve func(id protocol.SessionID, w *wireAgent), opts ...func(*rig)) *wireRig {
	t.Helper()
	w := &wireRig{diagnostics: map[protocol.SessionID]map[jsonrpc.DiagnosticKind][]jsonrpc.Diagnostic{}}
	w.rig = newRig(t, append([]func(*rig){func(r *rig) {
		r.config.Diagnostic = w.diagnose
		r.config.Adapters = func(_ context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
			return w.launch(rec.ID, h, maxLine, serve), nil
		}
	}}, opts...)...)
	w.start()
	return w
}

func (w *wireRig) launch(id protocol.SessionID, h actors.Hooks, maxLine int64, serve func(protocol.SessionID, *wireAgent)) *pipeAdapter {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipeAdapter{exited: make(chan struct{}), closer: []io.Closer{inR, inW, outR, outW}}
	ready := make(chan struct{})
	p.peer = jsonrpc.New(outR, inW, func(m jsonrpc.Message) { <-ready; h.Message(m) },
		jsonrpc.Options{OnDiagnostic: h.Diagnostic, MaxLineBytes: maxLine})
	close(ready)
	go func() { // ended by the end of its pipes, awaited by Stop
		defer close(p.exited)
		serve(id, &wireAgent{in: bufio.NewReader(inR), out: outW, lines: &w.wire})
		p.kill()
		_ = p.peer.Close()
	}()
	return p
}

func (w *wireRig) diagnose(id protocol.SessionID, d jsonrpc.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.diagnostics[id] == nil {
		w.diagnostics[id] = map[jsonrpc.DiagnosticKind][]jsonrpc.Diagnostic{}
	}
	w.diagnostics[id][d.Kind] = append(w.diagnostics[id][d.Kind], d)
}

// diagnosed returns how many lines of a session's agents were of a kind, and how
// often that was reported.
func (w *wireRig) diagnosed(id protocol.SessionID, kind jsonrpc.DiagnosticKind) (lines int64, reports int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.diagnostics[id][kind] {
		lines = max(lines, d.Count)
	}
	return lines, len(w.diagnostics[id][kind])
}

// payloads are the events of a session behind the prompts' own.
func (w *wireRig) payloads(id protocol.SessionID) (all []string) {
	for _, e := range w.history(id) {
		if kindOf(e) != "user_message_chunk" {
			all = append(all, string(e.Payload))
		}
	}
	return all
}

// promptRaw prompts main, which exists, with content as it is.
func (r *rig) promptRaw(content string) error {
	_, err := r.vm.Prompt(r.ctx(), actors.Prompt{Session: "main", Content: []byte(content)})
	return err
}
