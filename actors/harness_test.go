package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/adapters"
	"agentos/adapters/scripted"
	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/persistence/memdb"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
)

// patience bounds every wait of these tests; it is for a machine that is busy,
// not for code that is slow.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		// The framework counts dead letters on a goroutine that lives for a second.
		throttle := goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")
		if err := goleak.Find(throttle); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// pipeAdapter is an adapter that runs in this process: the scripted agent on two
// pipes.
type pipeAdapter struct {
	peer   *jsonrpc.Peer
	exited chan struct{}
	code   int
	once   sync.Once
	closer []io.Closer
}

// agents starts scripted agents in process and counts them.
type agents struct {
	dir   string
	flags []string

	mu      sync.Mutex
	running int
	started int
	prompts map[string]int // session/prompt lines by their bytes after the id
	live    map[*pipeAdapter]bool
}

// tap reads what is written to an agent and counts the prompts in it.
type tap struct {
	io.ReadCloser
	agents *agents
	line   []byte
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	for _, c := range b[:n] {
		if c != '\n' {
			t.line = append(t.line, c)
			continue
		}
		if _, after, ok := strings.Cut(string(t.line), `"method":"session/prompt"`); ok {
			t.agents.mu.Lock()
			t.agents.prompts[after]++
			t.agents.mu.Unlock()
		}
		t.line = t.line[:0]
	}
	return n, err
}

func newAgents(tb testing.TB, flags ...string) *agents {
	return &agents{dir: tb.TempDir(), flags: flags, live: map[*pipeAdapter]bool{}, prompts: map[string]int{}}
}

func (a *agents) launch(_ context.Context, _ protocol.Record, h actors.Hooks) (actors.Adapter, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipeAdapter{exited: make(chan struct{}), closer: []io.Closer{inR, inW, outR, outW}}
	ready := make(chan struct{})
	p.peer = jsonrpc.New(outR, inW, func(m jsonrpc.Message) { <-ready; h.Message(m) }, jsonrpc.Options{OnDiagnostic: h.Diagnostic})
	close(ready)
	a.mu.Lock()
	a.running++
	a.started++
	a.live[p] = true
	a.mu.Unlock()
	go func() {
		p.code = scripted.Main(a.flags, &tap{ReadCloser: inR, agents: a}, outW, io.Discard, a.env)
		for _, c := range p.closer {
			_ = c.Close()
		}
		_ = p.peer.Close()
		a.mu.Lock()
		a.running--
		delete(a.live, p)
		a.mu.Unlock()
		close(p.exited)
	}()
	return p, nil
}

func (a *agents) env(name string) string {
	if name == "AGENTOS_SCRIPTED_DIR" {
		return a.dir
	}
	return ""
}

// kill ends every running agent as SIGKILL would: in the middle of anything.
func (a *agents) kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.live {
		p.kill()
	}
}

func (a *agents) counts() (running, started int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running, a.started
}

// sent returns how often each prompt was sent.
func (a *agents) sent() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.prompts)
}

func (p *pipeAdapter) kill() {
	for _, c := range p.closer {
		_ = c.Close()
	}
}

func (p *pipeAdapter) Peer() *jsonrpc.Peer { return p.peer }

func (p *pipeAdapter) Request(ctx context.Context, method string, params []byte, limit adapters.Patience) (jsonrpc.Response, error) {
	late := protocol.Errorf(protocol.CodeACPTimeout, "no answer to %s", method)
	ctx, cancel := context.WithTimeoutCause(ctx, min(limit.Max, patience), late)
	defer cancel()
	answer, err := p.peer.Request(ctx, method, params)
	if end := (*jsonrpc.EndError)(nil); errors.As(err, &end) {
		<-p.exited
		err = p.ExitError("")
	}
	return answer, err
}

func (p *pipeAdapter) Exited() <-chan struct{} { return p.exited }

func (p *pipeAdapter) ExitError(string) *protocol.Error {
	return protocol.Errorf(protocol.CodeAdapterExited, "agent ended with %d", p.code)
}

func (p *pipeAdapter) Stop(g adapters.Grace) error {
	p.once.Do(func() {
		if g.Before != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			g.Before(ctx)
			cancel()
		}
		p.kill()
	})
	<-p.exited
	return nil
}

// host counts what keeps a VM awake.
type host struct {
	mu    sync.Mutex
	holds map[string]int
	seen  int
}

func (h *host) Hold(_ string, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds[reason]++
	h.seen++
}

func (h *host) Release(_ string, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds[reason]--; h.holds[reason] == 0 {
		delete(h.holds, reason)
	}
}

// rested fails the test if anything still keeps the VM awake, or was released
// more often than held.
func (h *host) rested(tb testing.TB) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.holds) != 0 || h.seen == 0 {
		tb.Errorf("holds = %v of %d; want every one released", h.holds, h.seen)
	}
}

// rig is one node with one VM on a database that outlives both.
type rig struct {
	tb     testing.TB
	source persistence.Source
	agents *agents
	logs   *observer.ObservedLogs
	host   *host
	config actors.Config
	node   *actors.Node
	vm     *actors.VM
}

// sharedSource lets a database be opened again after its node has gone.
type sharedSource struct{ persistence.Source }

func (sharedSource) Release() error { return nil }

func newRig(tb testing.TB, opts ...func(*rig)) *rig {
	tb.Helper()
	mem, err := memdb.New()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := mem.Release(); err != nil {
			tb.Error(err)
		}
	})
	obs, logs := observer.New(zap.DebugLevel)
	r := &rig{tb: tb, source: mem, agents: newAgents(tb), logs: logs, host: &host{holds: map[string]int{}}}
	r.config = actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			if d.SQLiteFile == "/memory" {
				return sharedSource{r.source}, nil
			}
			return memdb.New()
		},
		Adapters: func(ctx context.Context, rec protocol.Record, h actors.Hooks) (actors.Adapter, error) {
			return r.agents.launch(ctx, rec, h)
		},
		Host:       r.host,
		Log:        zap.New(obs),
		ClientName: "test", ClientVersion: "0",
	}
	for _, o := range opts {
		o(r)
	}
	return r
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.tb.Cleanup(cancel)
	return ctx
}

// start opens the VM; the node is closed with the test.
func (r *rig) start() *rig {
	r.tb.Helper()
	if err := r.open(); err != nil {
		r.dump()
		r.tb.Fatalf("open VM: %v", err)
	}
	return r
}

func (r *rig) open() error {
	var err error
	r.node, err = actors.Start(r.config)
	if err != nil {
		return err
	}
	node := r.node
	r.tb.Cleanup(func() {
		if err := node.Close(context.Background()); err != nil {
			r.tb.Errorf("close node: %v", err)
		}
	})
	r.vm, err = r.node.Open(r.ctx(), "test", protocol.Descriptor{SQLiteFile: "/memory"})
	return err
}

// restart closes the node and opens the VM again in a new one.
func (r *rig) restart() {
	r.tb.Helper()
	if err := r.node.Close(r.ctx()); err != nil {
		r.tb.Fatalf("close node: %v", err)
	}
	r.start()
}

func (r *rig) dump() {
	for _, e := range r.logs.All() {
		r.tb.Logf("log %s %s %v", e.Level, e.Message, e.ContextMap())
	}
}

func spec() protocol.Spec {
	return protocol.Spec{Agent: "scripted", Cwd: "/", Policy: protocol.PolicyAsk}
}

func text(s string) []byte {
	return append(append([]byte{'['}, acp.TextBlock(s)...), ']')
}

func (r *rig) prompt(s string) (*protocol.Answer, error) { return r.promptIn("main", s) }

func (r *rig) promptIn(id protocol.SessionID, s string) (*protocol.Answer, error) {
	return r.vm.Prompt(r.ctx(), actors.Prompt{
		Session: id, Content: text(s), Open: &actors.OpenSession{Session: id, Spec: spec()},
	})
}

func (r *rig) mustPrompt(s string) *protocol.Answer {
	r.tb.Helper()
	a, err := r.prompt(s)
	if err != nil {
		r.dump()
		r.tb.Fatalf("prompt %q: %v", s, err)
	}
	return a
}

func (r *rig) history(id protocol.SessionID) []protocol.Event {
	r.tb.Helper()
	var zero protocol.Sequence
	page, err := r.vm.History(r.ctx(), id, core.PageRequest{After: &zero, Limit: 10_000})
	if err != nil {
		r.tb.Fatalf("history: %v", err)
	}
	return page.Events
}

func (r *rig) info(id protocol.SessionID) protocol.SessionInfo {
	r.tb.Helper()
	list, _, err := r.vm.Sessions(r.ctx(), "", 1000)
	if err != nil {
		r.tb.Fatalf("sessions: %v", err)
	}
	for _, s := range list {
		if s.ID == id {
			return s
		}
	}
	r.tb.Fatalf("no session %q", id)
	return protocol.SessionInfo{}
}

// check fails the test if anything is wrong with the database, and returns the
// history of main.
func (r *rig) check() {
	r.tb.Helper()
	findings, err := r.vm.Check(r.ctx())
	if err != nil {
		r.tb.Fatalf("check: %v", err)
	}
	for _, f := range findings {
		r.tb.Errorf("check: %+v", f)
	}
}

// watcher collects everything that a subscriber is shown.
type watcher struct {
	mu    sync.Mutex
	items []feed.Item
	more  chan struct{}
	done  chan struct{}
	stop  context.CancelFunc
}

func (r *rig) watch(id protocol.SessionID, after protocol.Sequence) *watcher {
	r.tb.Helper()
	sub, err := r.vm.Watch(r.ctx(), id, after)
	if err != nil {
		r.tb.Fatalf("watch: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{more: make(chan struct{}, 1), done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(w.done)
		for {
			item, err := sub.Next(ctx)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.items = append(w.items, item)
			w.mu.Unlock()
			select {
			case w.more <- struct{}{}:
			default:
			}
		}
	}()
	r.tb.Cleanup(func() { cancel(); <-w.done })
	return w
}

func (w *watcher) all() []feed.Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]feed.Item(nil), w.items...)
}

// until waits for an item that satisfies ok.
func (w *watcher) until(tb testing.TB, what string, ok func(feed.Item) bool) feed.Item {
	tb.Helper()
	end := time.After(patience)
	for seen := 0; ; {
		items := w.all()
		for ; seen < len(items); seen++ {
			if ok(items[seen]) {
				return items[seen]
			}
		}
		select {
		case <-w.more:
		case <-w.done:
			tb.Fatalf("feed ended before %s", what)
		case <-end:
			tb.Fatalf("no %s among %d items", what, len(items))
		}
	}
}

func kindOf(e protocol.Event) string {
	var v struct {
		SessionUpdate string `json:"sessionUpdate"`
	}
	if e.Kind == protocol.KindUpdate && json.Unmarshal(e.Payload, &v) == nil {
		return v.SessionUpdate
	}
	return string(e.Kind)
}

func messageText(m *protocol.Message) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range m.Content {
		var v struct{ Text string }
		if json.Unmarshal(c, &v) == nil {
			b.WriteString(v.Text)
		}
	}
	return b.String()
}

func contentOf(chunk []byte) []byte { return acp.ContentOf(chunk) }
