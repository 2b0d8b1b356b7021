package coalesce_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions/coalesce"
)

// piece is a chunk as it was put together, so that a test can put many together
// without looking into any.
type piece struct{ head, text, tail string }

func (p piece) raw() string { return p.head + p.text + p.tail }

func parse(tb testing.TB, raw string) acp.Update {
	tb.Helper()
	u, err := acp.ParseUpdate([]byte(raw))
	if err != nil || !u.IsText {
		tb.Fatalf("ParseUpdate(%s) = %+v, %v; want a text chunk", raw, u, err)
	}
	return u
}

func decoded(t *rapid.T, text string) string {
	var s string
	if err := json.Unmarshal([]byte(`"`+text+`"`), &s); err != nil {
		t.Fatalf("text %q: %v", text, err)
	}
	return s
}

var (
	heads = []string{
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"`,
		`{"messageId":"m1","sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`,
		`{ "sessionUpdate" : "agent_thought_chunk", "content":{"text":"`,
		`{"_meta":{"text":"\ud83d","content":{"text":"x"}},"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"`,
	}
	tails = []string{`"}}`, `"}}`, `"},"_meta":{"n":1}}`, `","annotations":{"text":"y"}}}`}
	texts = []string{``, `a`, `bc`, `\n`, `\"`, `\\`, `é`, `"}}`[1:], `\u0000`, `\u00e9`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\uD83D`, `\uDE00`, `\\ud83d`, `\\\ud83d`, "\u2028", `😀`}
)

func drawPiece(t *rapid.T) piece {
	p := piece{rapid.SampledFrom(heads).Draw(t, "head"), "", rapid.SampledFrom(tails).Draw(t, "tail")}
	if strings.HasPrefix(p.head, "{ ") {
		p.tail = `","type":"text"}}`
	}
	for range rapid.IntRange(0, 4).Draw(t, "texts") {
		p.text += rapid.SampledFrom(texts).Draw(t, "text")
	}
	return p
}

// TestBuffer_S7_3_EqualsConcatenation holds the buffer to a twin that keeps the
// pieces and concatenates them at the end: nothing is lost, not a byte outside
// the text changes, and every offset counts what was decoded before.
func TestBuffer_S7_3_EqualsConcatenation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{1, 100, 160, 1 << 20}).Draw(t, "limit")
		b := coalesce.New(limit)
		var open []piece
		runs := 0
		check := func() {
			run, ok := b.Close()
			if ok != (len(open) > 0) {
				t.Fatalf("Close = %v; want %v", ok, len(open) > 0)
			}
			if !ok {
				return
			}
			want, text := open[0].head, ""
			for _, p := range open {
				want, text = want+p.text, text+decoded(t, p.text)
			}
			want += open[0].tail
			if string(run.Payload) != want || run.ID != id(runs) || run.ACP != 1 {
				t.Fatalf("Close = %+v %s; want %s %s", run, run.Payload, id(runs), want)
			}
			u, err := acp.ParseUpdate(run.Payload)
			if err != nil || u.Text() != text || u.Chunk != run.Kind || u.MessageID != run.MessageID {
				t.Fatalf("merged %s is %+v, %v; want text %q", run.Payload, u, err, text)
			}
			if len(open) > 1 && int64(len(run.Payload)) > limit {
				t.Fatalf("merged %d bytes; want at most %d", len(run.Payload), limit)
			}
			open = nil
		}
		for range rapid.IntRange(1, 30).Draw(t, "chunks") {
			p := drawPiece(t)
			u, err := acp.ParseUpdate([]byte(p.raw()))
			if err != nil || !u.IsText {
				t.Fatalf("%s: %v", p.raw(), err)
			}
			if !b.Continues(u) {
				check()
			} else if p.head != open[0].head || p.tail != open[0].tail {
				t.Fatalf("%s continues %s", p.raw(), open[0].raw())
			}
			if len(open) == 0 {
				runs++
			}
			var before int64
			for _, o := range open {
				before += int64(len(decoded(t, o.text)))
			}
			if d := b.Add(u, 1, id(runs)); d.Run != id(runs) || d.Offset != before {
				t.Fatalf("Add = %+v; want %s at %d", d, id(runs), before)
			}
			open = append(open, p)
		}
		check()
		if b.Open() || b.Bytes() != 0 {
			t.Fatalf("after Close: open %t, %d bytes", b.Open(), b.Bytes())
		}
	})
}

func id(n int) protocol.RunID { return protocol.RunID(fmt.Sprint("r", n)) }

// TestBuffer_S7_1_MergesWhatItMay holds that a run is not split without need:
// the property above would also hold if nothing were ever merged.
func TestBuffer_S7_1_MergesWhatItMay(t *testing.T) {
	chunk := func(id, text string) string {
		return `{"sessionUpdate":"agent_message_chunk",` + id + `"content":{"type":"text","text":"` + text + `"}}`
	}
	for name, c := range map[string]struct {
		first, then string
		limit       int64
		want        bool
	}{
		"same":                      {chunk(``, `a`), chunk(``, `b`), 1 << 20, true},
		"same id":                   {chunk(`"messageId":"m",`, `a`), chunk(`"messageId":"m",`, `b`), 1 << 20, true},
		"other id":                  {chunk(`"messageId":"m",`, `a`), chunk(`"messageId":"n",`, `b`), 1 << 20, false},
		"id comes":                  {chunk(``, `a`), chunk(`"messageId":"m",`, `b`), 1 << 20, false},
		"id goes":                   {chunk(`"messageId":"m",`, `a`), chunk(``, `b`), 1 << 20, false},
		"null id":                   {chunk(`"messageId":null,`, `a`), chunk(`"messageId":null,`, `b`), 1 << 20, true},
		"escape at the seam":        {chunk(``, `\\`), chunk(``, `n`), 1 << 20, true},
		"character in halves":       {chunk(``, `\ud83d`), chunk(``, `\ude00`), 1 << 20, false},
		"two first halves":          {chunk(``, `\ud83d`), chunk(``, `\ud83d`), 1 << 20, true},
		"two second halves":         {chunk(``, `\ude00`), chunk(``, `\ude00`), 1 << 20, true},
		"whole characters":          {chunk(``, `\ud83d\ude00`), chunk(``, `\ud83d\ude00`), 1 << 20, true},
		"fits exactly":              {chunk(``, `a`), chunk(``, `b`), int64(2*len(chunk(``, `a`)) - len(`"}}`)), true},
		"would not fit":             {chunk(``, `a`), chunk(``, `b`), int64(2*len(chunk(``, `a`)) - len(`"}}`) - 1), false},
		"of nothing, after nothing": {chunk(``, ``), chunk(``, ``), 1 << 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := coalesce.New(c.limit)
			first, then := parse(t, c.first), parse(t, c.then)
			if b.Continues(first) {
				t.Error("something continues what is not open")
			}
			b.Add(first, 1, "r")
			if got := b.Continues(then); got != c.want {
				t.Errorf("Continues = %t; want %t", got, c.want)
			}
		})
	}
}

// TestBuffer_KeepsNothingOfItsArguments: the line that a chunk came in may be
// used again.
func TestBuffer_ClosedRunIsItsOwn(t *testing.T) {
	b := coalesce.New(1 << 20)
	b.Add(parse(t, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one"}}`), 1, "r1")
	first, _ := b.Close()
	kept := string(first.Payload)
	b.Add(parse(t, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two"}}`), 1, "r2")
	if string(first.Payload) != kept {
		t.Errorf("a closed run became %s", first.Payload)
	}
}

// TestBuffer_S7_3_CostIsLinear: CC-04, one reply in 20,000 pieces.
func TestBuffer_S7_3_CostIsLinear(t *testing.T) {
	u := parse(t, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"thirty bytes of an answer, ok?"}}`)
	cost := func(chunks int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stream(u, chunks)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	cost(100) // what is allocated once
	once, twice := cost(20_000), cost(40_000)
	if twice > 2.5*once {
		t.Errorf("20,000 chunks cost %.0f bytes, 40,000 cost %.0f; want at most 2.5 times as much", once, twice)
	}
	if said := float64(20_000 * 30); once > 12*said {
		t.Errorf("%.0f bytes of text cost %.0f bytes of memory; want at most 12 times as much", said, once)
	}
}

func stream(u acp.Update, chunks int) int {
	b := coalesce.New(64 << 20)
	for range chunks {
		if b.Open() && !b.Continues(u) {
			panic("a chunk does not continue its like")
		}
		b.Add(u, 1, "r")
	}
	run, _ := b.Close()
	return len(run.Payload)
}

func BenchmarkBuffer(b *testing.B) {
	u := parse(b, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"thirty bytes of an answer, ok?"}}`)
	for _, chunks := range []int{20_000, 40_000} {
		b.Run(fmt.Sprint(chunks), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(chunks) * 30)
			for b.Loop() {
				stream(u, chunks)
			}
		})
	}
}
