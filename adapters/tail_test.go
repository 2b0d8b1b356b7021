package adapters

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTailAgainstTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		tail := newTail(size)
		var all strings.Builder
		for _, piece := range rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("aé世 \n")), 0, 30, -1)).Draw(t, "pieces") {
			n, err := tail.Write([]byte(piece))
			if n != len(piece) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			all.WriteString(piece)
		}
		got, text := tail.String(), all.String()
		if !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
			t.Fatalf("tail %q is not whole characters", got)
		}
		if len(text) <= size && got != text {
			t.Fatalf("tail = %q; want all of %q", got, text)
		}
		if !strings.HasSuffix(text, got) || len(got) > size {
			t.Fatalf("tail = %q; want the end of %q, at most %d bytes", got, text, size)
		}
	})
}

func TestTailBeginsWhereASecretIsWhole(t *testing.T) {
	tests := map[string]struct {
		size       int
		text, want string
	}{
		"nothing lost":     {20, "key=abc\nx\n", "key=abc\nx\n"},
		"at a line":        {10, "key=abcdef\nnext\n", "next\n"},
		"at a word":        {10, "key=abcdef next", "next"},
		"one line, ended":  {12, "key=abcdef the end\n", "the end\n"},
		"no place to cut":  {4, "abcdefgh", "efgh"},
		"half a character": {4, "aaaé世", "世"},
		"no UTF-8":         {20, "a\xffb", "a\uFFFDb"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tail := newTail(tt.size)
			_, _ = tail.Write([]byte(tt.text))
			if got := tail.String(); got != tt.want {
				t.Errorf("tail of %q = %q; want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestNewestAndLastLine(t *testing.T) {
	if got := newest("one\ntwo\nthree\n", 10); got != "three\n" {
		t.Errorf("newest = %q; want the lines that fit", got)
	}
	if got := newest("世世世", 5); got != "世" {
		t.Errorf("newest = %q; want whole characters", got)
	}
	if got := lastLine("a\n  bad config \n\n"); got != "bad config" {
		t.Errorf("lastLine = %q", got)
	}
	if got := lastLine(" \n"); got != "" {
		t.Errorf("lastLine of nothing = %q", got)
	}
	if got := lastLine(strings.Repeat("世", 100)); !utf8.ValidString(got) || len(got) > 203 {
		t.Errorf("lastLine of a long line has %d bytes: %q", len(got), got)
	}
}
