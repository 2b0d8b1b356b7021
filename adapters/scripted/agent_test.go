package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// serve runs an agent in this process without Main, so that a test has the
// agent and its signals in hand and can run on synctest's time.
func serve(t testing.TB, dir string, args ...string) (*client, *agent, chan<- os.Signal) {
	t.Helper()
	o, err := parseOptions(args)
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := newAgent(o, outW, io.Discard, environment(dir))
	signals := make(chan os.Signal)
	c := &client{t: t, in: inW, lines: make(chan string, unread), ended: make(chan int, 1)}
	go func() {
		code := a.serve(inR, signals)
		outW.Close()
		c.ended <- code
	}()
	c.watch(outR)
	return c, a, signals
}

// silent fails the test unless the agent is alive and has nothing to say.
func (c *client) silent(when string) {
	c.t.Helper()
	synctest.Wait()
	select {
	case line, more := <-c.lines:
		if more {
			c.t.Errorf("%s: the agent said %s", when, line)
		}
	default:
	}
	if len(c.ended) != 0 {
		c.t.Errorf("%s: the agent has ended", when)
	}
}

// Deltas leave when they are made, not when there are many of them.
func TestSlow_DeltasComeWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := serve(t, t.TempDir())
		s := c.open()
		begin := time.Now()
		c.prompt(s, "1", "[[slow 3 1500]] [[late 700]] [[late 200]]")
		var got []string
		for range 6 {
			line, _ := c.next()
			what := "answer"
			for _, word := range []string{"word1", "word2", "word3", "(late)"} {
				if strings.Contains(line, word) {
					what = word
				}
			}
			got = append(got, fmt.Sprint(what, " ", time.Since(begin)))
		}
		want := []string{"word1 0s", "word2 1.5s", "word3 3s", "answer 3s", "(late) 3.2s", "(late) 3.7s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deltas (-want +got):\n%s", diff)
		}
	})
}

// S9.4: every wait has an end, also that for a client that owes an answer.
func TestS9_4_CancelledTurnEndsWithoutTheClientsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := serve(t, t.TempDir())
		s := c.open()
		c.prompt(s, "1", "[[asks 2]]")
		c.until(`"id":2,"method"`)
		c.silent("while the requests are open")
		c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + s + `"}}`)
		c.send(`{"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"cancelled"}}}`)
		begin := time.Now()
		lines := c.until(`"stopReason":"cancelled"`)
		if got := time.Since(begin); got != answerGrace {
			t.Errorf("it took %v; want %v", got, answerGrace)
		}
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "permission 1: cancelled") || !strings.Contains(all, "permission 2: cancelled") {
			t.Errorf("it said %s; want both cancelled", all)
		}
		c.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
		c.prompt(s, "3", "still there")
		c.until(`"id":3,"result"`)
	})
}

func TestHang_IgnoresAllButItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := serve(t, t.TempDir())
		s := c.open()
		c.prompt(s, "1", "[[chunks 1]] [[hang]]")
		c.until("word1")
		synctest.Wait() // until it hangs
		c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + s + `"}}`)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
		c.send(`not json`)
		c.silent("hanging")
		c.in.Close()
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d; want 0", code)
		}
	})
}

func TestStubborn_OutlivesInputAndSignals(t *testing.T) {
	for name, begin := range map[string]func(c *client){
		"flag": func(*client) {},
		"hang": func(c *client) { c.prompt(c.open(), "1", "[[hang hard]]") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var args []string
				if name == "flag" {
					args = []string{"--stubborn"}
				}
				c, a, signals := serve(t, t.TempDir(), args...)
				begin(c)
				synctest.Wait()
				signals <- syscall.SIGTERM
				c.silent("after SIGTERM")
				c.in.Close()
				c.silent("after the end of input")
				signals <- syscall.SIGTERM
				c.silent("after both")
				a.quit(9)
				if code := c.exit(); code != 9 {
					t.Errorf("exit code %d; want 9", code)
				}
			})
		})
	}
}

func TestDrop_ClosesItsOutputAndLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, _, _ := serve(t, dir)
		s := c.open()
		c.prompt(s, "1", "#kept [[chunks 1]] [[drop]] [[chunks 1]]")
		c.until("word1")
		if line, more := c.next(); more {
			t.Errorf("it said %s after [[drop]]", line)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
		synctest.Wait()
		if len(c.ended) != 0 {
			t.Error("it ended with its output")
		}
		c.in.Close()
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d; want 0", code)
		}
	})
}

// S13: an agent that never answers initialize, in two ways.
func TestSilentAndGarbage_AnswerNothing(t *testing.T) {
	for flag, want := range map[string]int{"--silent": 0, "--garbage": 3} {
		synctest.Test(t, func(t *testing.T) {
			c, _, _ := serve(t, t.TempDir(), flag)
			for range want {
				if line, _ := c.next(); json.Valid([]byte(line)) {
					t.Errorf("%s says %s", flag, line)
				}
			}
			c.send(openV1)
			c.silent(flag)
			c.in.Close()
			if code := c.exit(); code != 0 {
				t.Errorf("%s: exit code %d; want 0", flag, code)
			}
		})
	}
}

// The end of input ends the process at once, whatever a turn is doing, and the
// turn leaves its prompt and no reply.
func TestEndOfInput_InATurn(t *testing.T) {
	for _, tt := range []struct{ prompt, until string }{
		{"[[chunks 1]] [[wait]]", "word1"},
		{"[[slow 2 3600000]]", "word1"},
		{"[[ask]]", "request_permission"},
		{"[[asks 3]]", `"id":3,`},
		{"[[read /x]]", "fs/read_text_file"},
		{"[[sh x]]", "terminal/create"},
		{"[[chunks 1]] [[late 3600000]]", `"stopReason"`},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				c, _, _ := serve(t, dir)
				s := c.open()
				c.prompt(s, "1", tt.prompt)
				c.until(tt.until)
				begin := time.Now()
				c.in.Close()
				if code := c.exit(); code != 0 || time.Since(begin) != 0 {
					t.Errorf("exit code %d after %v; want 0 at once", code, time.Since(begin))
				}
				file, err := os.ReadFile(filepath.Join(dir, s+".jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				late := strings.Contains(tt.prompt, "late")
				if !strings.Contains(string(file), `"prompt"`) || strings.Contains(string(file), `"reply"`) != late {
					t.Errorf("the session holds %s", file)
				}
			})
		})
	}
}

// chunked records what is written and how.
type chunked struct {
	mu     sync.Mutex
	writes []string
}

func (w *chunked) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, string(b))
	return len(b), nil
}

// run plays lines to Main and returns the writes, and the exit code.
func run(t *testing.T, dir string, stderr io.Writer, ready string, lines func(session string) []string) ([]string, int) {
	t.Helper()
	r, w := io.Pipe()
	out := &chunked{}
	first := make(chan string, 1)
	go func() {
		io.WriteString(w, openV1+"\n"+`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`+"\n")
		for _, line := range lines(<-first) {
			io.WriteString(w, line+"\n")
		}
	}()
	tee := io.MultiWriter(out, writerFunc(func(b []byte) {
		if bytes.Contains(b, []byte(`"id":"n"`)) {
			first <- sessionIn(string(b))
		}
		if ready != "" && bytes.Contains(b, []byte(ready)) {
			go w.Close() // not from within the agent's own write
		}
	}))
	code := Main(nil, r, tee, stderr, environment(dir))
	w.Close()
	return out.writes, code
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestHalf_AHalfLineIsTheLast(t *testing.T) {
	writes, code := run(t, t.TempDir(), io.Discard, "", func(s string) []string { return []string{promptLine(s, "1", "[[chunks 1]] [[half]] [[chunks 1]]")} })
	last := writes[len(writes)-1]
	if code != 1 || strings.Contains(last, "\n") || !strings.HasPrefix(last, `{"jsonrpc":"2.0","method":"session/update"`) || strings.HasSuffix(last, "}") {
		t.Errorf("the last write is %q, exit code %d; want half a line and 1", last, code)
	}
	if !strings.Contains(writes[len(writes)-2], "word1") {
		t.Errorf("before it came %q; want the delta", writes[len(writes)-2])
	}
}

// One write a line, whole, however long: a slow reader must see each as it comes.
func TestWrites_OneALine(t *testing.T) {
	const big = 3 << 20
	var stderr bytes.Buffer
	writes, code := run(t, t.TempDir(), &stderr, `"id":2,`, func(s string) []string {
		return []string{promptLine(s, "1", fmt.Sprintf("[[stderr 100001]] [[big %d]] [[chunks 50]] [[noise]]", big)), promptLine(s, "2", strings.Repeat("y", big))}
	})
	if code != 0 {
		t.Errorf("exit code %d; want 0", code)
	}
	longest := 0
	for _, w := range writes {
		if strings.Count(w, "\n") != 1 || !strings.HasSuffix(w, "\n") {
			t.Errorf("one write is %.100q, of %d bytes", w, len(w))
		}
		longest = max(longest, len(w))
	}
	if longest < big || longest > big+1000 {
		t.Errorf("the longest write has %d bytes; want the delta of %d", longest, big)
	}
	if n := stderr.Len(); n != 100_001 || !strings.HasSuffix(stderr.String(), "\n") {
		t.Errorf("standard error got %d bytes; want 100001, ending a line", n)
	}
}

func TestExit_Code(t *testing.T) {
	writes, code := run(t, t.TempDir(), io.Discard, "", func(s string) []string { return []string{promptLine(s, "1", "[[exit 7]]")} })
	if code != 7 || len(writes) != 2 {
		t.Errorf("exit code %d after %q; want 7 and nothing about the turn", code, writes)
	}
}

// A place that cannot hold sessions is an answer, not an exit.
func TestStore_TroubleIsAnswered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"set AGENTOS_SCRIPTED_DIR": "", "not a directory": file} {
		c := start(t, dir)
		c.send(openV1)
		c.until(`"id":"i"`)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		if got := c.until(`"id":1`)[0]; !strings.Contains(got, `"code":-32603`) || !strings.Contains(got, name) {
			t.Errorf("session/new: %s; want an internal error that says %q", got, name)
		}
	}
}

// A turn whose reply cannot be stored fails: the next process would not know it.
func TestStore_LostReplyFailsTheTurn(t *testing.T) {
	dir := t.TempDir()
	c := start(t, dir)
	s := c.open()
	c.prompt(s, "1", "[[chunks 1]] [[ask bare]]")
	c.until("request_permission")
	path := filepath.Join(dir, s+".jsonl")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	lines := c.until(`"id":1,`)
	if got := lines[len(lines)-1]; !strings.Contains(got, `"code":-32603`) {
		t.Errorf("the answer is %s; want an internal error", got)
	}
	c.prompt(s, "2", "x")
	if got := c.until(`"id":2,`)[0]; !strings.Contains(got, `"code":-32603`) {
		t.Errorf("the next prompt is answered %s; want an internal error", got)
	}
}

func TestSessions_RunAtTheSameTime(t *testing.T) {
	c := start(t, t.TempDir())
	first, second := c.open(), c.another()
	c.prompt(first, "1", "#first [[ask bare]]")
	c.until(`"id":1,"method"`)
	c.prompt(second, "2", "#second")
	lines := c.until(`"id":2,"result"`)
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "I have seen #second.") || strings.Contains(all, first) {
		t.Errorf("the second session said %s", all)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	if all := strings.Join(c.until(`"id":1,"result"`), "\n"); !strings.Contains(all, "I have seen #first.") || strings.Contains(all, second) {
		t.Errorf("the first session said %s", all)
	}
}

func TestList_Pages(t *testing.T) {
	c := start(t, t.TempDir())
	made := map[string]bool{c.open(): true}
	for range pageSize {
		made[c.another()] = true
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cwd":"/work dir"}}`)
	first := c.until(`"id":1,`)[0]
	if !strings.HasSuffix(first, `"nextCursor":"50"}}`) {
		t.Errorf("the first page ends %.60s; want a cursor", first[len(first)-60:])
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cwd":"/work dir","cursor":"50"}}`)
	second := c.until(`"id":2,`)[0]
	if strings.Contains(second, "nextCursor") {
		t.Errorf("the last page has a cursor: %s", second)
	}
	for _, id := range sessionID.FindAllString(first+second, -1) {
		if !made[id] {
			t.Errorf("%s is listed twice or was never made", id)
		}
		delete(made, id)
	}
	if len(made) != 0 {
		t.Errorf("%d sessions are not listed", len(made))
	}
}
