package route

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/adapters"
	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

// patience bounds every wait of these tests.
const patience = 20 * time.Second

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

// line is what the route has written to its adapter.
type line struct {
	ID, Params json.RawMessage
	Method     string
}

// fake is an adapter on pipes: answer is given every request and what to write
// back to, on the goroutine that owns it.
type fake struct {
	peer   *jsonrpc.Peer
	exited chan struct{}
	pipes  []io.Closer
	once   sync.Once
}

func launchFake(h Hooks, answer func(l line, out io.Writer) (goOn bool)) *fake {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	f := &fake{exited: make(chan struct{}), pipes: []io.Closer{inR, inW, outR, outW}}
	ready := make(chan struct{})
	f.peer = jsonrpc.New(outR, inW, func(m jsonrpc.Message) { <-ready; h.Message(m) }, jsonrpc.Options{OnDiagnostic: h.Diagnostic})
	close(ready)
	go func() { // ends with the pipes or answer, awaited by Stop
		defer close(f.exited)
		for in := bufio.NewScanner(inR); in.Scan(); {
			var l line
			if err := json.Unmarshal(in.Bytes(), &l); err != nil || !answer(l, outW) {
				break
			}
		}
		f.hangUp()
		_ = f.peer.Close()
	}()
	return f
}

func (f *fake) hangUp() {
	for _, c := range f.pipes {
		_ = c.Close()
	}
}

func (f *fake) Peer() *jsonrpc.Peer     { return f.peer }
func (f *fake) Exited() <-chan struct{} { return f.exited }

func (f *fake) ExitError(during string) *protocol.Error {
	return protocol.Errorf(protocol.CodeAdapterExited, "the fake ended while %s", during)
}

func (f *fake) Request(ctx context.Context, method string, params []byte, _ adapters.Patience) (jsonrpc.Response, error) {
	return f.peer.Request(ctx, method, params)
}

func (f *fake) Stop(adapters.Grace) error {
	f.once.Do(f.hangUp)
	<-f.exited
	return nil
}

// rig is one route under a parent that keeps what it is told.
type rig struct {
	t       *testing.T
	system  *actor.ActorSystem
	parent  *actor.PID
	pid     *actor.PID // of the route
	heard   chan any
	notices chan string
}

func startRoute(t *testing.T, setup Setup, rec protocol.Record, answer func(l line, out io.Writer) bool) *rig {
	t.Helper()
	var ids atomic.Int64
	e := &kernel.Env{Log: zap.NewNop(), Clock: time.Now, IDs: func() string { return strconv.FormatInt(ids.Add(1), 10) }, Limits: protocol.DefaultLimits()}
	r := &rig{t: t, heard: make(chan any, 1000), notices: make(chan string, 100)}
	setup.Launch = func(_ context.Context, _ protocol.Record, h Hooks) (Adapter, error) {
		return launchFake(h, answer), nil
	}
	setup.Patience = adapters.Patience{Max: patience}
	setup.Notice = func(_ protocol.SessionID, text string) { r.notices <- text }
	r.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	started := make(chan *actor.PID, 1)
	r.parent = r.system.Root.Spawn(e.RootProps(func() actor.Actor {
		return actorFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				started <- c.Spawn(e.Props(func() actor.Actor { return New(e, setup, "vm", 1, rec) }, kernel.StopFailed))
			case Up, Down, Update, Ask, Answered, Configured:
				r.heard <- m
			}
		})
	}, kernel.StopFailed))
	select {
	case r.pid = <-started:
	case <-time.After(patience):
		t.Fatal("the route was not started")
	}
	t.Cleanup(func() {
		if err := r.system.Root.StopFuture(r.parent).Wait(); err != nil {
			t.Errorf("stop: %v", err)
		}
		r.system.Shutdown()
	})
	return r
}

type actorFunc func(actor.Context)

func (f actorFunc) Receive(c actor.Context) { f(c) }

// next returns the next message of the route, which must be a T.
func next[T any](r *rig) T {
	r.t.Helper()
	select {
	case m := <-r.heard:
		if u, ok := m.(Update); ok {
			u.Grant.Release()
		}
		v, ok := m.(T)
		if !ok {
			r.t.Fatalf("the session hears %T %+v; want %T", m, m, v)
		}
		return v
	case <-time.After(patience):
		var v T
		r.t.Fatalf("no %T came", v)
		return v
	}
}

func (r *rig) tell(m any) { r.system.Root.Send(r.pid, m) }

func reply(l line, out io.Writer, result string) bool {
	_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":`+string(l.ID)+`,"result":`+result+"}\n")
	return err == nil
}

func refuse(l line, out io.Writer, code int) bool {
	_, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n", l.ID, code)
	return err == nil
}

func update(out io.Writer, u string) bool {
	_, err := io.WriteString(out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":`+u+"}}\n")
	return err == nil
}
