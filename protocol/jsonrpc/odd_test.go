package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/jsonrpc"
)

const (
	refused      = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: an id is a string or an integer, a method a string"}}`
	refusedBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported: send one message a line"}}`
)

// none is the kind of a line that nothing is wrong with.
const none jsonrpc.DiagnosticKind = -1

// oddLine is a line and all that should come of it, one call (1) being open.
type oddLine struct {
	name, text string
	kind       jsonrpc.DiagnosticKind
	event      string // "" for none
	reply      string // "" for none
}

var oddLines = []oddLine{
	// JSON that is no message.
	{"FR-01 null", `null`, jsonrpc.NotMessage, "", ""},
	{"FR-01 empty array", `[]`, jsonrpc.Batch, "", refusedBatch},
	{"FR-01 number", `7`, jsonrpc.NotMessage, "", ""},
	{"FR-01 string", `"hi"`, jsonrpc.NotMessage, "", ""},
	{"FR-01 true", `true`, jsonrpc.NotMessage, "", ""},
	{"batch of a request", `[{"jsonrpc":"2.0","id":5,"method":"m"}]`, jsonrpc.Batch, "", refusedBatch},
	{"empty object", `{}`, jsonrpc.NotMessage, "", ""},
	{"SN-01 log object", `{"level":"info"}`, jsonrpc.NotMessage, "", ""},
	{"log object with method and id", `{"level":"info","method":"GET","id":5}`, jsonrpc.NotMessage, "", ""},
	{"version 1", `{"jsonrpc":"1.0","id":1,"result":{}}`, jsonrpc.NotMessage, "", ""},
	{"version as a number", `{"jsonrpc":2.0,"method":"m"}`, jsonrpc.NotMessage, "", ""},
	{"only a version", `{"jsonrpc":"2.0"}`, jsonrpc.NotMessage, "", ""},

	// Not JSON.
	{"SN-01 log line like an array", `[20:18:05] Using config`, jsonrpc.Junk, "", ""},
	{"SN-01 terminal title", "\x1b]0;title\x07", jsonrpc.Junk, "", ""},
	{"SN-03 banner", `Welcome back`, jsonrpc.Junk, "", ""},
	{"SN-03 blank", ``, none, "", ""},
	{"SN-03 white space", " \t ", none, "", ""},
	{"FR-06 first half", `{"jsonrpc":"2.0","meth`, jsonrpc.Junk, "", ""},
	{"FR-06 second half", `od":"session/update"}`, jsonrpc.Junk, "", ""},
	{"NUL", "\x00", jsonrpc.Junk, "", ""},
	{"two messages", `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`, jsonrpc.Junk, "", ""},

	// Ids.
	{"FR-03 id null", `{"jsonrpc":"2.0","id":null,"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id true", `{"jsonrpc":"2.0","id":true,"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id 1e2", `{"jsonrpc":"2.0","id":1e2,"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id [1]", `{"jsonrpc":"2.0","id":[1],"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id {}", `{"jsonrpc":"2.0","id":{},"method":"session/prompt"}`, jsonrpc.BadRequest, "", refused},
	{"id of 2 kB", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"m"}`, jsonrpc.BadRequest, "", refused},
	{"FR-03 id a string", `{"jsonrpc":"2.0","id":"a-1","method":"m"}`, none, `request "a-1" m `, ""},
	{"FR-03 id an integer", `{"jsonrpc":"2.0","id":1,"method":"m"}`, none, `request 1 m `, ""},
	{"FR-03 id a string of an integer", `{"jsonrpc":"2.0","id":"1","method":"m"}`, none, `request "1" m `, ""},
	{"id larger than any integer", `{"jsonrpc":"2.0","id":99999999999999999999,"method":"m"}`, none, `request 99999999999999999999 m `, ""},
	{"id negative", `{"jsonrpc":"2.0","id":-7,"method":"m"}`, none, `request -7 m `, ""},
	{"id with escapes", `{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, none, `request "\u0061" m `, ""},

	// Methods and params.
	{"method a number", `{"jsonrpc":"2.0","id":8,"method":5}`, jsonrpc.BadRequest, "", strings.Replace(refused, `"id":null`, `"id":8`, 1)},
	{"method null, no id", `{"jsonrpc":"2.0","method":null}`, jsonrpc.BadRequest, "", ""},
	{"method with escapes", `{"jsonrpc":"2.0","method":"session\/\u0075pdate"}`, none, "note session/update ", ""},
	{"method empty", `{"jsonrpc":"2.0","method":""}`, none, "note  ", ""},
	{"method of 100 kB", `{"jsonrpc":"2.0","method":"` + strings.Repeat("m", 100_000) + `"}`, none, "note " + strings.Repeat("m", 100_000) + " ", ""},
	{"params null", `{"jsonrpc":"2.0","method":"m","params":null}`, none, "note m null", ""},
	{"params a number", `{"jsonrpc":"2.0","method":"m","params": 1.10 }`, none, "note m 1.10", ""},
	{"UM-02 params as received", `{"params":{"b":1,"a": 9007199254740993,"a":"<>&\u2028\/","_meta":{"pi":{"level":"error"}}},"method":"m","jsonrpc":"2.0","x":[]}`,
		none, `note m {"b":1,"a": 9007199254740993,"a":"<>&\u2028\/","_meta":{"pi":{"level":"error"}}}`, ""},
	{"UN-02 lone surrogate", `{"jsonrpc":"2.0","method":"m","params":{"text":"cut \ud83d \u0000"}}`, none, `note m {"text":"cut \ud83d \u0000"}`, ""},
	{"duplicate members", `{"jsonrpc":"2.0","method":"a","method":"b","params":[1],"params":[2]}`, none, "note b [2]", ""},
	{"white space", "\t{ \"jsonrpc\" : \"2.0\" , \"method\" : \"m\" , \"params\" : [ ] } ", none, "note m [ ]", ""},
	{"carriage return", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\r", none, "note m ", ""},
	{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\"\xff\xe2\x89\"]}", jsonrpc.Repaired, "note m [\"\uFFFD\uFFFD\"]", ""},

	// Answers.
	{"answer", `{"jsonrpc":"2.0","id":1,"result": {"a" : 1.10} }`, none, `answer 1 {"a" : 1.10}`, ""},
	{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"sign in","data":{"x":1e2}}}`, none, `error 1 -32000 sign in {"x":1e2}`, ""},
	{"error null beside a result", `{"jsonrpc":"2.0","id":1,"error":null,"result":7}`, none, `answer 1 7`, ""},
	{"error beside a result", `{"jsonrpc":"2.0","id":1,"result":7,"error":{"code":1,"message":"m"}}`, none, `error 1 1 m `, ""},
	{"neither result nor error", `{"jsonrpc":"2.0","id":1}`, jsonrpc.BadAnswer, `answer 1 null`, ""},
	{"error a string", `{"jsonrpc":"2.0","id":1,"error":"boom"}`, jsonrpc.BadAnswer, `error 1 -32603 boom `, ""},
	{"error without a code", `{"jsonrpc":"2.0","id":1,"error":{"message":"boom"}}`, jsonrpc.BadAnswer, `error 1 -32603 boom `, ""},
	{"error whose last code and message cannot be read", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":"x","message":"a","message":null,"data":1,"data":[ ]}}`, jsonrpc.BadAnswer,
		`error 1 -32603 error without a message [ ]`, ""},
	{"error false", `{"jsonrpc":"2.0","id":1,"error":false}`, jsonrpc.BadAnswer, `error 1 -32603 error without a message `, ""},
	{"answer without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`, jsonrpc.OrphanAnswer, "", ""},
	{"answer with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, jsonrpc.OrphanAnswer, "", ""},
	{"answer to another id", `{"jsonrpc":"2.0","id":99,"result":{}}`, jsonrpc.OrphanAnswer, "", ""},
	{"FR-03 answer to a string of the id", `{"jsonrpc":"2.0","id":"1","result":{}}`, jsonrpc.OrphanAnswer, "", ""},

	// Damaged answers and requests.
	{"answer cut off", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_t`, jsonrpc.Junk, "damaged 1 junk", ""},
	{"answer cut off at its result", `{"jsonrpc":"2.0","id":1,"result":`, jsonrpc.Junk, "damaged 1 junk", ""},
	{"answer with rubbish in it", `{"jsonrpc":"2.0","result":{"a":},"id":1}`, jsonrpc.Junk, "damaged 1 junk", ""},
	{"answer cut off before it is one", `{"jsonrpc":"2.0","id":1,"resu`, jsonrpc.Junk, "", ""},
	{"answer cut off in its id", `{"jsonrpc":"2.0","result":{},"id":1`, jsonrpc.Junk, "", ""},
	{"answer to no call cut off", `{"jsonrpc":"2.0","id":4,"result":{`, jsonrpc.Junk, "", ""},
	{"request cut off", `{"jsonrpc":"2.0","id":1,"method":"m","params":{`, jsonrpc.Junk, "",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"invalid JSON at byte 47: want a member name"}}`},
	{"request cut off that has a result too", `{"jsonrpc":"2.0","id":1,"result":{},"method":"m`, jsonrpc.Junk, "",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"invalid JSON at byte 47: want a closing quote"}}`},
	{"request cut off with a damaged id", "{\"jsonrpc\":\"2.0\",\"id\":\"\x10-1\",\"method\":", jsonrpc.Junk, "", ""},
	{"request cut off with an id of zeros", `{"jsonrpc":"2.0","id":007,"method":"m"}`, jsonrpc.Junk, "", ""},
	{"notification cut off", `{"jsonrpc":"2.0","method":"m","params":{`, jsonrpc.Junk, "", ""},
	{"answer too deep", `{"jsonrpc":"2.0","result":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `,"id":1}`, jsonrpc.TooDeep, "damaged 1 too_deep", ""},
	{"notification too deep", `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, jsonrpc.TooDeep, "", ""},
	{"deep enough", `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`, none,
		"note m " + strings.Repeat("[", 999) + strings.Repeat("]", 999), ""},

	// Cancels.
	{"cancel", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a-1"}}`, none, `cancel "a-1"`, ""},
	{"cancel as a request", `{"jsonrpc":"2.0","id":6,"method":"$/cancel_request","params":{"requestId":5}}`, none, `cancel 5`, `{"jsonrpc":"2.0","id":6,"result":null}`},
	{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancel_request"}`, jsonrpc.BadRequest, "", ""},
	{"cancel of null", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":null}}`, jsonrpc.BadRequest, "", ""},
}

// Whatever one line is, the line after it is served (S4.3).
func TestPeer_S4_3_OddLines(t *testing.T) {
	for _, c := range oddLines {
		t.Run(c.name, func(t *testing.T) {
			input := c.text + "\n" + `{"jsonrpc":"2.0","method":"after"}`
			got := play(t, 1, jsonrpc.Options{}, []byte(input))
			var want outcome
			ended := false
			if c.event != "" {
				want.Events = append(want.Events, c.event)
				for _, end := range []string{"answer 1", "error 1", "damaged 1"} {
					ended = ended || strings.HasPrefix(c.event, end)
				}
			}
			want.Events = append(want.Events, "note after ")
			if !ended {
				want.Events = append(want.Events, "none 1")
			}
			if c.reply != "" {
				want.Replies = []string{c.reply}
			}
			if diff := cmp.Diff(want.Events, got.Events); diff != "" {
				t.Errorf("events: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(want.Replies, append([]string(nil), got.Replies...)); diff != "" {
				t.Errorf("replies: -want +got\n%s", diff)
			}
			wantCounts(t, got, c)
		})
	}
}

func wantCounts(t *testing.T, got outcome, c oddLine) {
	t.Helper()
	total := int64(0)
	for _, n := range got.Stats.Diagnostics {
		total += n
	}
	if c.kind == none {
		if total != 0 || len(got.Diagnostics) != 0 {
			t.Errorf("diagnostics = %+v; want none", got.Diagnostics)
		}
		return
	}
	if total != 1 || got.Stats.Of(c.kind) != 1 || len(got.Diagnostics) != 1 {
		t.Fatalf("diagnostics = %+v; want one %v", got.Diagnostics, c.kind)
	}
	d := got.Diagnostics[0]
	if d.Kind != c.kind || d.Count != 1 || d.Bytes != int64(len(c.text)) || d.Detail == "" {
		t.Errorf("diagnostic = %+v", d)
	}
	if strings.Contains(d.Detail, "title") || strings.Contains(d.Detail, "Welcome") {
		t.Errorf("diagnostic quotes the line: %q", d.Detail)
	}
}

// Any lines in any chunks give the same as each line alone.
func TestPeer_S4_3_AnyLinesInAnyChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var input strings.Builder
		var want outcome
		counts := map[jsonrpc.DiagnosticKind]int64{}
		answered := false
		n := rapid.IntRange(0, 8).Draw(rt, "lines")
		for i := range n {
			c := rapid.SampledFrom(oddLines).Draw(rt, "line")
			ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "ending")
			if i == n-1 && rapid.Bool().Draw(rt, "no ending") {
				ending = ""
			}
			input.WriteString(c.text + ending)
			kind, event := c.kind, c.event
			isEnd := strings.HasPrefix(event, "answer 1") || strings.HasPrefix(event, "error 1") || strings.HasPrefix(event, "damaged 1")
			if isEnd && answered { // the call is over: a whole answer is an orphan
				event = ""
				if !strings.HasPrefix(c.event, "damaged") {
					kind = jsonrpc.OrphanAnswer
				}
			}
			answered = answered || isEnd
			if event != "" {
				want.Events = append(want.Events, event)
			}
			if c.reply != "" {
				want.Replies = append(want.Replies, c.reply)
			}
			if kind != none {
				counts[kind]++
			}
		}
		if !answered {
			want.Events = append(want.Events, "none 1")
		}
		got := play(t, 1, jsonrpc.Options{}, cut(rt, input.String())...)
		if diff := cmp.Diff(want.Events, got.Events); diff != "" {
			rt.Fatalf("events: -want +got\n%s", diff)
		}
		if diff := cmp.Diff(want.Replies, append([]string(nil), got.Replies...)); diff != "" {
			rt.Fatalf("replies: -want +got\n%s", diff)
		}
		for kind, n := range got.Stats.Diagnostics {
			if k := jsonrpc.DiagnosticKind(kind); n != counts[k] {
				rt.Fatalf("%v = %d; want %d", k, n, counts[k])
			}
		}
		if got.Stats.BytesRead != int64(input.Len()) {
			rt.Fatalf("bytes read = %d; want %d", got.Stats.BytesRead, input.Len())
		}
	})
}

// cut draws how an input is split into reads.
func cut(t *rapid.T, input string) (pieces [][]byte) {
	size := rapid.SampledFrom([]int{1, 2, 7, 100, 4096, 1 << 20}).Draw(t, "size")
	sizes := rapid.SliceOfN(rapid.IntRange(1, size), 1, 5).Draw(t, "sizes") // over and over
	for i := 0; len(input) > 0; i++ {
		n := min(len(input), sizes[i%len(sizes)])
		pieces = append(pieces, []byte(input[:n]))
		input = input[n:]
	}
	return pieces
}

func TestPeer_SN_03_BannersAreRateLimited(t *testing.T) {
	input := strings.Repeat("Welcome back\n\n\n"+`{"jsonrpc":"2.0","method":"m"}`+"\n", 10_000)
	got := play(t, 0, jsonrpc.Options{}, []byte(input))
	if len(got.Events) != 10_000 || got.Stats.Notifications != 10_000 {
		t.Errorf("delivered %d; want 10000", len(got.Events))
	}
	if n := got.Stats.Of(jsonrpc.Junk); n != 10_000 {
		t.Errorf("junk = %d; want 10000", n)
	}
	if n := len(got.Diagnostics); n < 8 || n > 24 {
		t.Errorf("%d diagnostics were reported; want a handful", n)
	}
	if last := got.Diagnostics[len(got.Diagnostics)-1]; last.Kind != jsonrpc.Junk || last.Count != 10_000 {
		t.Errorf("last diagnostic is %+v; want it to count all 10000", last)
	}
}

func TestPeer_AnswerJunk(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"hello", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 0: want a value"}}`},
		{strings.Repeat("[", 1001), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"JSON at byte 1000 nests deeper than 1000 levels"}}`},
	} {
		got := play(t, 0, jsonrpc.Options{AnswerJunk: true}, []byte(c.in))
		if diff := cmp.Diff([]string{c.want}, got.Replies); diff != "" {
			t.Errorf("replies: -want +got\n%s", diff)
		}
	}
	if got := play(t, 0, jsonrpc.Options{AnswerJunk: true}, []byte("\n \r\n")); len(got.Replies) != 0 {
		t.Errorf("blank lines were answered: %q", got.Replies)
	}
}

func TestPeer_UN_01_OneByteAtATime(t *testing.T) {
	line := `{"jsonrpc":"2.0","method":"m","params":{"text":"读 ≤ 😀"}}` + "\n"
	var pieces [][]byte
	for i := range len(line) {
		pieces = append(pieces, []byte{line[i]})
	}
	got := play(t, 0, jsonrpc.Options{}, pieces...)
	if diff := cmp.Diff([]string{`note m {"text":"读 ≤ 😀"}`}, got.Events); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got.Stats.Replaced != 0 {
		t.Errorf("replaced = %d; want 0", got.Stats.Replaced)
	}
}

func TestDiagnosticKind_String(t *testing.T) {
	seen := map[string]bool{}
	for k := range (jsonrpc.Stats{}).Diagnostics {
		name := jsonrpc.DiagnosticKind(k).String()
		if name == "" || seen[name] {
			t.Errorf("kind %d is named %q", k, name)
		}
		seen[name] = true
	}
	if got, want := jsonrpc.DiagnosticKind(99).String(), "diagnostic(99)"; got != want {
		t.Errorf("String = %q; want %q", got, want)
	}
}
