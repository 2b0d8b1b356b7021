package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
	"agentos/test/e2e/program"
)

// notification is the line of an update.
func notification(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + fakeSession + `","update":` + update + "}}\n"
}

// nested is an update in a line that nests so many levels: two are around it.
func nested(kind string, levels int) string {
	arrays := levels - 3
	return `{"sessionUpdate":"` + kind + `","d":` + strings.Repeat("[", arrays) + strings.Repeat("]", arrays) + `}`
}

func chunk(id, text string) string {
	return `{"sessionUpdate":"agent_message_chunk","messageId":"` + id + `","content":{"type":"text","text":"` + text + `"}}`
}

// exact are updates that must be stored as they are, each as an event of its own.
var exact = []struct {
	name, sent string
	stored     string // if it is something else
}{
	{name: "unknown kind", sent: `{"sessionUpdate":"x_unknown","a":null,"b":[1,2,{"c":null}],"_meta":{"k":null,"deep":{"_meta":[]}}}`},
	{name: "numbers", sent: `{"sessionUpdate":"x_numbers","big":9007199254740993,"dec":1.10,"exp":1E+2,"neg":-0,"more":[123456789012345678901234567890.000,0.1e-7]}`},
	{name: "a key twice", sent: `{"sessionUpdate":"x_twice","a":1,"b":{"z":1,"z":1},"a":2,"a":1}`},
	{name: "escapes", sent: `{"sessionUpdate":"x_escapes","t":"\u003c\u003E&\/\u00e9é\u2028` + "\u2028\u2029" + `\b\f","\u006bey":1}`},
	{name: "lone surrogates and NUL", sent: `{"sessionUpdate":"x_lone","t":"\ud800 \udc00x\udbff","nul":"a\u0000b","\u0000\udfff":1}`},
	{name: "white space", sent: "\t{ \"sessionUpdate\" :\t\"x_space\" ,\r \"a\" : [ 1 ,\t2 ]  , \"o\" : {\t}\r}"},
	{name: "order", sent: `{"z":1,"_meta":{},"a":{"y":1,"x":2},"sessionUpdate":"x_order","b":0}`},
	{name: "members of the envelope", sent: `{"sessionUpdate":"x_native","sequence":7,"sessionId":"evil","type":"t","durability":"ephemeral","mine":1,"run":null,"timestamp":[1.0]}`},
	{name: "broken UTF-8", sent: "{\"sessionUpdate\":\"x_mended\",\"t\":\"a\xffb\xc3(\",\"\xfe\":1}", stored: "{\"sessionUpdate\":\"x_mended\",\"t\":\"a\ufffdb\ufffd(\",\"\ufffd\":1}"},
	{name: "a chunk", sent: `{ "content" : {"text":"\u003cb\u003e \ud83d","type" : "text","annotations":{"p":1.0}},"sessionUpdate":"agent_message_chunk" , "messageId":"c1","_meta":null }`},
	{name: "a chunk that is no text", sent: `{"sessionUpdate":"agent_message_chunk","messageId":"c2","content":{"type":"image","data":"AAAA","mimeType":"image/png","x":1.10}}`},
	{name: "a tool call", sent: `{"sessionUpdate":"tool_call","toolCallId":"1","title":"\u0000","status":"x","rawInput":{"n":1.10,"n":9007199254740993}}`},
	{name: "a plan", sent: `{"sessionUpdate":"plan","entries":[{"content":"1","priority":"high","status":"pending","_meta":{"a":null}}]}`},
	{name: "deep", sent: nested("x_deep", 1000)},
	{name: "large", sent: `{"sessionUpdate":"x_large","t":"` + strings.Repeat("0123456789abcdef", 2<<20/16) + `"}`},
}

// broken are lines that are skipped, in front of the updates above. The note on
// stderr counts them.
var broken = []struct{ name, line, counted string }{
	{"a log line", "Starting up...\n", "not JSON"},
	{"many log lines", strings.Repeat("info: still here\n", 100), ""}, // counted below
	{"half a line", notification(chunk("half", "half"))[:70] + "\n", "not JSON"},
	{"an end of a line", `"}}}` + "\n", "not JSON"},
	{"null", "null\n", "no JSON-RPC message"},
	{"a number", "42\n", "no JSON-RPC message"},
	{"an object", "{}\n", "no JSON-RPC message"},
	{"an array", "[]\n", "a batch"},
	{"too deep", notification(nested("x_too_deep", 1001)), "nested too deeply"},
	{"nothing", "\n \t \r\n", ""},
	{"an answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n", "an answer that nobody waited for"},
	{"no update", notification("null") + notification("[]") + notification(`"x"`), ""},
	{"no kind", notification("{}") + notification(`{"sessionUpdate":null}`), ""},
	{"another session", strings.Replace(notification(`{"sessionUpdate":"x_other"}`), fakeSession, "fake-2", 1), ""},
	{"a foreign notification", `{"jsonrpc":"2.0","method":"_x/y","params":[1]}` + "\n", ""},
}

// TestS4_PayloadsAreExact sends updates and broken lines in turn, and wants the
// payloads in the database byte for byte, the same raw values in public, and
// each broken line to be counted and to do no harm.
func TestS4_PayloadsAreExact(t *testing.T) {
	t.Parallel()
	var wire strings.Builder
	counts := map[string]int{"with broken UTF-8 (mended)": 1, "not JSON": 100}
	for i := range max(len(exact), len(broken)) {
		if i < len(broken) {
			wire.WriteString(broken[i].line)
			counts[broken[i].counted]++
		}
		if i < len(exact) {
			wire.WriteString(notification(exact[i].sent))
		}
	}
	home := program.NewHome(t, program.RacingBinary())
	out := promptFake(t, home, nil, sending(t, wire.String()))
	if out.Code != 0 || !strings.Contains(string(out.Stdout), `{"result":{"sessionId":"main",`) {
		t.Fatalf("prompt = %d: %s", out.Code, out.Stderr)
	}
	for what, n := range counts {
		if what != "" && !strings.Contains(out.Stderr, fmt.Sprintf(" %d %s", n, what)) {
			t.Errorf("stderr does not count %d %s:\n%s", n, what, out.Stderr)
		}
	}
	compareStored(t, home)
	comparePublic(t, home, out)
}

// wanted are the payloads of the updates, as they are stored.
func wanted() []string {
	var all []string
	for _, e := range exact {
		if e.stored == "" {
			e.stored = e.sent
		}
		all = append(all, strings.Trim(e.stored, "\t")) // around a value it is not the value's
	}
	return all
}

// compareStored reads the payloads from the database file.
func compareStored(t *testing.T, home *program.Home) {
	t.Helper()
	var got []string
	withDatabase(t, home.DB, func(db persistence.Querier) {
		first := protocol.Sequence(1) // the prompt's own
		page, err := core.History(context.Background(), db, "main", core.PageRequest{After: &first, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			got = append(got, string(e.Payload))
		}
	})
	if diff := cmp.Diff(short(wanted()), short(got)); diff != "" || !slices.Equal(wanted(), got) {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// comparePublic wants the same raw members in what was printed live and in the
// history, with those that are called like the envelope's in native.
func comparePublic(t *testing.T, home *program.Home, live program.Output) {
	t.Helper()
	history := home.Run(t, "history", "--json", "--limit", "1000")
	var printed []string
	for _, e := range parseEvents(t, live.Lines()[:len(live.Lines())-1]) {
		if e.Durability == "durable" {
			printed = append(printed, e.line)
		}
	}
	if diff := cmp.Diff(short(printed), short(history.Lines())); diff != "" || !slices.Equal(printed, history.Lines()) {
		t.Errorf("printed live, and history (-live +history):\n%s", diff)
	}
	payloads := wanted()
	if len(printed) != 1+len(payloads) {
		t.Fatalf("%d events; want %d", len(printed), 1+len(payloads))
	}
	for i, payload := range payloads {
		want, err := publicMembers(payload)
		if err != nil {
			t.Fatal(err)
		}
		got, err := members([]byte(printed[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		if got = got[len(envelope):]; !slices.Equal(got, want) {
			t.Errorf("%s: members are\n%v\nwant\n%v", exact[i].name, got, want)
		}
	}
}

var envelope = []string{"durability", "sessionId", "sequence", "timestamp", "acpVersion", "type"}

// publicMembers are the members that an update has in its public event.
func publicMembers(payload string) (all []member, err error) {
	own, err := members([]byte(payload))
	var native []string
	for _, m := range own {
		switch {
		case m.Key == "sessionUpdate":
		case m.Key == "run" || slices.Contains(envelope, m.Key):
			native = append(native, fmt.Sprintf("%q:%s", m.Key, m.Value))
		default:
			all = append(all, m)
		}
	}
	if native != nil {
		all = append(all, member{"native", "{" + strings.Join(native, ",") + "}"})
	}
	return all, err
}

// short cuts texts for a report.
func short(texts []string) []string {
	var all []string
	for _, s := range texts {
		if len(s) > 400 {
			s = fmt.Sprintf("%s... (%d bytes)", s[:400], len(s))
		}
		all = append(all, s)
	}
	return all
}

// promptFake runs a turn with the agent of these tests.
func promptFake(t *testing.T, home *program.Home, each func(*program.Run, int, []byte), steps ...string) program.Output {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"prompt", "--json", "--env", "GORACE=atexit_sleep_ms=0", "hello", "--", self, fakeAgent}, steps)
	return home.Start(t, each, args...).Wait(t)
}

// TestS4_3_LinesThatAreTooLong: the memory stays bounded, however many come, and
// the turn goes on.
func TestS4_3_LinesThatAreTooLong(t *testing.T) {
	t.Parallel()
	limit := protocol.DefaultLimits().ReadLineBytes
	tooLong := notification(chunk("1", strings.Repeat("x", int(limit)+6<<20)))
	for _, tt := range []struct {
		lines int
		bound int64
	}{
		{1, 2 * limit},
		{4, 3 * limit}, // one may wait for the garbage collector while the next is read
	} {
		t.Run(fmt.Sprint(tt.lines), func(t *testing.T) {
			fifo := newFIFO(t)
			home := program.NewHome(t, program.Binary()) // the race detector has its own idea of memory
			var peak int64
			out := promptFake(t, home, func(r *program.Run, _ int, line []byte) {
				if strings.Contains(string(line), `"type":"x_behind"`) {
					peak = program.PeakBytes(r.PID())
					openFIFO(t, fifo)
				}
			}, sending(t, strings.Repeat(tooLong, tt.lines)+notification(`{"sessionUpdate":"x_behind"}`)), "wait:"+fifo)
			if out.Code != 0 || !strings.Contains(out.Stderr, fmt.Sprintf(": %d too long", tt.lines)) {
				t.Errorf("prompt = %d: %s", out.Code, out.Stderr)
			}
			if events := home.Run(t, "history", "--json").Lines(); len(events) != 2 || !strings.Contains(events[1], "x_behind") {
				t.Errorf("history = %v; want the prompt and x_behind", short(events))
			}
			t.Logf("peak of the runtime: %d MiB", peak>>20)
			if runtime.GOOS == "linux" && (peak == 0 || peak >= tt.bound) {
				t.Errorf("the runtime had %d MiB; want less than %d", peak>>20, tt.bound>>20)
			}
		})
	}
}

func newFIFO(t *testing.T) string {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "go-on")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return fifo
}

// openFIFO lets the one who waits for the FIFO go on. Without waiting itself: if
// nobody reads, that is tried again for a while.
func openFIFO(t *testing.T, path string) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(10 * time.Second)
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Errorf("nobody waits for the FIFO: %v", err)
			return
		}
	}
}

// TestS4_3_ALineInPieces: a line is a line however it comes.
func TestS4_3_ALineInPieces(t *testing.T) {
	t.Parallel()
	fifo := newFIFO(t)
	line := notification(`{"sessionUpdate":"x_pieces","t":"\u00e9"}`)
	at := strings.Index(line, `00e9`)
	home := program.NewHome(t, program.Binary())
	out := promptFake(t, home, func(_ *program.Run, _ int, line []byte) {
		if strings.Contains(string(line), `"type":"x_before"`) {
			openFIFO(t, fifo)
		}
	}, sending(t, notification(`{"sessionUpdate":"x_before"}`)+line[:at]), "wait:"+fifo, sending(t, line[at:]))
	lines := out.Lines()
	if out.Code != 0 || out.Stderr != "" || len(lines) != 4 || !strings.HasSuffix(lines[2], `,"type":"x_pieces","t":"\u00e9"}`) {
		t.Errorf("prompt = %d, %q, %s", out.Code, lines, out.Stderr)
	}
	if !json.Valid([]byte(lines[2])) {
		t.Errorf("not JSON: %s", lines[2])
	}
}
