// Package oracle_test compares rawjson with SQLite, which holds the payloads. It
// is apart from the tests of rawjson, because a fuzz target instruments all that
// its test program imports, and a whole database engine drowns the signal.
package oracle_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	_ "modernc.org/sqlite" // the driver of the handles
	"pgregory.net/rapid"

	"agentos/protocol/rawjson"
	"agentos/protocol/testdata/wire"
)

// jsonValid returns what json_valid says to a text.
func jsonValid(t testing.TB) func(b []byte) bool {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	stmt, err := db.Prepare("SELECT json_valid(?)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stmt.Close() })
	return func(b []byte) (valid bool) {
		if err := stmt.QueryRow(string(b)).Scan(&valid); err != nil {
			t.Fatal(err)
		}
		return valid
	}
}

// agree compares the two. A NUL ends a text for SQLite, so that what comes after
// it is not looked at; rawjson has none in valid text.
func agree(t interface {
	Helper()
	Errorf(format string, args ...any)
}, valid func([]byte) bool, b []byte) {
	t.Helper()
	if !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0 {
		return
	}
	if err := rawjson.Check(b); (err == nil) != valid(b) {
		t.Errorf("Check(%.200q) = %v; json_valid = %t", b, err, err != nil)
	}
}

func TestCheck_S4_3_AgreesWithSQLite(t *testing.T) {
	valid := jsonValid(t)
	for _, l := range wire.Lines() {
		agree(t, valid, l.Text)
		for i := 0; i < len(l.Text) && i < 400; i += 7 {
			agree(t, valid, l.Text[:i])
			agree(t, valid, append(l.Text[:i:i], l.Text[i+1:]...))
		}
	}
	for _, s := range []string{"", " ", "null", "tru", "01", "-", "-0", "1.", "1e", ".5", "+1", "0x1", "NaN", "Infinity", "'a'", "{a:1}", "[1,]", `{"a":1,}`,
		"/**/1", "\v1", "\ufeff1", "\u00a01", "\"\n\"", "\"\x01\"", "\"\x1f\"", "\"\x7f\"", `"\x41"`, `"\v"`, `"\0"`, `"\'"`, "\"\\\n\"", `"\u12"`, `"\u12g4"`, `"\ud83d"`, `"\u0000"`, "1 2", "[]]"} {
		agree(t, valid, []byte(s))
	}
}

// Depth is SQLite's: a payload that is taken can be read by SQL.
func TestCheck_S4_3_DepthIsSQLites(t *testing.T) {
	valid := jsonValid(t)
	for _, c := range []struct{ open, inner, end string }{{"[", "", "]"}, {"[", "1", "]"}, {`{"a":`, "{}", "}"}, {`{"a":`, `"x"`, "}"}, {`[{"a":`, "[]", "}]"}, {" [ ", " ", " ] "}} {
		for _, n := range []int{1, 499, 500, 501, 997, 998, 999, 1000, 1001, 1002, 5000} {
			agree(t, valid, []byte(strings.Repeat(c.open, n)+c.inner+strings.Repeat(c.end, n)))
		}
	}
}

func TestCheck_S4_3_AgreesWithSQLiteOnDamage(t *testing.T) {
	valid := jsonValid(t)
	lines := wire.Lines()
	rapid.Check(t, func(rt *rapid.T) {
		b := []byte(string(rapid.SampledFrom(lines).Draw(rt, "line").Text))
		from := rapid.IntRange(0, len(b)).Draw(rt, "from")
		b = b[from:min(len(b), from+rapid.IntRange(0, 80).Draw(rt, "bytes"))]
		for range rapid.IntRange(0, 4).Draw(rt, "mutations") {
			at := rapid.IntRange(0, len(b)).Draw(rt, "at")
			with := rapid.SampledFrom([]string{"{", "}", "[", "]", `"`, ",", ":", `\`, `\u`, "0", "-", ".", "e", "+", "\n", "\x01", "t", "null", "1", " ", "/"}).Draw(rt, "with")
			b = append(b[:at:at], append([]byte(with), b[at:]...)...)
		}
		agree(rt, valid, b)
	})
}

// TestCheck_FoundByFuzzing compares what the fuzzer of rawjson has found
// interesting, by hand: CHECK_CORPUS is the folder of FuzzCheck in the cache.
func TestCheck_FoundByFuzzing(t *testing.T) {
	dir := os.Getenv("CHECK_CORPUS")
	if dir == "" {
		t.Skip("CHECK_CORPUS is not set")
	}
	valid := jsonValid(t)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if quoted, ok := strings.CutPrefix(line, "[]byte("); ok {
				s, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				agree(t, valid, []byte(s))
			}
		}
	}
	t.Logf("%d inputs", len(files))
}
