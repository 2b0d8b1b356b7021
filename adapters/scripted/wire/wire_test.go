package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/adapters/scripted/wire"
)

func TestReadLine_Limits(t *testing.T) {
	type result struct {
		Line string
		Err  string
	}
	const limit = 5
	for _, tt := range []struct {
		name, in string
		want     []result
	}{
		{"empty", "", nil},
		{"lines", "ab\n\ncd\r\n", []result{{Line: "ab"}, {Line: ""}, {Line: "cd\r"}}},
		{"last without newline", "ab\ncd", []result{{Line: "ab"}, {Line: "cd"}}},
		{"as long as may be", "12345\n12345", []result{{Line: "12345"}, {Line: "12345"}}},
		{"longer is skipped", "123456\nab\n", []result{{Err: "line too long"}, {Line: "ab"}}},
		{"longer at the end", "ab\n" + strings.Repeat("x", 100), []result{{Line: "ab"}, {Err: "line too long"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The smallest buffer there is, so that every line is read in pieces.
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(tt.in)), 16)
			var got []result
			for {
				line, err := wire.ReadLine(r, limit)
				if errors.Is(err, io.EOF) {
					break
				}
				one := result{Line: string(line)}
				if err != nil {
					one.Err = err.Error()
				}
				got = append(got, one)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadLine_TakesWhatTheRuntimeMaySend(t *testing.T) {
	if wire.MaxLineBytes < 128<<20 {
		t.Errorf("MaxLineBytes = %d; a prompt of 64 MiB with every byte escaped must fit", wire.MaxLineBytes)
	}
}

// writes records each Write.
type writes struct {
	mu    sync.Mutex
	calls []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, string(b))
	return len(b), nil
}

func TestConn_OneWriteAMessage(t *testing.T) {
	w := &writes{}
	c := wire.New(w, false)
	c.Answer(json.RawMessage(`"a\u0041"`), `{ "x":1.0 }`)
	c.Refuse(nil, wire.Errorf(wire.CodeParse, "bad <%s>", "&"))
	c.Refuse(json.RawMessage(`7`), &wire.Error{Code: 1, Message: "m", Data: json.RawMessage(`{"a" : 1}`)})
	c.Notify("m", `[]`)
	c.Update("s", `{"a" : "\u003c", "a":9007199254740993}`)
	c.Line("noise")
	want := []string{
		`{"jsonrpc":"2.0","id":"a\u0041","result":{ "x":1.0 }}` + "\n",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad <&>"}}` + "\n",
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m","data":{"a" : 1}}}` + "\n",
		`{"jsonrpc":"2.0","method":"m","params":[]}` + "\n",
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"a" : "\u003c", "a":9007199254740993}}}` + "\n",
		"noise\n",
	}
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

func TestConn_AnswersFindTheirRequests(t *testing.T) {
	for _, stringIDs := range []bool{false, true} {
		w := &writes{}
		c := wire.New(w, stringIDs)
		first, second, third := c.Request("m", `{}`), c.Request("m", `{}`), c.Request("m", `{}`)
		c.Forget(third)
		deliver := func(line string) {
			m, err := wire.Parse([]byte(line))
			if err != nil {
				t.Fatalf("Parse(%s) = %v", line, err)
			}
			c.Deliver(m)
		}
		deliver(`{"id":` + second.ID + `,"error":{"code":-5,"message":"no","data":[1]}}`)
		deliver(`{"id":` + first.ID + `,"result": {"a" : 1}}`)
		deliver(`{"id":` + first.ID + `,"result":"again"}`)
		deliver(`{"id":` + third.ID + `,"result":1}`)
		deliver(`{"id":null,"error":{"code":1,"message":""}}`)
		if r := <-first.Reply; r.Err != nil || string(r.Result) != `{"a" : 1}` {
			t.Errorf("first reply = %+v; want the raw result", r)
		}
		if r := <-second.Reply; r.Err == nil || r.Err.Code != -5 || string(r.Err.Data) != "[1]" {
			t.Errorf("second reply = %+v; want the error", r)
		}
		if n := len(first.Reply) + len(second.Reply) + len(third.Reply); n != 0 {
			t.Errorf("%d answers too many were delivered", n)
		}
		if first.ID == second.ID {
			t.Errorf("two requests have the id %s", first.ID)
		}
		if got := strings.HasPrefix(first.ID, `"`); got != stringIDs {
			t.Errorf("id %s; want a string: %t", first.ID, stringIDs)
		}
	}
}

func TestConn_NothingAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*wire.Conn){
		"shut": func(c *wire.Conn) { c.Shut() },
		"half": func(c *wire.Conn) { c.Half("hal") },
		"drop": func(c *wire.Conn) {
			if err := c.Drop(); err != nil {
				t.Errorf("Drop = %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writes{}
			c := wire.New(w, false)
			c.Line("one")
			end(c)
			c.Line("two")
			got := strings.Join(w.calls, "")
			if want := map[string]string{"half": "one\nhal"}[name]; want != "" && got != want {
				t.Errorf("written %q; want %q", got, want)
			}
			if strings.Contains(got, "two") {
				t.Errorf("written %q after the end", got)
			}
		})
	}
}

func TestConn_FailedWriteShuts(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	c := wire.New(w, false)
	c.Line("lost")
	c.Line("not even tried") // would block or fail; it must return
}

// What Quote writes must be read back as the same text, by any JSON reader.
func TestQuote_ReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var back string
		if err := json.Unmarshal([]byte(wire.Quote(s)), &back); err != nil || back != s {
			t.Fatalf("Quote(%q) = %s, which reads back as %q, %v", s, wire.Quote(s), back, err)
		}
		if strings.ContainsAny(wire.Quote(s), "\n\r") {
			t.Fatalf("Quote(%q) breaks the line", s)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `{"id":"x","result":null}`, `{"id":null,"error":{}}`, `[]`, `[`, `{`, ``, `null`, `1`,
		`{"id":1.5,"method":"m"}`, `{"id":-1,"method":"m"}`, `{"id":{},"method":"m"}`, `{"method":1}`, "{\"id\":\"\xff\",\"method\":\"m\"}", ` {"id":1}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := wire.Parse(line)
		if err != nil {
			if !json.Valid([]byte(err.Object())) {
				t.Errorf("the error is not JSON: %s", err.Object())
			}
			return
		}
		if m.IsRequest() && m.IsResponse() {
			t.Errorf("%s is both request and response", line)
		}
		if m.IsRequest() {
			var out bytes.Buffer
			wire.New(&out, false).Answer(m.ID, "{}")
			if !json.Valid(out.Bytes()) {
				t.Errorf("the answer to %q is not JSON: %s", line, out.Bytes())
			}
		}
	})
}
