package jsonrpc_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentos/protocol/jsonrpc"
)

// gatedWriter takes nothing until it is opened, and then all or so many bytes.
type gatedWriter struct {
	entered chan struct{} // gets one value a write
	open    chan struct{}
	mu      sync.Mutex
	room    int // negative: no bound
	got     strings.Builder
}

func newGated(room int) *gatedWriter {
	return &gatedWriter{entered: make(chan struct{}, 100), open: make(chan struct{}), room: room}
}

var errBroken = errors.New("broken pipe")

func (g *gatedWriter) Write(p []byte) (int, error) {
	g.entered <- struct{}{}
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(p)
	if g.room >= 0 {
		n = min(n, g.room)
		g.room -= n
	}
	g.got.Write(p[:n])
	if n < len(p) {
		return n, errBroken
	}
	return n, nil
}

func TestPeer_BackpressureNeverBlocks(t *testing.T) {
	w := newGated(-1)
	r, in := io.Pipe()
	p := jsonrpc.New(r, w, ignore, jsonrpc.Options{MaxQueuedBytes: 1000})
	big := []byte(`"` + strings.Repeat("x", 5000) + `"`)
	if err := p.Notify("m", big); err != nil { // larger than the bound, but nothing waits
		t.Fatalf("first = %v; want it taken", err)
	}
	await(t, w.entered, "write")
	if err := p.Notify("m", nil); !errors.Is(err, jsonrpc.ErrBackpressure) {
		t.Errorf("second = %v; want ErrBackpressure", err)
	}
	if _, err := p.Call("m", nil, func(jsonrpc.Response) { t.Error("done of a refused call ran") }); !errors.Is(err, jsonrpc.ErrBackpressure) {
		t.Errorf("Call = %v; want ErrBackpressure", err)
	}
	// The peer's own answers are dropped, not kept.
	if _, err := io.WriteString(in, "[]\n[]\n"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	await(t, p.Done(), "end of reading")
	if n := p.Stats().Of(jsonrpc.Unsent); n != 2 {
		t.Errorf("unsent = %d; want 2", n)
	}
	close(w.open)
	p.CloseWrite()
	if err := p.Notify("m", nil); err == nil {
		t.Error("Notify after CloseWrite = nil")
	}
	p.Close()
	if want := `{"jsonrpc":"2.0","method":"m","params":` + string(big) + "}\n"; w.got.String() != want {
		t.Errorf("written %d bytes; want %d", w.got.Len(), len(want))
	}
}

func TestPeer_QueueIsFreedByWriting(t *testing.T) {
	p := newPair(t, ignore, jsonrpc.Options{MaxQueuedBytes: 100})
	start := time.Now()
	for range 100 { // 3 kB in all; each is read before the next is sent
		err := p.peer.Notify("m", nil)
		for errors.Is(err, jsonrpc.ErrBackpressure) && time.Since(start) < limit {
			runtime.Gosched() // the writer has written but not yet said so
			err = p.peer.Notify("m", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","method":"m"}`)
	}
}

// A write that fails ends the calls that were not written, and only them.
func TestPeer_AD_06_WriteFails(t *testing.T) {
	first := `{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n"
	w := newGated(len(first) + 5)
	r, in := io.Pipe()
	p := jsonrpc.New(r, w, ignore, jsonrpc.Options{})
	ends := make(chan jsonrpc.Response, 10)
	for range 3 {
		if _, err := p.Call("m", nil, func(r jsonrpc.Response) { ends <- r }); err != nil {
			t.Fatal(err)
		}
	}
	close(w.open)
	for _, id := range []jsonrpc.ID{"2", "3"} {
		if r := await(t, ends, "end of an unwritten call"); r.ID != id || !errors.Is(r.Err, errBroken) {
			t.Errorf("end of %s: %v; want %s and broken pipe", r.ID, r.Err, id)
		}
	}
	if err := p.Notify("m", nil); !errors.Is(err, errBroken) {
		t.Errorf("Notify = %v; want broken pipe", err)
	}
	if err := p.Err(); !errors.Is(err, errBroken) {
		t.Errorf("Err = %v; want broken pipe", err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"result":7}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if r := await(t, ends, "answer to the written call"); r.ID != "1" || string(r.Result) != "7" {
		t.Errorf("answer = %+v; want 7 for 1", r)
	}
	p.Close()
	if len(ends) != 0 {
		t.Errorf("%d calls ended twice", len(ends))
	}
}

func TestPeer_CloseWriteFlushes(t *testing.T) {
	w := newSink()
	r, in := io.Pipe()
	p := jsonrpc.New(r, w, ignore, jsonrpc.Options{})
	want := strings.Repeat("x", 100_000)
	for range 3 {
		if err := p.Notify("m", []byte(`"`+want+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	p.CloseWrite()
	await(t, w.closed, "closing of the writer")
	lines := w.lines()
	if len(lines) != 3 || !strings.Contains(lines[2], want) {
		t.Errorf("%d lines were written; want 3", len(lines))
	}
	in.Close()
	if err := p.Close(); err != nil { // closes the writer no second time
		t.Errorf("Close = %v", err)
	}
}

type gatedCloser struct{ *gatedWriter }

func (g gatedCloser) Close() error { close(g.open); return nil }

func TestPeer_CloseDropsTheQueue(t *testing.T) {
	w := gatedCloser{newGated(-1)}
	r, _ := io.Pipe()
	p := jsonrpc.New(r, w, ignore, jsonrpc.Options{})
	for i, method := range []string{"a", "b", "c"} {
		if err := p.Notify(method, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			await(t, w.entered, "write")
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := w.got.String(), `{"jsonrpc":"2.0","method":"a"}`+"\n"; got != want {
		t.Errorf("written %q; want %q", got, want)
	}
}
