package rawjson_test

import (
	"strings"

	"pgregory.net/rapid"
)

// jsonText draws valid JSON as no encoder would write it: white space anywhere,
// duplicate and escaped keys, odd numbers, every escape.
func jsonText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		ws := func() string { return rapid.StringMatching(`[ \t\r\n]{0,2}`).Draw(t, "ws") }
		limit := 5
		if depth == 0 {
			limit = 3
		}
		switch rapid.IntRange(0, limit).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case 1:
			return numberText().Draw(t, "number")
		case 2, 3:
			return stringText().Draw(t, "string")
		case 4:
			var items []string
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				items = append(items, ws()+jsonText(depth-1).Draw(t, "item")+ws())
			}
			if items == nil {
				return "[" + ws() + "]"
			}
			return "[" + strings.Join(items, ",") + "]"
		default:
			var items []string
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				key := rapid.OneOf(rapid.SampledFrom(keys), stringText()).Draw(t, "key")
				items = append(items, ws()+key+ws()+":"+ws()+jsonText(depth-1).Draw(t, "value")+ws())
			}
			if items == nil {
				return "{" + ws() + "}"
			}
			return "{" + strings.Join(items, ",") + "}"
		}
	})
}

// keys are few, so that duplicates are common; two of them are spelled in two ways.
var keys = []string{`"a"`, `"\u0061"`, `"b"`, `""`, `"content"`, `"c\u006fntent"`, `"A"`}

func numberText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"0", "-0", "1.10", "9007199254740993", "1e999", "1E+2", "-1.5e-3", "123456789012345678901234567890"}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?`),
	)
}

func stringText() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-z <>&/]{0,9}`),
		rapid.SampledFrom([]string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0000`, `\u001F`, `\u0041`, `\u00e9`,
			`\u2028`, "\u2028", `\uD83D\uDE00`, `\ud83d\ude00`, "读 ≤ 😀", "\x7f", `\\\"`, "{[", "]}", ":", ",", "\uFFFD"}),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 4), func(p []string) string { return `"` + strings.Join(p, "") + `"` })
}

// loneSurrogates draws strings with what encoding/json cannot keep.
func loneSurrogates() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"x", `\uD83D`, `\ude00`, `\\`, `\uDbFf`, `\u0041`, `\ud83d\ude00`})
	return rapid.Map(rapid.SliceOfN(piece, 0, 6), func(p []string) string { return `"` + strings.Join(p, "") + `"` })
}

// mutated draws JSON and then damages some of it.
func mutated() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		b := []byte(jsonText(4).Draw(t, "json"))
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			if len(b) == 0 {
				break
			}
			i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			c := rapid.SampledFrom([]byte("{}[]\",:\\u0123eE+-. \n\x00\x1ftfn/")).Draw(t, "byte")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				b[i] = c
			case 1:
				b = append(b[:i:i], b[i+1:]...)
			default:
				b = append(b[:i:i], append([]byte{c}, b[i:]...)...)
			}
		}
		return b
	})
}
