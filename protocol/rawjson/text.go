package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Inner returns the bytes between the quotes of a string, nil if raw is not one.
func Inner(raw []byte) []byte {
	raw = trim(raw)
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// String decodes a string; ok is false if raw is not one. A lone surrogate,
// which Go cannot hold, becomes U+FFFD.
func String(raw []byte) (s string, ok bool) {
	inner := Inner(raw)
	if inner == nil {
		return "", false
	}
	return Unescape(inner)
}

// IsString reports whether raw is the string s, however it is spelled. It does
// not allocate unless raw has escapes.
func IsString(raw []byte, s string) bool {
	inner := Inner(raw)
	if inner == nil {
		return false
	}
	if len(inner) == len(s) {
		return string(inner) == s && bytes.IndexByte(inner, '\\') < 0
	}
	// An escape is always longer than what it stands for.
	if len(inner) < len(s) || bytes.IndexByte(inner, '\\') < 0 {
		return false
	}
	decoded, ok := Unescape(inner)
	return ok && decoded == s
}

// Unescape decodes what is between the quotes of a string.
func Unescape(inner []byte) (s string, ok bool) {
	slash := bytes.IndexByte(inner, '\\')
	if slash < 0 {
		return string(inner), true
	}
	out := make([]byte, 0, len(inner))
	for slash >= 0 {
		out = append(out, inner[:slash]...)
		r, n := unescape(inner[slash:])
		if n == 0 {
			return "", false
		}
		out = utf8.AppendRune(out, r) // writes U+FFFD for a lone surrogate
		inner = inner[slash+n:]
		slash = bytes.IndexByte(inner, '\\')
	}
	return string(append(out, inner...)), true
}

// unescape decodes the escape at the start of b, a surrogate pair as one, and
// returns its length, 0 if it is not valid. A lone surrogate is returned as
// itself.
func unescape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return 0, 0
	}
	r, ok := hex4(b, 2)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b, 8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with only the escapes that JSON
// requires: nothing is escaped for HTML, U+2028 stays as it is. Invalid UTF-8
// becomes U+FFFD, as in Repair.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		fixed, _ := Repair([]byte(s))
		s = string(fixed)
	}
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, s[start:i]...), c)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends the shortest escape of a character that needs one.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendLine appends raw with every line feed and carriage return made a space.
// In JSON they can only be white space between tokens, so that the value and
// its length stay the same; where a message is a line they would end it.
func AppendLine(dst, raw []byte) []byte {
	start := len(dst)
	dst = append(dst, raw...)
	if OneLine(raw) {
		return dst
	}
	for i := start; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return dst
}

// OneLine reports whether raw has no line feed and no carriage return, so that
// it can be written to a line as it is.
func OneLine(raw []byte) bool {
	return bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0
}

// Repair returns b with every piece that is not UTF-8 replaced by U+FFFD, and
// how many there were. A piece is as Unicode recommends and browsers do: the
// longest beginning of a character, or one byte. Valid text is returned as it
// is, without a copy.
func Repair(b []byte) (fixed []byte, replaced int) {
	if utf8.Valid(b) {
		return b, 0
	}
	size := 0
	for i := 0; i < len(b); {
		n, ok := sequence(b[i:])
		if !ok {
			replaced++
			size += len("\uFFFD")
		} else {
			size += n
		}
		i += n
	}
	fixed = make([]byte, 0, size)
	for i := 0; i < len(b); {
		n, ok := sequence(b[i:])
		if ok {
			fixed = append(fixed, b[i:i+n]...)
		} else {
			fixed = append(fixed, "\uFFFD"...)
		}
		i += n
	}
	return fixed, replaced
}

// sequence returns the length of the character at the start of b, or of the
// piece that is to be replaced.
func sequence(b []byte) (n int, ok bool) {
	if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1 {
		return n, true
	}
	need, low, high := 0, byte(0x80), byte(0xBF)
	switch c := b[0]; {
	case 0xC2 <= c && c <= 0xDF:
		need = 1
	case c == 0xE0:
		need, low = 2, 0xA0
	case c == 0xED:
		need, high = 2, 0x9F
	case 0xE1 <= c && c <= 0xEF:
		need = 2
	case c == 0xF0:
		need, low = 3, 0x90
	case c == 0xF4:
		need, high = 3, 0x8F
	case 0xF1 <= c && c <= 0xF3:
		need = 3
	}
	n = 1
	for n <= need && n < len(b) && low <= b[n] && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n, false
}
