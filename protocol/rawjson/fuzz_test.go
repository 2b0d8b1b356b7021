package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"testing"
	"unicode/utf8"

	"agentos/protocol"
	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
	"agentos/protocol/testdata/wire"
)

// FuzzCheck holds the border to encoding/json: valid is the same, an error is at
// the same byte, and depth is what a count of brackets says.
func FuzzCheck(f *testing.F) {
	for _, l := range wire.Lines() {
		f.Add(l.Text)
	}
	for _, s := range []string{"", "{}", " [ 1e-7 , -0.5E+3 ] ", `{"a":[1,2.5e-3,"\ud83d"]}`, "[[[]]]", `{"a":1,}`, "\"\x00\"", "-", `"\u00`, `"\u12G4"`,
		`{"a"`, `{"a":`, "trux", "nul", "01", "\ufeff1", "\"\xff\"", "\"12345678\x1f2345678\"", string(nest("[", "", "]", 1000)), string(nest(`{"a":[`, "1", "]}", 501))} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkAgrees(t, b)
		// Nothing may panic or read outside, on whatever it is given.
		for m := range rawjson.Prefix(b) {
			wantAt(t, b, m)
			m.Is("a")
			m.IsAny([]string{"a", "b"})
		}
		for e := range rawjson.Elements(b) {
			rawjson.Int(e)
		}
		rawjson.String(b)
		rawjson.Unescape(b)
		rawjson.Kind(b)
		rawjson.AppendCanonical(nil, b)
		checkRepair(t, b)
		checkWritten(t, string(b))
	})
}

// checkAgrees compares Check with encoding/json, which goes down 10,000 levels.
func checkAgrees(t *testing.T, b []byte) {
	t.Helper()
	err := rawjson.Check(b)
	var deep *rawjson.DepthError
	if errors.As(err, &deep) {
		if c := b[deep.At]; c != '[' && c != '{' {
			t.Fatalf("Check(%q) is too deep at %q", b, c)
		}
		if got := twin.Depth(b[:deep.At+1]); got != protocol.MaxJSONDepth+1 {
			t.Fatalf("Check(%q) is too deep at %d levels", b, got)
		}
		return
	}
	if err == nil {
		if !json.Valid(b) || twin.Depth(b) > protocol.MaxJSONDepth {
			t.Fatalf("Check(%q) = nil; json.Valid = %t at %d levels", b, json.Valid(b), twin.Depth(b))
		}
		return
	}
	var got *rawjson.SyntaxError
	if !errors.As(err, &got) {
		t.Fatalf("Check(%q) = %v; want a SyntaxError", b, err)
	}
	var v json.RawMessage
	var want *json.SyntaxError
	if !errors.As(json.Unmarshal(b, &v), &want) {
		t.Fatalf("Check(%q) = %v; encoding/json has no objection", b, err)
	}
	// encoding/json counts the byte it did not like, but for the end.
	if at := int(want.Offset) - 1; got.At != at && (got.At != len(b) || int(want.Offset) != len(b)) {
		t.Fatalf("Check(%q) = %v; encoding/json: %v at byte %d", b, err, want, at)
	}
}

func wantAt(t *testing.T, b []byte, m rawjson.Member) {
	t.Helper()
	if !bytes.HasPrefix(b[m.KeyAt:], m.Key) || !bytes.HasPrefix(b[m.ValueAt:], m.Value) {
		t.Fatalf("offsets of %+v are wrong in %q", m, b)
	}
	if cap(m.Key) != len(m.Key) || cap(m.Value) != len(m.Value) {
		t.Fatalf("a member of %q reaches past its end", b)
	}
}

// checkRepair: what was text is kept, what was none is counted and replaced. How
// much of it is one piece is for the examples of the standard.
func checkRepair(t *testing.T, b []byte) {
	t.Helper()
	fixed, n := rawjson.Repair(b)
	if !utf8.Valid(fixed) || (n == 0) != utf8.Valid(b) || n == 0 && !bytes.Equal(fixed, b) {
		t.Fatalf("Repair(%q) = %q, %d", b, fixed, n)
	}
	if more := bytes.Count(fixed, []byte("\uFFFD")) - bytes.Count(b, []byte("\uFFFD")); more != n {
		t.Fatalf("Repair(%q) put in %d and counted %d", b, more, n)
	}
	kept := func(b []byte) string {
		return string(bytes.ReplaceAll(bytes.ToValidUTF8(b, nil), []byte("\uFFFD"), nil))
	}
	if kept(fixed) != kept(b) {
		t.Fatalf("Repair(%q) = %q lost text", b, fixed)
	}
}

// checkWritten reads back what is written of any text.
func checkWritten(t *testing.T, s string) {
	t.Helper()
	raw := rawjson.AppendString([]byte("x"), s)[1:]
	fixed, _ := rawjson.Repair([]byte(s))
	var want string
	if err := json.Unmarshal(raw, &want); err != nil || want != string(fixed) || !rawjson.OneLine(raw) {
		t.Fatalf("AppendString(%q) = %s, read as %q, %v", s, raw, want, err)
	}
	if canonical := twin.Canonical(raw); canonical != string(raw) {
		t.Fatalf("AppendString(%q) = %s; want the canonical %s", s, raw, canonical)
	}
}

// FuzzScan takes valid JSON apart, all of it, and compares each piece and its
// place with the twin. Then it cuts the text off somewhere.
func FuzzScan(f *testing.F) {
	for i, l := range wire.Lines() {
		f.Add(l.Text, uint(i*37))
	}
	for _, s := range []string{`[]`, ` { "a" : 1 , "\u0061":[ 2 , {} ],"a":"\ud83d" } `, `{"\ud83d\ude00":"\uD83D\uDE00\ude00","":{"":[[],{}]}}`,
		`"\"\\\/\b\f\n\r\t\u0000"`, "[1.10,-0,9223372036854775807,-9223372036854775809,1e2]", "{\"\u2028\":\"\\\\\",\"b\\\\\":\"\\\\\\\"\"}"} {
		f.Add([]byte(s), uint(len(s)/2))
	}
	for _, s := range []string{`{"a":12}`, `{"a":"x"}`, `{"a":[]}`, `{"\u001f":"\ud83d\u0041\ude00"}`, `{"a":"\ud83dxude00"}`} {
		for cut := range s {
			f.Add([]byte(s), uint(cut))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint) {
		if len(b) > 32<<10 || !utf8.Valid(b) || !json.Valid(b) || twin.Depth(b) > 100 {
			return // a level more costs the twin the whole text once more
		}
		checkValue(t, b)
		checkCanonical(t, b)
		checkLine(t, b)
		checkCut(t, b, b[:cut%uint(len(b)+1)])
	})
}

// checkValue compares a value and all that is in it with the twin.
func checkValue(t *testing.T, b []byte) {
	t.Helper()
	trimmed := bytes.Trim(b, " \t\r\n")
	var got []twin.Entry
	from := 0
	for m := range rawjson.Members(b) {
		wantAt(t, b, m)
		name := m.Name()
		if !m.Is(name) || m.Is(name+"x") || !m.IsAny([]string{"x" + name, name}) || m.IsAny([]string{name + "x"}) {
			t.Fatalf("Is and IsAny of %q are wrong for %q", m.Key, name)
		}
		if want := twin.Get(b, name); string(mustGet(t, b, name)) != string(want) {
			t.Fatalf("Get(%q, %q) = %q; want %q", b, name, mustGet(t, b, name), want)
		}
		got = append(got, twin.Entry{Key: name, Spelled: string(m.Key), Value: string(m.Value), At: m.ValueAt})
		checkString(t, m.Key)
		checkValue(t, m.Value)
	}
	for e := range rawjson.Elements(b) {
		at := from + bytes.Index(b[from:], e)
		for from = at + len(e); from < len(b) && b[from] != ','; from++ {
		}
		got = append(got, twin.Entry{Value: string(e), At: at})
		if cap(e) != len(e) {
			t.Fatalf("an element of %q reaches past its end", b)
		}
		checkValue(t, e)
	}
	want := twin.Entries(b)
	if len(got) != len(want) {
		t.Fatalf("%q has %d pieces; want %d", b, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("piece %d of %q is %+v; want %+v", i, b, got[i], want[i])
		}
	}
	first := trimmed[0]
	if first == '-' || '0' <= first && first <= '9' {
		first = '0'
	}
	if got := rawjson.Kind(b); got != first {
		t.Fatalf("Kind(%q) = %q; want %q", b, got, first)
	}
	checkString(t, b)
	checkInt(t, b, trimmed)
}

func mustGet(t *testing.T, b []byte, name string) []byte {
	t.Helper()
	v, ok := rawjson.Get(b, name)
	if !ok {
		t.Fatalf("Get(%q, %q) finds nothing", b, name)
	}
	return v
}

func checkString(t *testing.T, b []byte) {
	t.Helper()
	want, is := twin.String(b)
	if got, ok := rawjson.String(b); ok != is || got != want {
		t.Fatalf("String(%q) = %q, %t; want %q, %t", b, got, ok, want, is)
	}
	if rawjson.IsString(b, want) != is || rawjson.IsString(b, want+"x") || is && len(want) > 0 && rawjson.IsString(b, want[1:]) {
		t.Fatalf("IsString(%q) is wrong for %q", b, want)
	}
	inner := rawjson.Inner(b)
	if (inner != nil) != is || is && `"`+string(inner)+`"` != string(bytes.Trim(b, " \t\r\n")) {
		t.Fatalf("Inner(%q) = %q", b, inner)
	}
}

// checkInt compares with numbers of any size: what is spelled with digits alone
// and fits.
func checkInt(t *testing.T, b, trimmed []byte) {
	t.Helper()
	got, ok := rawjson.Int(b)
	n, is := new(big.Int).SetString(string(trimmed), 10)
	is = is && n.IsInt64()
	if ok != is || is && got != n.Int64() {
		t.Fatalf("Int(%q) = %d, %t; want %v, %t", b, got, ok, n, is)
	}
}

func checkCanonical(t *testing.T, b []byte) {
	t.Helper()
	got := rawjson.AppendCanonical([]byte("x"), b)[1:]
	if want := twin.Canonical(b); string(got) != want {
		t.Fatalf("AppendCanonical(%q) = %s; want %s", b, got, want)
	}
	if again := rawjson.AppendCanonical(nil, got); !bytes.Equal(again, got) {
		t.Fatalf("canonical of canonical %q is %q", got, again)
	}
}

// checkLine makes a line of any value: the same value, of the same length.
func checkLine(t *testing.T, b []byte) {
	t.Helper()
	got := rawjson.AppendLine([]byte("\n"), b)[1:]
	if !rawjson.OneLine(got) || len(got) != len(b) || twin.Canonical(got) != twin.Canonical(b) {
		t.Fatalf("AppendLine(%q) = %q", b, got)
	}
}

// checkCut compares the beginning of an object with the object: what is whole
// is the same, and nothing is made up.
func checkCut(t *testing.T, b, cut []byte) {
	t.Helper()
	var whole, left []rawjson.Member
	for m := range rawjson.Members(b) {
		whole = append(whole, m)
	}
	for m := range rawjson.Prefix(cut) {
		wantAt(t, cut, m)
		left = append(left, m)
	}
	for i, m := range left {
		if i == len(whole) || !bytes.Equal(m.Key, whole[i].Key) || m.KeyAt != whole[i].KeyAt {
			t.Fatalf("member %d of %q is not one of %q", i, cut, b)
		}
		if m.Value == nil && i < len(left)-1 {
			t.Fatalf("member %d of %q has no value and is not the last", i, cut)
		}
		if m.Value != nil && !bytes.Equal(m.Value, whole[i].Value) {
			t.Fatalf("member %d of %q is %q; want %q", i, cut, m.Value, whole[i].Value)
		}
	}
	// A member is lost only if the cut comes before it could be seen whole.
	for i, m := range whole {
		end := m.ValueAt + len(m.Value)
		if end < len(cut) && (i >= len(left) || left[i].Value == nil) {
			t.Fatalf("Prefix(%q) has no member %d, %q", cut, i, m.Key)
		}
	}
}
