package jsonrpc_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol/jsonrpc"
)

// stream is a reader of head, then size filler bytes, then tail, in reads of at
// most chunk bytes, without holding any of it.
type stream struct {
	head, tail  string
	size, chunk int
}

func (s *stream) Read(p []byte) (n int, err error) {
	p = p[:min(len(p), s.chunk)]
	switch {
	case s.head != "":
		n = copy(p, s.head)
		s.head = s.head[n:]
	case s.size > 0:
		n = min(len(p), s.size)
		for i := range p[:n] {
			p[i] = 'x'
		}
		s.size -= n
	case s.tail != "":
		n = copy(p, s.tail)
		s.tail = s.tail[n:]
	default:
		err = io.EOF
	}
	return n, err
}

const (
	longHead = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","text":"`
	longTail = `"}}` + "\n" + `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"B"}}` + "\n"
)

// readStream runs a peer over a stream and returns what it did and what it cost.
func readStream(t testing.TB, s *stream, max int64) (delivered int, stats jsonrpc.Stats, took time.Duration, allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	p := jsonrpc.New(s, newSink(), func(m jsonrpc.Message) { delivered++ }, jsonrpc.Options{MaxLineBytes: max})
	await(t, p.Done(), "end of the stream")
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return delivered, p.Stats(), took, after.TotalAlloc - before.TotalAlloc
}

func TestPeer_LP_02_TooLongIsDroppedInBoundedMemory(t *testing.T) {
	const limit = 1 << 20
	s := &stream{head: longHead, size: 128 << 20, tail: longTail, chunk: 64 << 10}
	delivered, stats, _, allocated := readStream(t, s, limit)
	if delivered != 1 || stats.Of(jsonrpc.TooLong) != 1 {
		t.Errorf("delivered %d, too long %d; want 1 and 1", delivered, stats.Of(jsonrpc.TooLong))
	}
	if allocated > 8*limit {
		t.Errorf("allocated %d bytes for a line of 128 MiB; want a small multiple of the limit, %d", allocated, limit)
	}
}

func TestPeer_LP_03_CostIsLinear(t *testing.T) {
	cost := func(size int) (took time.Duration, allocated uint64) {
		took = time.Hour
		for range 3 { // the fastest: other things run here too
			s := &stream{head: longHead, size: size, tail: longTail, chunk: 4 << 10}
			delivered, _, d, a := readStream(t, s, 64<<20)
			if delivered != 2 {
				t.Fatalf("delivered %d; want 2", delivered)
			}
			took, allocated = min(took, d), a
		}
		return took, allocated
	}
	shortTook, shortAllocated := cost(32 << 20 / 10)
	longTook, longAllocated := cost(32 << 20)
	t.Logf("3.2 MiB: %v, %d bytes; 32 MiB: %v, %d bytes", shortTook, shortAllocated, longTook, longAllocated)
	if ratio := float64(longAllocated) / float64(shortAllocated); ratio > 15 {
		t.Errorf("ten times the line allocates %.1f times as much; want about 10", ratio)
	}
	// Searching the whole line again for every read would be 128 GiB of search,
	// seconds on any machine; a few milliseconds may be out of proportion.
	if ratio := float64(longTook) / float64(shortTook); ratio > 30 && longTook > time.Second {
		t.Errorf("ten times the line takes %.1f times as long; want about 10", ratio)
	}
}

// A line that is too long and was an answer fails its call and no other (S4.3).
func TestPeer_S4_3_LP_02_TooLongAnswers(t *testing.T) {
	long := `"` + strings.Repeat("x", 9000) + `"`
	for _, c := range []struct{ name, line, event, reply string }{
		{"id in front", `{"jsonrpc":"2.0","id":2,"result":` + long + `}`, "damaged 2 too_long", ""},
		{"error", `{"id":2,"jsonrpc":"2.0","error":{"code":1,"message":` + long + `}}`, "damaged 2 too_long", ""},
		{"id behind", `{"jsonrpc":"2.0","result":{"a":` + long + `},"id": 2}`, "damaged 2 too_long", ""},
		{"id behind, carriage return", `{"jsonrpc":"2.0","result":` + long + `,"id":2 }` + "\r", "damaged 2 too_long", ""},
		{"id of something inside", `{"jsonrpc":"2.0","result":{"a":` + long + `,"id":2}}`, "", ""},
		{"notification", `{"jsonrpc":"2.0","method":"m","params":{"id":2,"result":` + long + `}}`, "", ""},
		{"notification that ends like an answer", `{"jsonrpc":"2.0","method":"m","params":` + long + `,"id":2}`, "", ""},
		{"request", `{"jsonrpc":"2.0","id":2,"method":"m","params":` + long + `}`, "",
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"message of 9049 bytes is too large: the limit is 5000 bytes","data":{"maxBytes":5000}}}`},
		{"rubbish", long, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(t, 3, jsonrpc.Options{MaxLineBytes: 5000}, []byte(c.line+"\n"+`{"jsonrpc":"2.0","id":3,"result":3}`))
			want := []string{"answer 3 3", "none 1", "none 2"}
			if c.event != "" {
				want = []string{c.event, "answer 3 3", "none 1"}
			}
			if diff := cmp.Diff(want, got.Events); diff != "" {
				t.Errorf("events: -want +got\n%s", diff)
			}
			if reply := strings.Join(got.Replies, "\n"); reply != c.reply {
				t.Errorf("reply %s\nwant  %s", reply, c.reply)
			}
			if got.Stats.Of(jsonrpc.TooLong) != 1 {
				t.Errorf("too long = %d; want 1", got.Stats.Of(jsonrpc.TooLong))
			}
		})
	}
}

func TestPeer_S4_3_LimitIsExact(t *testing.T) {
	line := `{"jsonrpc":"2.0","method":"m"}`
	for _, c := range []struct{ limit, want int }{{len(line), 1}, {len(line) - 1, 0}} {
		got := play(t, 0, jsonrpc.Options{MaxLineBytes: int64(c.limit)}, []byte(line+"\n"))
		if len(got.Events) != c.want {
			t.Errorf("limit %d, line %d: delivered %d; want %d", c.limit, len(line), len(got.Events), c.want)
		}
	}
	// Replacements make a line longer; the limit holds for what is delivered.
	bad := strings.Replace(line, "m\"}", "\xff\"}", 1)
	got := play(t, 0, jsonrpc.Options{MaxLineBytes: int64(len(bad))}, []byte(bad+"\n"))
	if len(got.Events) != 0 || got.Stats.Of(jsonrpc.TooLong) != 1 {
		t.Errorf("events = %q, too long %d; want none and 1", got.Events, got.Stats.Of(jsonrpc.TooLong))
	}
}

func BenchmarkPeer_Read(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := longHead + strings.Repeat("x", size) + `"}}` + "\n"
			r, w := io.Pipe()
			done := make(chan struct{})
			n := 0
			p := jsonrpc.New(r, io.Discard, func(jsonrpc.Message) {
				if n++; n == b.N {
					close(done)
				}
			}, jsonrpc.Options{})
			defer p.Close()
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			b.ResetTimer()
			batch := []byte(strings.Repeat(line, max(1, (64<<10)/len(line))))
			go func() {
				for i := 0; i < b.N; i += len(batch) / len(line) {
					w.Write(batch[:min(len(batch), (b.N-i)*len(line))])
				}
			}()
			<-done
		})
	}
}
