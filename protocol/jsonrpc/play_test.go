package jsonrpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentos/protocol/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit ends waits of tests that would otherwise hang.
const limit = 20 * time.Second

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func await[T any](t tb, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatalf("no %s after %v", what, limit)
	}
	return v
}

// chunks is a reader that gives the pieces one read at a time, once gate is closed.
type chunks struct {
	gate   <-chan struct{}
	pieces [][]byte
}

func (c *chunks) Read(p []byte) (int, error) {
	<-c.gate
	for len(c.pieces) > 0 && len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	c.pieces[0] = c.pieces[0][n:]
	return n, nil
}

// sink is a writer that keeps everything and says when it was closed.
type sink struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	closed chan struct{}
}

func newSink() *sink { return &sink{closed: make(chan struct{})} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *sink) Close() error { close(s.closed); return nil }

func (s *sink) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
}

// outcome is what a peer made of an input.
type outcome struct {
	Events      []string // deliveries and ends of calls, in their order
	Replies     []string // lines written by the peer, without the calls
	Diagnostics []jsonrpc.Diagnostic
	Stats       jsonrpc.Stats
	Raw         []string // of the events that have a line
}

// play gives the input, one piece a read, to a peer that has made some calls.
func play(t tb, calls int, o jsonrpc.Options, pieces ...[]byte) outcome {
	t.Helper()
	var out outcome // written by the reader goroutine, read after its end
	gate := make(chan struct{})
	w := newSink()
	o.OnDiagnostic = func(d jsonrpc.Diagnostic) { out.Diagnostics = append(out.Diagnostics, d) }
	o.OnCancel = func(id jsonrpc.ID) { out.Events = append(out.Events, "cancel "+string(id)) }
	p := jsonrpc.New(&chunks{gate, pieces}, w, func(m jsonrpc.Message) {
		out.Events = append(out.Events, show(m))
		out.Raw = append(out.Raw, string(m.Raw))
	}, o)
	for range calls {
		if _, err := p.Call("call", nil, func(r jsonrpc.Response) {
			out.Events = append(out.Events, showEnd(r))
			if r.Raw != nil {
				out.Raw = append(out.Raw, string(r.Raw))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(gate)
	await(t, p.Done(), "end of the stream")
	p.CloseWrite()
	await(t, w.closed, "end of writing")
	if err := p.Close(); err != nil {
		t.Fatalf("Close = %v", err)
	}
	out.Stats = p.Stats()
	out.Replies = w.lines()[calls:]
	return out
}

func show(m jsonrpc.Message) string {
	if m.Kind == jsonrpc.Request {
		return fmt.Sprintf("request %s %s %s", m.ID, m.Method, m.Params)
	}
	return fmt.Sprintf("note %s %s", m.Method, m.Params)
}

func showEnd(r jsonrpc.Response) string {
	var damaged *jsonrpc.DamagedError
	switch {
	case errors.As(r.Err, &damaged):
		return fmt.Sprintf("damaged %s %s", r.ID, damaged.Kind)
	case r.Err != nil:
		return fmt.Sprintf("none %s", r.ID)
	case r.Error != nil:
		return fmt.Sprintf("error %s %d %s %s", r.ID, r.Error.Code, r.Error.Message, r.Error.Data)
	}
	return fmt.Sprintf("answer %s %s", r.ID, r.Result)
}

// pair is a peer whose other end is the test.
type pair struct {
	t    testing.TB
	peer *jsonrpc.Peer
	in   *io.PipeWriter // what the peer reads
	out  chan string    // lines that the peer wrote
	over chan struct{}
}

func newPair(t testing.TB, h jsonrpc.Handler, o jsonrpc.Options) *pair {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pair{t: t, peer: jsonrpc.New(inR, outW, h, o), in: inW, out: make(chan string, 1000), over: make(chan struct{})}
	go func() { // ended by the end of the pipe, which Close of the peer makes
		defer close(p.over)
		for {
			line, err := readLine(outR)
			if err != nil {
				return
			}
			p.out <- line
		}
	}()
	t.Cleanup(func() {
		p.peer.Close()
		await(t, p.over, "end of the peer's output")
	})
	return p
}

func readLine(r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for {
		if _, err := io.ReadFull(r, b); err != nil {
			return string(line), err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
}

func (p *pair) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pair) want(line string) {
	p.t.Helper()
	if got := await(p.t, p.out, "line from the peer"); got != line {
		p.t.Fatalf("peer wrote %s\nwant       %s", got, line)
	}
}
