package rawjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentos/protocol/rawjson"
)

func TestCheck_S4_3_RFC8259(t *testing.T) {
	valid := []string{
		"null", " true ", "\t\r\nfalse\n", "0", "-0", "-1.5e+10", "1E2", `""`, "[]", "{}", "[ ]", "{ }",
		`{"a":1,"a":[{}, []],"":null}`, `"\"\\\/\b\f\n\r\t\u0000\uD83D\ud83d\uDE00"`, "\"\x7f\u2028\"", `"12345678\n12345678"`,
	}
	invalid := []string{
		"", " ", "nul", "nulll", "True", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "-a",
		`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u123`, "\"\n\"", "\"1234567\x00\"", "\"12345678\x1f\"", "'a'",
		"[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{1:2}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1]`,
		`{"a" 1}`, `{,}`, `{"a":1 "b":2}`, "1 2", "{} {}", "[]]", "// c\n1", "\ufeff1", "1,", `{"a":1}x`,
	}
	for _, s := range valid {
		if err := rawjson.Check([]byte(s)); err != nil {
			t.Errorf("Check(%q) = %v; want nil", s, err)
		}
	}
	for _, s := range invalid {
		var syntax *rawjson.SyntaxError
		if err := rawjson.Check([]byte(s)); !errors.As(err, &syntax) {
			t.Errorf("Check(%q) = %v; want a SyntaxError", s, err)
		} else if syntax.At > len(s) {
			t.Errorf("Check(%q) at %d; want at most %d", s, syntax.At, len(s))
		}
	}
}

func nest(open, inner, close string, n int) []byte {
	return []byte(strings.Repeat(open, n) + inner + strings.Repeat(close, n))
}

func TestCheck_S4_3_Depth(t *testing.T) {
	for _, c := range []struct{ name, open, inner, close string }{
		{"arrays", "[", "1", "]"},
		{"empty arrays", "[", "", "]"},
		{"objects", `{"a":`, `"x"`, "}"},
		{"spaced", " [ ", "null", " ] "},
	} {
		if err := rawjson.Check(nest(c.open, c.inner, c.close, 1000)); err != nil {
			t.Errorf("%s: 1000 levels = %v; want nil", c.name, err)
		}
		var deep *rawjson.DepthError
		if err := rawjson.Check(nest(c.open, c.inner, c.close, 1001)); !errors.As(err, &deep) {
			t.Errorf("%s: 1001 levels = %v; want a DepthError", c.name, err)
		}
		if err := rawjson.Check(nest(c.open, "", "", 5_000_000)); !errors.As(err, &deep) {
			t.Errorf("%s: five million levels = %v; want a DepthError", c.name, err)
		}
	}
	mixed := nest(`[{"a":`, `[]`, "}]", 499)
	if err := rawjson.Check(mixed); err != nil {
		t.Errorf("mixed, 999 levels = %v; want nil", err)
	}
	// Depth is counted open, not ever opened.
	wide := []byte("[" + strings.Repeat(`[{}],`, 5000) + "[]]")
	if err := rawjson.Check(wide); err != nil {
		t.Errorf("wide = %v; want nil", err)
	}
}

func TestCheck_AgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := mutated().Draw(t, "text")
		if got, want := rawjson.Check(b) == nil, json.Valid(b); got != want {
			t.Fatalf("Check(%q) valid = %t; want %t", b, got, want)
		}
	})
}

func TestCheck_ErrorsHideText(t *testing.T) {
	err := rawjson.Check([]byte(`{"token":"sk-secret" oops}`))
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "oops") {
		t.Errorf("Check = %v; want an error that quotes nothing", err)
	}
}
