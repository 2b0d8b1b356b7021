package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentos/actors"
	"agentos/actors/gateway/http"
	"agentos/actors/gateway/http/client"
	"agentos/actors/gateway/http/wire"
	"agentos/persistence"
	"agentos/persistence/memdb"
	"agentos/protocol"
	"agentos/protocol/public"
)

const patience = 20 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// serve runs a server on a socket and returns it with a client of VM "vm".
func serve(t *testing.T, o http.Options) (*http.Server, *client.VM, client.Dialer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	o.IDs = func() string { return "the-id" }
	s := http.New(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(s.Close(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
	vm := client.New("vm", dial)
	t.Cleanup(vm.Close)
	return s, vm, dial
}

// openVM opens a VM in memory, whose sessions have no agent to run.
func openVM(t *testing.T) *actors.VM {
	t.Helper()
	node, err := actors.Start(actors.Config{
		Sources: func(protocol.Descriptor) (persistence.Source, error) { return memdb.New() },
		Adapters: func(context.Context, protocol.Record, actors.Hooks) (actors.Adapter, error) {
			return nil, protocol.Errorf(protocol.CodeAdapterNotInstalled, "there is no agent")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	vm, err := node.Open(t.Context(), "vm", protocol.Descriptor{SQLiteFile: "/memory"})
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func serveVM(t *testing.T) (*http.Server, *client.VM, client.Dialer) {
	vm := openVM(t)
	return serve(t, http.Options{
		Find: func(_ context.Context, name string) (*actors.VM, error) {
			if name != "vm" {
				return nil, protocol.Errorf(protocol.CodeVMNotFound, "there is no VM %q", name)
			}
			return vm, nil
		},
		Hello: wire.Hello{PID: 7, Version: "v", Command: "test"}, Limits: protocol.Limits{PromptBytes: 1000},
	})
}

func ctx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func open(id protocol.SessionID) actors.OpenSession {
	return actors.OpenSession{Session: id, Spec: protocol.Spec{Agent: "x", Cwd: "/", Policy: protocol.PolicyAsk}}
}

// raw sends a request as it is and returns status and body.
func raw(t *testing.T, dial client.Dialer, text string) (int, string) {
	t.Helper()
	c, err := dial(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func request(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
}

// Every code goes through with its message, its details, its status and its exit
// code.
func TestServer_S14_EveryErrorArrives(t *testing.T) {
	var failure error
	_, vm, dial := serve(t, http.Options{Find: func(context.Context, string) (*actors.VM, error) { return nil, failure }})
	for _, row := range protocol.Codes {
		want := protocol.Errorf(row.Code, "because of %q\n", row.Code).With("number", 7).With("text", "a<b").With("list", []string{"x"})
		failure = want
		for _, err := range []error{
			vm.Open(ctx(t), open("main")),
			func() error { _, err := vm.Watch(ctx(t), "main", 0); return err }(),
		} {
			var got *protocol.Error
			if !errors.As(err, &got) || errors.Is(err, client.ErrGone) {
				t.Fatalf("%s came as %v", row.Code, err)
			}
			if got.Code.Info() != row || string(public.AppendError(nil, got)) != string(public.AppendError(nil, want)) {
				t.Errorf("%s came as %s", public.AppendError(nil, want), public.AppendError(nil, got))
			}
		}
		if status, body := raw(t, dial, request("GET", "/v1/vms/vm/check", "")); status != row.HTTP || !strings.Contains(body, `"code":"`+string(row.Code)) {
			t.Errorf("%s has status %d: %s", row.Code, status, body)
		}
	}
	failure = errors.New("a secret")
	_, err := vm.Check(ctx(t))
	if protocol.CodeOf(err) != protocol.CodeInternal || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "the-id") {
		t.Errorf("an error of no code came as %v", err)
	}
}

func TestServer_RefuseAndIdle(t *testing.T) {
	s, vm, _ := serveVM(t)
	if err := vm.Open(ctx(t), open("main")); err != nil {
		t.Fatal(err)
	}
	h, err := vm.Hello(ctx(t))
	if err != nil || h != (wire.Hello{Protocol: wire.Protocol, PID: 7, Version: "v", Command: "test"}) {
		t.Errorf("Hello = %+v, %v", h, err)
	}
	s.Refuse()
	if err := vm.Open(ctx(t), open("two")); protocol.CodeOf(err) != protocol.CodeShuttingDown {
		t.Errorf("Open while it ends = %v", err)
	}
	if _, err := vm.Prompt(ctx(t), actors.Prompt{Session: "main", Content: []byte(`[{"type":"text","text":"x"}]`)}); protocol.CodeOf(err) != protocol.CodeShuttingDown {
		t.Errorf("Prompt while it ends = %v", err)
	}
	if _, err := vm.Session(ctx(t), "main"); err != nil {
		t.Errorf("a read while it ends = %v", err)
	}
	if h, err := vm.Hello(ctx(t)); err != nil || !h.Stopping {
		t.Errorf("Hello while it ends = %+v, %v", h, err)
	}
	if err := s.Idle(ctx(t)); err != nil || s.Prompts() != 0 {
		t.Errorf("Idle = %v, %d prompts", err, s.Prompts())
	}
}

func TestServer_BadRequests(t *testing.T) {
	_, _, dial := serveVM(t)
	const sessions = "/v1/vms/vm/sessions"
	large := `{"content":"` + strings.Repeat("x", 2<<20) + `"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		code               protocol.Code
	}{
		{"GET", "/", "", 404, protocol.CodeInvalidArgument},
		{"GET", "/v2", "", 404, protocol.CodeInvalidArgument},
		{"GET", "/v1/vms/other/check", "", 404, protocol.CodeVMNotFound},
		{"PATCH", sessions, "", 404, protocol.CodeInvalidArgument},
		{"POST", sessions, "{", 400, protocol.CodeInvalidArgument},
		{"POST", sessions, "{} {}", 400, protocol.CodeInvalidArgument},
		{"POST", sessions, `{"unknown":1}`, 400, protocol.CodeInvalidArgument},
		{"POST", sessions + "/main/prompt", `{"content":[],"whenBusy":"never"}`, 400, protocol.CodeInvalidArgument},
		{"POST", sessions + "/main/prompt", `{"content":[{"type":"text","text":"x"}],"open":{"sessionId":"other"}}`, 400, protocol.CodeInvalidArgument},
		{"POST", sessions + "/main/prompt", `{}`, 400, protocol.CodeInvalidPrompt},
		{"POST", sessions + "/main/prompt", large, 413, protocol.CodePromptBytesLimit},
		{"PUT", sessions + "/main/queue/q", large, 413, protocol.CodePromptBytesLimit},
		{"POST", sessions + "/main/cancel", large, 413, protocol.CodeResourceLimit},
		{"GET", sessions + "/main/history?after=x", "", 400, protocol.CodeInvalidArgument},
		{"GET", sessions + "/main/history?limit=-1", "", 404, protocol.CodeSessionNotFound},
		{"GET", sessions + "/main/events?after=x", "", 400, protocol.CodeInvalidArgument},
		{"GET", sessions + "/main", "", 404, protocol.CodeSessionNotFound},
		{"POST", sessions + "/%00/cancel", "", 400, protocol.CodeInvalidSessionID},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			status, body := raw(t, dial, request(c.method, c.path, c.body))
			if pe := public.ParseErrorObject([]byte(strings.TrimSuffix(strings.TrimPrefix(body, `{"error":`), "}"))); pe.Code != c.code && c.path != sessions+"/main/history?limit=-1" || status != c.status && pe.Code == c.code {
				t.Errorf("status %d, %s; want %d %s", status, body, c.status, c.code)
			}
		})
	}
}

// A process that dies in the middle of an answer or a stream is told from one that
// ends it.
func TestClient_ErrGone(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	state := `{"state":"idle","sessionId":"main","promptId":null,"sequence":0}` + "\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(state), state)
	for _, c := range []struct {
		name, answer string
		gone, closed bool
	}{
		{"nothing", "", true, false},
		{"half a head", head[:20], true, false},
		{"a stream cut off", head + chunk, true, false},
		{"half a line, then the end", head + "3\r\n{\"s\r\n0\r\n\r\n", true, false},
		{"no item", head + "2\r\n{\n\r\n0\r\n\r\n", true, false},
		{"an end", head + chunk + "0\r\n\r\n", false, true},
		{"an error", head + "48\r\n" + `{"error":{"code":"session_not_found","message":"m","retryable":false}}` + "\n\n\r\n0\r\n\r\n", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			far := make(chan net.Conn, 1)
			vm := client.New("vm", func(context.Context) (net.Conn, error) {
				near, other := net.Pipe()
				far <- other
				return near, nil
			})
			defer vm.Close()
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				c2 := <-far
				defer c2.Close()
				if _, err := nethttp.ReadRequest(bufio.NewReader(c2)); err != nil {
					return
				}
				_, _ = io.WriteString(c2, c.answer)
			}()
			sub, err := vm.Watch(ctx(t), "main", 0)
			<-answered
			if err == nil {
				defer sub.Close()
				for err == nil {
					_, err = sub.Next(ctx(t))
				}
			}
			if errors.Is(err, client.ErrGone) != c.gone || strings.Contains(err.Error(), "feed closed") != c.closed {
				t.Errorf("it ends with %v", err)
			}
			if !c.gone && !c.closed && protocol.CodeOf(err) != protocol.CodeSessionNotFound {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestWire_S4_2_BodiesKeepRawBytes(t *testing.T) {
	p := actors.Prompt{
		Session: "main", ID: "p", Key: "k", Now: true, IfAsked: actors.EndTurn,
		Content: []byte("[ {\"type\":\"text\",\"text\":\"<\\u00e9>\", \"n\": 1.0e5 ,\n \"n\":2} ]"),
		Open: &actors.OpenSession{Session: "main", Given: actors.FieldEnv | actors.FieldSkipOS, Spec: protocol.Spec{
			Agent: "x", Launch: &protocol.Launch{Argv: []string{"a", "b c"}, Env: []string{"N"}}, Cwd: "/ü", AdditionalDirectories: []string{"/d"},
			Env: map[string]string{"A": "b\n"}, MCPServers: []byte(`[ {"x":1.0} ]`), Policy: protocol.PolicyRejectAll, AdditionalInstructions: "i", SkipOSInstructions: true,
		}},
	}
	back, noWait, err := wire.ParsePrompt("main", wire.AppendPrompt(nil, p, true))
	if p.Queue = true; err != nil || !noWait {
		t.Fatal(noWait, err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What is said is given, unless the body says which.
	o, err := wire.ParseOpen([]byte(`{"cwd":"/","env":{}}`))
	if err != nil || o.Given != actors.FieldCwd|actors.FieldEnv || o.Session != protocol.DefaultSession || o.Spec.Policy != protocol.PolicyAsk {
		t.Errorf("ParseOpen = %+v, %v", o, err)
	}
	for _, s := range []actors.Setting{{Mode: "m"}, {Option: "o", Value: []byte(`true`)}} {
		if back, err := wire.ParseSetting(wire.AppendSetting(nil, s)); err != nil || !cmp.Equal(s, back) {
			t.Errorf("setting %+v is read as %+v, %v", s, back, err)
		}
	}
	found := []actors.Finding{{What: "a", Detail: "<b>"}, {Session: "s", What: "c"}}
	if back, err := wire.ParseFindings(wire.AppendFindings(nil, found)); err != nil || !cmp.Equal(found, back) {
		t.Errorf("findings are read as %+v, %v", back, err)
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"}],"open":{"agent":"a","given":["cwd"]}}`))
	f.Add([]byte(`{"events":[{"durability":"durable","sessionId":"x","sequence":1,"timestamp":"2026-11-30T20:00:00.123Z","acpVersion":1,"type":"a"}]}`))
	f.Add([]byte(`{"queue":[{"queueId":"q","content":[1],"createdAt":"2026-11-30T20:00:00.123Z"}],"found":true,"error":{"code":"x"}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = wire.ParsePrompt("main", b)
		_, _ = wire.ParseOpen(b)
		_, _ = wire.ParsePage(b)
		_, _, _ = wire.ParseSessions(b)
		_, _ = wire.ParseQueue(b)
		_, _, _ = wire.ParseRecall(b)
		_, _ = wire.ParseHello(b)
		_, _ = wire.ParseSetting(b)
		_, _ = wire.ParseFindings(b)
	})
}
