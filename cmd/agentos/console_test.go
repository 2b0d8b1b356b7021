package main

import (
	"strings"
	"testing"

	"agentos/cmd/agentos/transcript"
)

// What two streams print on one terminal: neither begins in a line of the other.
func TestStream_BesideAnother(t *testing.T) {
	var b strings.Builder
	out := &stream{w: &b}
	err := &stream{w: &b, beside: out}
	put := func(s *stream, text string) {
		t.Helper()
		if n, werr := s.Write([]byte(text)); n != len(text) || werr != nil {
			t.Fatalf("Write = %d, %v", n, werr)
		}
	}
	put(out, "word1 ")
	put(err, "a note\n")
	put(out, "word2\n")
	put(err, "another\n")
	put(out, "• runs"+transcript.Erase)
	put(err, "behind an erased line\n")
	put(out, "• runs")
	put(err, "\n")
	put(err, "behind one that is not\n")
	if got, want := b.String(), "word1 \na note\nword2\nanother\n• runs"+transcript.Erase+"behind an erased line\n• runs\nbehind one that is not\n"; got != want {
		t.Errorf("printed %q; want %q", got, want)
	}
}

// While a question is open stdout waits, notes do not, and nothing is lost.
func TestStream_Hold(t *testing.T) {
	var b strings.Builder
	out := &stream{w: &b}
	err := &stream{w: &b, beside: out}
	write := func(s *stream, text string) { _, _ = s.Write([]byte(text)) }
	write(out, "text")
	out.hold()
	b.WriteString("choose: ")
	out.prompted(true)
	write(out, "held ")
	write(err, "note\n")
	write(out, "too\n")
	if got, want := b.String(), "text\nchoose: \nnote\n"; got != want {
		t.Errorf("while it is held: %q; want %q", got, want)
	}
	out.release()
	write(out, "more\n")
	if got, want := b.String(), "text\nchoose: \nnote\nheld too\nmore\n"; got != want {
		t.Errorf("afterwards: %q; want %q", got, want)
	}
	b.Reset()
	out.hold()
	for range 3 {
		write(out, strings.Repeat("x", heldBytes/2))
	}
	out.release()
	if got, want := b.Len(), heldBytes/2*3; got != want {
		t.Errorf("%d bytes of more than may be held; want %d", got, want)
	}
}

func TestStyleFor_NotATerminal(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
	} {
		t.Setenv("CLICOLOR_FORCE", c.env["CLICOLOR_FORCE"])
		t.Setenv("NO_COLOR", c.env["NO_COLOR"])
		got := styleFor(nil)
		if got.Colour != c.want || got.Terminal || got.Erases || got.Width() != 0 {
			t.Errorf("%v: %+v; want colour %v and no terminal", c.env, got, c.want)
		}
	}
}

// A command to install something stays whole, where it has a line of its own.
func TestHowToInstall(t *testing.T) {
	long, short := "npm install -g @scope/an-agent-with-a-long-name@1.2.3", "pip install x"
	missing := []agentInfo{{Name: "one", Install: &long}, {Name: "three", Install: &short}}
	for width, want := range map[int]string{
		0:  "\nTO INSTALL\none    " + long + "\nthree  " + short + "\n",
		40: "\nTO INSTALL\none\n  " + long + "\nthree\n  " + short + "\n",
		80: "\nTO INSTALL\none    " + long + "\nthree  " + short + "\n",
	} {
		var b strings.Builder
		a := &app{console: &console{out: &stream{w: &b}, style: transcript.Style{Columns: func() int { return width }}}}
		a.howToInstall(missing)
		if b.String() != want {
			t.Errorf("%d columns: %q; want %q", width, b.String(), want)
		}
	}
}
