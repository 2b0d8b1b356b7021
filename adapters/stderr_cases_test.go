//go:build linux

package adapters

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/protocol/jsonrpc"
)

func init() {
	fakes["torn"] = torn
	fakes["cut"] = func([]string) int { _, _ = os.Stderr.WriteString("ok \xe2\x89"); return 1 }
}

// torn answers initialize in a line that another one has got into, and then works.
func torn([]string) int {
	serve(func(r request) {
		if r.Method == "initialize" {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"meth{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\nod\":\"session/update\"}\n", r.ID)
			return
		}
		answer(r)
	})
	return 0
}

// TestFR06_AnswerThatWasDestroyed: a request whose answer cannot be read ends by
// its deadline, says that there were lines that could not be read, and the next
// request is answered.
func TestFR06_AnswerThatWasDestroyed(t *testing.T) {
	a := start(t, "torn")
	_, err := a.Request(t.Context(), "initialize", []byte("{}"), Patience{Silence: 200 * time.Millisecond, Max: 20 * time.Second})
	e := wantError(t, err, protocol.CodeACPTimeout, "initialize")
	if e.Details["unreadableLines"] != int64(2) {
		t.Errorf("details = %v; want two lines that could not be read", e.Details)
	}
	if r, err := a.ask("session/new"); err != nil || string(r.Result) != `"session/new"` {
		t.Errorf("the next request = %s, %v", r.Result, err)
	}
	if n := a.Peer().Stats().Of(jsonrpc.Junk); n != 2 {
		t.Errorf("%d lines were counted; want 2", n)
	}
}

// TestLP06_TheNewestWholeCharacters: of a text that does not fit the newest part is kept,
// in whole characters, whatever the size.
func TestLP06_TheNewestWholeCharacters(t *testing.T) {
	kept := newTail(5)
	_, _ = kept.Write([]byte("ééé"))
	if got := kept.String(); got != "éé" {
		t.Errorf("5 bytes of ééé = %q; want éé", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 100).Draw(t, "size")
		char := rapid.SampledFrom([]string{"é", "≤", "😀", "a"}).Draw(t, "char")
		n := rapid.IntRange(0, 200).Draw(t, "chars")
		kept := newTail(size)
		for text := strings.Repeat(char, n); text != ""; {
			cut := min(len(text), rapid.IntRange(1, 7).Draw(t, "piece"))
			_, _ = kept.Write([]byte(text[:cut]))
			text = text[cut:]
		}
		if got, want := kept.String(), strings.Repeat(char, min(n, size/len(char))); got != want {
			t.Fatalf("%d bytes of %d times %s = %q; want %q", size, n, char, got, want)
		}
	})
}

// TestUN01_AnUnfinishedCharacter: what an agent was about to say when it ended is
// one replacement, not dropped.
func TestUN01_AnUnfinishedCharacter(t *testing.T) {
	a := start(t, "cut")
	_, err := a.ask("initialize")
	e := wantError(t, err, protocol.CodeAdapterExited, "exit code 1")
	if got := a.Exit().StderrTail; got != "ok \uFFFD" || !utf8.ValidString(got) || e.Details["stderr"] != "ok \uFFFD" {
		t.Errorf("tail = %q, details %v; want one replacement", got, e.Details)
	}
}
