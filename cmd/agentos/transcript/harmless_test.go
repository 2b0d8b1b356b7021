package transcript_test

import (
	"testing"

	"agentos/cmd/agentos/transcript"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n",
		"grüße 世界 👩‍👩‍👧 e\u0301": "grüße 世界 👩‍👩‍👧 e\u0301",
		"a\r\nb":                 "a\nb",
		"safe\rrm -rf":           "safe^Mrm -rf",
		"\x1b]52;c;aGk=\x07":     "^[]52;c;aGk=^G",
		"\x00\x7f\u0085\u009b2J": "^@^?<U+0085><U+009B>2J",
		"\u202egpj.exe\u2066":    "<U+202E>gpj.exe<U+2066>",
		"bad \xff byte":          "bad \uFFFD byte",
	} {
		if got := transcript.Text(in); got != want {
			t.Errorf("Text(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		" two\nlines\t": "two lines",
		"a\r\nb":        "a  b",
		"0123456789":    "0123456789",
		"0123456789x":   "012345678…",
		"世界世界世界世界世界世":   "世界世界世界世界世…",
		"\x1b[31m":      "^[[31m",
		"":              "",
	} {
		if got := transcript.Line(in, 10); got != want {
			t.Errorf("Line(%q) = %q; want %q", in, got, want)
		}
	}
}
