// Package twin reads JSON the slow and obvious way, by encoding/json, for the
// tests that compare the packages below protocol with it. It is in testdata, so
// that nothing but a test can come to import it unnoticed.
//
// Everything takes JSON that is valid and UTF-8, and panics on other: a test
// has checked before. It does not share a line with the code it is compared
// with. There is no state; everything may be called from any goroutine, and
// every result is the caller's own.
package twin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Entry is a member of an object or, without a key, an element of an array.
type Entry struct {
	Key     string // decoded
	Spelled string // the key as it is spelled, with its quotes
	Value   string // as it is spelled
	At      int    // offset of Value
}

// Entries returns what is directly in an object or array, in order and with
// duplicates; nil for anything else.
func Entries(b []byte) []Entry {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	open := must(dec.Token())
	delim, ok := open.(json.Delim)
	if !ok {
		return nil
	}
	var out []Entry
	for dec.More() {
		var e Entry
		if delim == '{' {
			before := dec.InputOffset()
			e.Key = must(dec.Token()).(string)
			e.Spelled = string(bytes.TrimLeft(b[before:dec.InputOffset()], " \t\r\n,"))
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			panic(fmt.Sprintf("twin: %v", err))
		}
		e.Value = string(raw)
		e.At = int(dec.InputOffset()) - len(raw)
		out = append(out, e)
	}
	return out
}

// Get follows names from object to object as a decode into maps does: the last
// of duplicates counts, letters are not folded, nil is absent.
func Get(b []byte, names ...string) []byte {
	for _, name := range names {
		var m map[string]json.RawMessage
		if json.Unmarshal(b, &m) != nil || m[name] == nil {
			return nil
		}
		b = m[name]
	}
	return bytes.Trim(b, " \t\r\n")
}

// String decodes a string; ok is false for anything else.
func String(b []byte) (s string, ok bool) {
	var v any
	if len(b) == 0 || json.Unmarshal(b, &v) != nil {
		return "", false
	}
	s, ok = v.(string)
	return s, ok
}

// GetString is Get and String.
func GetString(b []byte, names ...string) (string, bool) { return String(Get(b, names...)) }

// Is reports whether b is of the kind that its first byte names.
func Is(b []byte, kind byte) bool { return len(b) > 0 && b[0] == kind }

// Depth returns how deeply b nests: 0 for a scalar, 1 for [] and {}.
func Depth(b []byte) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// Canonical returns the form of S6.8 by way of UTF-16, where a lone surrogate is
// a character like any other.
func Canonical(b []byte) string {
	return eachString(b, func(inner string) string { return spell(units(inner), canonicalUnit) }, func() string { return "" })
}

// Respell returns b as another encoder might have written it: other escapes and
// other white space, chosen by seed, and the same canonical form.
func Respell(b []byte, seed uint64) string {
	next := func(n uint64) uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed >> 33 % n
	}
	respelled := func(inner string) string {
		return spell(units(inner), func(unit uint16) string {
			switch text := canonicalUnit(unit); {
			case next(4) == 0:
				return fmt.Sprintf(`\u%04x`, unit)
			case next(4) == 0:
				return fmt.Sprintf(`\u%04X`, unit)
			case unit == '/' && next(2) == 0:
				return `\/`
			default:
				return text
			}
		})
	}
	return eachString(b, respelled, func() string { return []string{"", " ", "\t", "\n\r ", ""}[next(5)] })
}

// eachString rewrites b: what is between the quotes of each string by text, the
// white space before each token and at the end by space.
func eachString(b []byte, text func(inner string) string, space func() string) string {
	var out strings.Builder
	for i := 0; i < len(b); {
		c := b[i]
		end := i + 1
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i = end
			continue
		case c == '"':
			for ; b[end] != '"'; end++ {
				if b[end] == '\\' {
					end++
				}
			}
			end++
			out.WriteString(space() + `"` + text(string(b[i+1:end-1])) + `"`)
		case strings.IndexByte("{}[]:,", c) >= 0:
			out.WriteString(space() + string(c))
		default: // a number or a word: nothing may come between its characters
			for end < len(b) && strings.IndexByte(" \t\r\n{}[]:,\"", b[end]) < 0 {
				end++
			}
			out.WriteString(space() + string(b[i:end]))
		}
		i = end
	}
	return out.String() + space()
}

// units returns the UTF-16 of what is between the quotes of a string.
func units(inner string) (out []uint16) {
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			n := strings.IndexByte(inner[i:], '\\')
			if n < 0 {
				n = len(inner) - i
			}
			out = append(out, utf16.Encode([]rune(inner[i:i+n]))...)
			i += n
			continue
		}
		if inner[i+1] == 'u' {
			out = append(out, uint16(must(strconv.ParseUint(inner[i+2:i+6], 16, 16))))
			i += 6
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, inner[i+1])
		out = append(out, uint16("\"\\/\b\f\n\r\t"[at]))
		i += 2
	}
	return out
}

// spell writes UTF-16 with what unit makes of each of its values; a pair that
// unit leaves alone becomes one character.
func spell(text []uint16, unit func(uint16) string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		u := text[i]
		if i+1 < len(text) && 0xD800 <= u && u < 0xDC00 && 0xDC00 <= text[i+1] && text[i+1] < 0xE000 {
			high, low := unit(u), unit(text[i+1])
			if high == canonicalUnit(u) && low == canonicalUnit(text[i+1]) {
				out.WriteRune(utf16.DecodeRune(rune(u), rune(text[i+1])))
			} else { // both as escapes, of whichever spelling
				out.WriteString(high + low)
			}
			i++
			continue
		}
		out.WriteString(unit(u))
	}
	return out.String()
}

// canonicalUnit spells one value of UTF-16 as S6.8 does when it stands alone.
func canonicalUnit(u uint16) string {
	if at := strings.IndexByte("\"\\\b\f\n\r\t", byte(u)); u < 0x80 && at >= 0 {
		return `\` + `"\bfnrt`[at:at+1]
	}
	if u < 0x20 || 0xD800 <= u && u < 0xE000 {
		return fmt.Sprintf(`\u%04x`, u)
	}
	return string(rune(u))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("twin: %v", err))
	}
	return v
}
