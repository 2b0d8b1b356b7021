package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendCanonical appends raw in the form that is hashed (S6.8): no white space
// between tokens, members in the order received, numbers as spelled, strings as
// UTF-8 with only the escapes that JSON requires (the short ones where there
// are any, else \u00xx in lower case). A lone surrogate has no UTF-8 form: it
// stays an escape, in lower case.
//
// raw must be valid; the form of a canonical text is itself.
func AppendCanonical(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case isSpace(c):
			i++
		case c == '"':
			end := stringEnd(raw, i)
			if end < 0 {
				return append(dst, raw[i:]...)
			}
			dst = appendCanonicalString(dst, raw[i+1:end-1])
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

func appendCanonicalString(dst, inner []byte) []byte {
	dst = append(dst, '"')
	for {
		slash := bytes.IndexByte(inner, '\\')
		if slash < 0 {
			return append(append(dst, inner...), '"')
		}
		dst = append(dst, inner[:slash]...)
		r, n := unescape(inner[slash:])
		switch {
		case n == 0: // not valid: kept, so that different text stays different
			return append(append(dst, inner[slash:]...), '"')
		case r < 0x20 || r == '"' || r == '\\':
			dst = appendEscape(dst, byte(r))
		case utf16.IsSurrogate(r):
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		inner = inner[slash+n:]
	}
}
