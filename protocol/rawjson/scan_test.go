package rawjson_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/twin"
)

func TestMembers_AgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(" " + jsonText(4).Draw(t, "text") + "\n")
		want := twin.Entries(b)
		var got []twin.Entry
		for m := range rawjson.Members(b) {
			if string(b[m.KeyAt:m.KeyAt+len(m.Key)]) != string(m.Key) || string(b[m.ValueAt:m.ValueAt+len(m.Value)]) != string(m.Value) {
				t.Fatalf("offsets of %+v are wrong in %q", m, b)
			}
			if !m.Is(m.Name()) || m.Is(m.Name()+"x") {
				t.Fatalf("Is(%q) is wrong for %q", m.Name(), m.Key)
			}
			if !m.IsAny([]string{"x", m.Name()}) || m.IsAny([]string{"x", m.Name() + "x"}) && m.Name() != "x" {
				t.Fatalf("IsAny of %q is wrong for %q", m.Name(), m.Key)
			}
			got = append(got, twin.Entry{Key: m.Name(), Spelled: string(m.Key), Value: string(m.Value), At: m.ValueAt})
		}
		for e := range rawjson.Elements(b) {
			if len(got) == len(want) {
				t.Fatalf("%q has more elements than %d", b, len(want))
			}
			got = append(got, twin.Entry{Value: string(e), At: want[len(got)].At})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: -want +got\n%s", b, diff)
		}
	})
}

func TestGet_LastDuplicateWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(jsonText(4).Draw(t, "text"))
		path := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "content", "A"}), 0, 3).Draw(t, "path")
		want, ok := b, true
		for _, name := range path {
			var m map[string]json.RawMessage
			if json.Unmarshal(want, &m) != nil || m[name] == nil {
				ok = false
				break
			}
			want = m[name]
		}
		got, gotOK := rawjson.Get(b, path...)
		if gotOK != ok || ok && string(got) != string(want) {
			t.Fatalf("Get(%q, %q) = %q, %t; want %q, %t", b, path, got, gotOK, want, ok)
		}
	})
}

func TestMember_IsComparesDecodedNames(t *testing.T) {
	for m := range rawjson.Members([]byte(`{"a\nb":1}`)) {
		if !m.Is("a\nb") || m.Is(`a\nb`) || !m.IsAny([]string{"a\nb"}) || m.IsAny([]string{`a\nb`}) {
			t.Error("a name was compared with the spelling of a key")
		}
	}
}

func TestPrefix_CutOff(t *testing.T) {
	const whole = `{"jsonrpc":"2.0", "id" : 3 ,"result":{"a":[1,"}"]},"x":tru`
	for _, c := range []struct{ in, want string }{
		{whole, `jsonrpc="2.0" id=3 result={"a":[1,"}"]} x=- `},
		{whole[:46], `jsonrpc="2.0" id=3 result=- `},
		{whole[:38], `jsonrpc="2.0" id=3 result=- `},
		{whole[:35], `jsonrpc="2.0" id=3 `},
		{whole[:25], `jsonrpc="2.0" id=- `},
		{whole[:21], `jsonrpc="2.0" `},
		{whole[:1], ""},
		{`{"a":}`, "a=- "},
		{`{"a":12`, "a=- "},
		{`{"a":12 `, "a=12 "},
		{`{"a":"x"`, "a=- "},
		{`{"a":1 "b":2}`, "a=1 "},
		{`["a"]`, ""},
		{"", ""},
	} {
		got, members := "", 0
		for m := range rawjson.Prefix([]byte(c.in)) {
			value := "-"
			if m.Value != nil {
				value = string(m.Value)
				members++
			}
			got += m.Name() + "=" + value + " "
		}
		if got != c.want {
			t.Errorf("Prefix(%q) = %q; want %q", c.in, got, c.want)
		}
		for range rawjson.Members([]byte(c.in)) {
			members--
		}
		if members != 0 {
			t.Errorf("Members(%q) has another number of whole members than Prefix", c.in)
		}
	}
}

func TestMembers_StopsWhenAsked(t *testing.T) {
	n := 0
	for range rawjson.Members([]byte(`{"a":1,"b":2}`)) {
		n++
		break
	}
	for range rawjson.Elements([]byte(`[1,2]`)) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("iterations = %d; want 2", n)
	}
}

func TestValues_CannotReachTheRest(t *testing.T) {
	b := []byte(`{"a":1,"b":[2,3]}`)
	for m := range rawjson.Members(b) {
		_ = append(m.Value, "XX"...)
		_ = append(m.Key, "XX"...)
		for e := range rawjson.Elements(m.Value) {
			_ = append(e, "XX"...)
		}
	}
	if string(b) != `{"a":1,"b":[2,3]}` {
		t.Errorf("appending to a result changed the text: %s", b)
	}
}

func TestKindAndInt(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind byte
		n    int64
		ok   bool
	}{
		{"0", '0', 0, true}, {"-0", '0', 0, true}, {" 12 ", '0', 12, true}, {"-32000", '0', -32000, true},
		{"9223372036854775807", '0', 9223372036854775807, true}, {"-9223372036854775808", '0', -9223372036854775808, true},
		{"9223372036854775808", '0', 0, false}, {"1.0", '0', 0, false}, {"1e2", '0', 0, false},
		{`"1"`, '"', 0, false}, {"null", 'n', 0, false}, {"true", 't', 0, false}, {"false", 'f', 0, false},
		{"[]", '[', 0, false}, {"{}", '{', 0, false}, {"", 0, 0, false}, {" ", 0, 0, false}, {"x", 0, 0, false}, {"+1", 0, 0, false}, {"1_0", '0', 0, false},
	} {
		if got := rawjson.Kind([]byte(c.in)); got != c.kind {
			t.Errorf("Kind(%q) = %q; want %q", c.in, got, c.kind)
		}
		if n, ok := rawjson.Int([]byte(c.in)); n != c.n && ok || ok != c.ok {
			t.Errorf("Int(%q) = %d, %t; want %d, %t", c.in, n, ok, c.n, c.ok)
		}
	}
}

func TestGetString(t *testing.T) {
	b := []byte(`{"a":{"b":"x\n"},"c":1}`)
	if s, ok := rawjson.GetString(b, "a", "b"); s != "x\n" || !ok {
		t.Errorf("GetString = %q, %t", s, ok)
	}
	for _, path := range [][]string{{"c"}, {"a"}, {"d"}, {"a", "b", "c"}} {
		if s, ok := rawjson.GetString(b, path...); ok {
			t.Errorf("GetString(%q) = %q; want none", path, s)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 1 << 20} {
		text := updateOf(size)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := rawjson.Get(text, "params", "update"); !ok {
					b.Fatal("no update")
				}
			}
		})
	}
}
