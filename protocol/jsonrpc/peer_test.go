package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/jsonrpc"
)

func ignore(jsonrpc.Message) {}

// What is written around raw values is exact, and a line is a line (S4.2).
func TestPeer_S4_2_Envelopes(t *testing.T) {
	p := newPair(t, ignore, jsonrpc.Options{})
	raw := []byte(`{"b" : "<&>` + "\u2028" + `\/\ud83d", "a":1.10,"a":9007199254740993}`)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		send func() error
		want string
	}{
		{func() error { _, err := p.peer.Call("m", raw, func(jsonrpc.Response) {}); return err }, `{"jsonrpc":"2.0","id":1,"method":"m","params":` + string(raw) + `}`},
		{func() error { _, err := p.peer.Call("q\"\n", nil, func(jsonrpc.Response) {}); return err }, `{"jsonrpc":"2.0","id":2,"method":"q\"\n"}`},
		{func() error { return p.peer.Notify("m", raw) }, `{"jsonrpc":"2.0","method":"m","params":` + string(raw) + `}`},
		{func() error { return p.peer.Notify("m", nil) }, `{"jsonrpc":"2.0","method":"m"}`},
		{func() error { return p.peer.Notify("m", []byte("{\n\"a\":\r\n[]}")) }, `{"jsonrpc":"2.0","method":"m","params":{ "a":  []}}`},
		{func() error { return p.peer.Reply(`"a-1"`, raw) }, `{"jsonrpc":"2.0","id":"a-1","result":` + string(raw) + `}`},
		{func() error { return p.peer.Reply(`1`, nil) }, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{func() error { return p.peer.ReplyError(`1`, &jsonrpc.Error{Code: -32601, Message: `no "m"`}) },
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \"m\""}}`},
		{func() error { return p.peer.ReplyError(`1`, &jsonrpc.Error{Code: 1, Data: raw}) },
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":` + string(raw) + `}}`},
		{func() error { return p.peer.ReplyError(`1`, &jsonrpc.Error{Code: 1, Raw: []byte(`{"x": 1}`)}) },
			`{"jsonrpc":"2.0","id":1,"error":{"x": 1}}`},
	} {
		check(c.send())
		p.want(c.want)
	}
}

// FR-04: a cancel is a notification.
func TestPeer_FR_04_NotificationsHaveNoID(t *testing.T) {
	p := newPair(t, ignore, jsonrpc.Options{})
	if err := p.peer.Notify("session/cancel", []byte(`{"sessionId":"s"}`)); err != nil {
		t.Fatal(err)
	}
	p.want(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
}

// An answer does not overtake what was sent before it, nor the other way round.
func TestPeer_S5_3_WireOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.IntRange(0, 6).Draw(t, "calls")
		var input strings.Builder
		var want []string
		open := rapid.Permutation([]int{1, 2, 3, 4, 5, 6}[:calls]).Draw(t, "open")
		for i := range rapid.IntRange(0, 30).Draw(t, "lines") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0:
				fmt.Fprintf(&input, `{"jsonrpc":"2.0","method":"n","params":%d}`+"\n", i)
				want = append(want, fmt.Sprintf("note n %d", i))
			case kind == 1:
				fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":1,"method":"r","params":%d}`+"\n", i)
				want = append(want, fmt.Sprintf("request 1 r %d", i))
			case len(open) > 0 && kind == 2:
				fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"result":%d}`+"\n", open[0], i)
				want = append(want, fmt.Sprintf("answer %d %d", open[0], i))
				open = open[1:]
			case len(open) > 0:
				fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":""}}`+"\n", open[0], i)
				want = append(want, fmt.Sprintf("error %d %d  ", open[0], i))
				open = open[1:]
			}
		}
		for id := range calls {
			for _, o := range open {
				if o == id+1 {
					want = append(want, fmt.Sprintf("none %d", o))
				}
			}
		}
		got := play(t, calls, jsonrpc.Options{}, cut(t, input.String())...)
		if diff := cmp.Diff(want, got.Events); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

// A blocked handler stops reading: the pipe fills, nothing is buffered.
func TestPeer_BlockedHandlerStopsReading(t *testing.T) {
	entered, release := make(chan string, 10), make(chan struct{})
	p := newPair(t, func(m jsonrpc.Message) { entered <- m.Method; <-release }, jsonrpc.Options{})
	p.send(`{"jsonrpc":"2.0","method":"a"}`)
	if got := await(t, entered, "message"); got != "a" {
		t.Fatalf("message = %q", got)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		io.WriteString(p.in, `{"jsonrpc":"2.0","method":"b"}`+"\n") // an io.Pipe: returns when it was read
	}()
	select {
	case <-written:
		t.Error("the next line was read while the handler was blocked")
	default:
	}
	close(release)
	await(t, written, "read of the next line")
	if got := await(t, entered, "message"); got != "b" {
		t.Errorf("message = %q; want b", got)
	}
}

func TestPeer_EndOfStreamEndsEveryCall(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct{ end, cause error }{{nil, io.EOF}, {broken, broken}} {
		p := newPair(t, ignore, jsonrpc.Options{})
		var mu sync.Mutex
		var ended []string
		for range 12 {
			_, err := p.peer.Call("m", nil, func(r jsonrpc.Response) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, string(r.ID))
				var end *jsonrpc.EndError
				if !errors.As(r.Err, &end) || !errors.Is(r.Err, c.cause) {
					t.Errorf("Err = %v; want an EndError of %v", r.Err, c.cause)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := p.peer.Err(); err != nil {
			t.Errorf("Err = %v; want nil while it runs", err)
		}
		p.in.CloseWithError(c.end)
		await(t, p.peer.Done(), "end")
		mu.Lock()
		if got, want := strings.Join(ended, " "), "1 2 3 4 5 6 7 8 9 10 11 12"; got != want {
			t.Errorf("ended %s; want %s", got, want)
		}
		mu.Unlock()
		if err := p.peer.Err(); !errors.Is(err, c.cause) {
			t.Errorf("Err = %v; want %v", err, c.cause)
		}
		if _, err := p.peer.Call("m", nil, func(jsonrpc.Response) { t.Error("done of a refused call ran") }); !errors.Is(err, c.cause) {
			t.Errorf("Call after the end = %v; want %v", err, c.cause)
		}
		if err := p.peer.Notify("m", nil); err != nil {
			t.Errorf("Notify after the end of reading = %v; want nil", err)
		}
	}
}

func TestPeer_CloseEndsEverything(t *testing.T) {
	p := newPair(t, ignore, jsonrpc.Options{})
	ended := make(chan error, 1)
	if _, err := p.peer.Call("m", nil, func(r jsonrpc.Response) { ended <- r.Err }); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := p.peer.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
	}
	wg.Wait()
	if err := await(t, ended, "end of the call"); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("call ended with %v; want ErrClosed", err)
	}
	await(t, p.peer.Done(), "Done")
	for name, err := range map[string]error{
		"Err": p.peer.Err(), "Notify": p.peer.Notify("m", nil), "Reply": p.peer.Reply("1", nil),
		"ReplyError": p.peer.ReplyError("1", &jsonrpc.Error{}),
	} {
		if !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("%s = %v; want ErrClosed", name, err)
		}
	}
	if _, err := p.peer.Request(t.Context(), "m", nil); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("Request = %v; want ErrClosed", err)
	}
}

// After Close has begun nothing is delivered that was read before.
func TestPeer_CloseDeliversNothingMore(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var after atomic.Int64
	r := &closing{Reader: strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","method":"m"}`+"\n", 100)), closed: make(chan struct{})}
	p := jsonrpc.New(r, io.Discard, func(jsonrpc.Message) {
		if after.Add(1) == 1 {
			close(entered)
			<-release
		}
	}, jsonrpc.Options{})
	await(t, entered, "message")
	closed := make(chan struct{})
	go func() { defer close(closed); p.Close() }()
	await(t, r.closed, "closing of the reader") // which comes after the mark
	close(release)
	await(t, closed, "end of Close")
	if n := after.Load(); n != 1 {
		t.Errorf("delivered %d; want 1", n)
	}
}

type closing struct {
	io.Reader
	closed chan struct{}
}

func (c *closing) Close() error { close(c.closed); return nil }

func TestPeer_RequestAnswers(t *testing.T) {
	p := newPair(t, ignore, jsonrpc.Options{})
	answers := make(chan error, 1)
	request := func() {
		go func() {
			r, err := p.peer.Request(t.Context(), "m", []byte("[]"))
			if err == nil && string(r.Result) != "7" {
				err = fmt.Errorf("result %s", r.Result)
			}
			answers <- err
		}()
	}
	request()
	p.want(`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":7}`)
	if err := await(t, answers, "answer"); err != nil {
		t.Error(err)
	}
	request()
	p.want(`{"jsonrpc":"2.0","id":2,"method":"m","params":[]}`)
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"sign in"}}`)
	var e *jsonrpc.Error
	if err := await(t, answers, "answer"); !errors.As(err, &e) || e.Code != -32000 || string(e.Raw) != `{"code":-32000,"message":"sign in"}` {
		t.Errorf("Request = %v; want the error", err)
	}
}

// FR-06: a call whose answer was destroyed ends by its deadline, and its error
// names what was seen meanwhile.
func TestPeer_FR_06_RequestEndsByDeadline(t *testing.T) {
	noted := make(chan string, 10)
	p := newPair(t, func(m jsonrpc.Message) { noted <- m.Method }, jsonrpc.Options{})
	for i, damage := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := p.peer.Request(ctx, "session/load", nil)
			ended <- err
		}()
		p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/load"}`, i+1))
		if damage {
			p.send(`{"jsonrpc":"2.0","meth`+`{"jsonrpc":"2.0","id":2,"result":{}}`, `od":"session/update"}`)
		}
		p.send(`{"jsonrpc":"2.0","method":"traffic"}`)
		await(t, noted, "traffic after the damage")
		late := errors.New("deadline of 60 s")
		cancel(late)
		err := await(t, ended, "end of the request")
		if !errors.Is(err, late) || !strings.Contains(err.Error(), "session/load") || strings.Contains(err.Error(), "2 damaged lines") != damage {
			t.Errorf("Request = %v; want the deadline, and damaged lines: %t", err, damage)
		}
		p.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, i+1))
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"traffic"}`)
	await(t, noted, "traffic after the late answer")
	if n := p.peer.Stats().Of(jsonrpc.OrphanAnswer); n != 1 {
		t.Errorf("orphans = %d; want 1", n)
	}
}

func TestPeer_CancelAndForget(t *testing.T) {
	noted := make(chan string, 10)
	p := newPair(t, func(m jsonrpc.Message) { noted <- m.Method }, jsonrpc.Options{})
	ended := make(chan jsonrpc.Response, 1)
	id, err := p.peer.Call("m", nil, func(r jsonrpc.Response) { ended <- r })
	if err != nil {
		t.Fatal(err)
	}
	p.want(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	p.peer.Cancel(id)
	p.want(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
	p.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled"}}`)
	if r := await(t, ended, "answer"); r.Error == nil || r.Error.Code != -32800 {
		t.Errorf("answer = %+v; want -32800", r)
	}
	p.peer.Cancel(id) // has ended: nothing is written
	if p.peer.Forget(id) {
		t.Error("Forget of an ended call = true")
	}
	id, _ = p.peer.Call("m", nil, func(jsonrpc.Response) { t.Error("done of a forgotten call ran") })
	p.want(`{"jsonrpc":"2.0","id":2,"method":"m"}`)
	if !p.peer.Forget(id) || p.peer.Forget(id) {
		t.Error("Forget: want true, then false")
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","method":"after"}`)
	await(t, noted, "message after the late answer")
}

func TestPeer_OnActivity(t *testing.T) {
	got := make(chan struct{}, 10)
	p := newPair(t, ignore, jsonrpc.Options{OnActivity: func() { got <- struct{}{} }})
	if _, err := io.WriteString(p.in, "half a li"); err != nil {
		t.Fatal(err)
	}
	await(t, got, "sign of life for half a line")
}

// Two peers at either end of two pipes ask each other at the same time.
func TestPeer_FR_03_BothDirections(t *testing.T) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	var a, b *jsonrpc.Peer
	ready := make(chan struct{})
	echo := func(self **jsonrpc.Peer) jsonrpc.Handler {
		return func(m jsonrpc.Message) {
			<-ready
			if err := (*self).Reply(m.ID, m.Params); err != nil {
				t.Errorf("Reply = %v", err)
			}
		}
	}
	a, b = jsonrpc.New(ar, aw, echo(&a), jsonrpc.Options{}), jsonrpc.New(br, bw, echo(&b), jsonrpc.Options{})
	close(ready)
	var wg sync.WaitGroup
	for worker := range 8 {
		p := []*jsonrpc.Peer{a, b}[worker%2]
		wg.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf(`[%d,%d]`, worker, i)
				r, err := p.Request(t.Context(), "echo", []byte(want))
				if err != nil || string(r.Result) != want {
					t.Errorf("echo of %s = %s, %v", want, r.Result, err)
				}
			}
		})
	}
	wg.Wait()
	a.Close() // the writers count what they wrote when they have
	b.Close()
	s := a.Stats()
	if s.Requests != 200 || s.Answers != 200 || s.LinesRead != 400 || s.LinesWritten != 400 || s.BytesWritten != b.Stats().BytesRead {
		t.Errorf("stats = %+v", s)
	}
}
