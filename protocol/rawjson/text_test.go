package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
)

func TestString_AgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.OneOf(stringText(), loneSurrogates()).Draw(t, "raw"))
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := rawjson.String(raw); got != want || !ok {
			t.Fatalf("String(%s) = %q, %t; want %q", raw, got, ok, want)
		}
		if !rawjson.IsString(raw, want) || rawjson.IsString(raw, want+"x") || rawjson.IsString(raw, "x"+want) {
			t.Fatalf("IsString(%s) is wrong for %q", raw, want)
		}
		if inner := rawjson.Inner(raw); `"`+string(inner)+`"` != string(raw) {
			t.Fatalf("Inner(%s) = %s", raw, inner)
		}
	})
}

func TestString_NotAString(t *testing.T) {
	for _, s := range []string{"", `"`, "1", "null", `a"`, `"a`, `"\x"`, `"\u12"`, `"\"`, "[]"} {
		if got, ok := rawjson.String([]byte(s)); ok {
			t.Errorf("String(%q) = %q; want none", s, got)
		}
		if rawjson.IsString([]byte(s), "") {
			t.Errorf("IsString(%q) = true", s)
		}
	}
	if s, ok := rawjson.String([]byte(` "a" `)); s != "a" || !ok {
		t.Errorf("String with white space = %q, %t; want a", s, ok)
	}
	if rawjson.Inner([]byte(`""`)) == nil {
		t.Error("Inner of an empty string = nil; want empty")
	}
}

func TestAppendString_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		raw := rawjson.AppendString([]byte("x"), s)[1:]
		fixed, _ := rawjson.Repair([]byte(s))
		if got := twin.Canonical(raw); string(raw) != got {
			t.Fatalf("AppendString(%q) = %s; want %s", s, raw, got)
		}
		var back string
		if err := json.Unmarshal(raw, &back); err != nil || back != string(fixed) {
			t.Fatalf("decoded = %q, %v; want %q", back, err, fixed)
		}
	})
}

func TestAppendString_EscapesOnlyWhatJSONRequires(t *testing.T) {
	const in = "<&>\u2028\u2029\x7f/'é😀" + "\"\\\b\f\n\r\t\x00\x1f"
	const want = "\"<&>\u2028\u2029\x7f/'é😀" + `\"\\\b\f\n\r\t\u0000\u001f"`
	if got := string(rawjson.AppendString(nil, in)); got != want {
		t.Errorf("AppendString = %s; want %s", got, want)
	}
}

func TestAppendCanonical_S6_8(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"white space", " { \"b\" : [ 1 ,\n2 ] ,\t\"a\" : null } ", `{"b":[1,2],"a":null}`},
		{"order and duplicates", `{"b":1,"a":2,"b":3}`, `{"b":1,"a":2,"b":3}`},
		{"numbers as spelled", `[1.10,-0,1E+2,9007199254740993]`, `[1.10,-0,1E+2,9007199254740993]`},
		{"needless escapes", `"\u0041\/\u00e9\u2028\ud83d\uDE00\u007f"`, "\"A/é\u2028😀\x7f\""},
		{"short escapes", `"\u0008\u0009\u000A\u000c\u000D\u0022\u005C"`, `"\b\t\n\f\r\"\\"`},
		{"other controls in lower case", `"\u0000\u001F\u000B"`, `"\u0000\u001f\u000b"`},
		{"lone surrogates stay escapes", `"\uD83D \uDE00\uD83Dx\uD83D\uD83D\uDE00"`, `"\ud83d \ude00\ud83dx\ud83d😀"`},
		{"keys too", `{"\u0061 b":1}`, `{"a b":1}`},
		{"white space in strings", `" a\n "`, `" a\n "`},
	} {
		if got := string(rawjson.AppendCanonical(nil, []byte(c.in))); got != c.want {
			t.Errorf("%s: AppendCanonical(%s) = %s; want %s", c.name, c.in, got, c.want)
		}
	}
}

func TestAppendCanonical_S6_8_AgreesWithTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(jsonText(4).Draw(t, "raw"))
		got := rawjson.AppendCanonical([]byte("x"), raw)[1:]
		if want := twin.Canonical(raw); string(got) != want {
			t.Fatalf("AppendCanonical(%q) = %s; want %s", raw, got, want)
		}
		if again := rawjson.AppendCanonical(nil, got); !bytes.Equal(again, got) {
			t.Fatalf("canonical of %s = %s", got, again)
		}
	})
}

// The examples of the Unicode standard for the replacement of ill-formed text.
func TestRepair_S4_3_UnicodeExamples(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "????????A"},
		{"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "????????A"},
		{"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "?????A??B"},
		{"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "????A"},
		{"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a???b?c??d"},
		{"\xE2\x89", "?"},
		{"ok", "ok"},
	} {
		got, n := rawjson.Repair([]byte(c.in))
		want := strings.ReplaceAll(c.want, "?", "\uFFFD")
		if string(got) != want || n != strings.Count(c.want, "?") {
			t.Errorf("Repair(%q) = %q, %d; want %q", c.in, got, n, want)
		}
		if cap(got) > len(got) && n > 0 {
			t.Errorf("Repair(%q) holds %d bytes for %d", c.in, cap(got), len(got))
		}
	}
}

func TestRepair_S4_3_Property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]byte("a\x80\xbf\xc2\xe0\xe2\x89\xa4\xed\xa0\xf0\x9f\x98\x80\xf4\xff")), rapid.Byte())).Draw(t, "in")
		got, n := rawjson.Repair(in)
		if !utf8.Valid(got) {
			t.Fatalf("Repair(%q) = %q is not UTF-8", in, got)
		}
		if more := bytes.Count(got, []byte("\uFFFD")) - bytes.Count(in, []byte("\uFFFD")); more != n {
			t.Fatalf("Repair(%q) put in %d and counted %d", in, more, n)
		}
		strip := func(b []byte) string { return strings.ReplaceAll(strings.ToValidUTF8(string(b), ""), "\uFFFD", "") }
		if strip(got) != strip(in) {
			t.Fatalf("Repair(%q) = %q lost text", in, got)
		}
	})
}

func TestAppendLine(t *testing.T) {
	in := "{\r\n \"a\\n\":\t1}"
	if got := string(rawjson.AppendLine([]byte("\n"), []byte(in))); got != "\n{   \"a\\n\":\t1}" {
		t.Errorf("AppendLine = %q", got)
	}
	if rawjson.OneLine([]byte(in)) || !rawjson.OneLine([]byte(`"\n"`)) {
		t.Error("OneLine is wrong")
	}
}

// updateOf returns a session/update line whose text has size bytes.
func updateOf(size int) []byte {
	text := strings.Repeat("All work and no play, \\\"he\\\" said.\\n", size/36+1)
	return []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"4a504473-7c30-4b30-91a7-edbed80a7940",` +
		`"update":{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"` + text + `"}}}}`)
}

func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 1 << 20} {
		text := updateOf(size)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := rawjson.Check(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	text := updateOf(1 << 10)
	var out []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		out = rawjson.AppendCanonical(out[:0], text)
	}
}
