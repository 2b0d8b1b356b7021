package rawjson

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
)

// Member is one member of an object, as it is spelled.
type Member struct {
	Key   []byte // with its quotes
	Value []byte // without white space around it
	// KeyAt and ValueAt are the offsets of Key and Value in the text that was
	// given to Members.
	KeyAt, ValueAt int
}

// Name returns the decoded key.
func (m Member) Name() string {
	s, _ := String(m.Key)
	return s
}

// Is reports whether the decoded key is name.
func (m Member) Is(name string) bool { return IsString(m.Key, name) }

// IsAny reports whether the decoded key is one of names.
func (m Member) IsAny(names []string) bool {
	inner := Inner(m.Key)
	if bytes.IndexByte(inner, '\\') >= 0 {
		return slices.Contains(names, m.Name())
	}
	for _, name := range names {
		if string(inner) == name {
			return true
		}
	}
	return false
}

// Members returns the members of an object in order, duplicates included. It
// yields nothing if obj is not an object.
func Members(obj []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for m := range Prefix(obj) {
			if m.Value == nil || !yield(m) {
				return
			}
		}
	}
}

// Prefix is Members for the beginning of an object that was cut off or is
// damaged further on. A last member of which only the key is whole is yielded
// with a nil Value; nothing is promised about what follows the damage.
func Prefix(obj []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		i := skipSpace(obj, 0)
		if i == len(obj) || obj[i] != '{' {
			return
		}
		for i = skipSpace(obj, i+1); i < len(obj) && obj[i] == '"'; i = skipSpace(obj, i+1) {
			m, end := member(obj, i)
			if m.Key == nil || !yield(m) || m.Value == nil {
				return
			}
			if i = skipSpace(obj, end); i == len(obj) || obj[i] != ',' {
				return
			}
		}
	}
}

// member reads the member whose key begins at obj[i] and returns the index
// behind it. Key is nil if there is no whole key and colon, Value if there is no
// whole value.
func member(obj []byte, i int) (m Member, end int) {
	keyEnd := stringEnd(obj, i)
	if keyEnd < 0 {
		return Member{}, -1
	}
	at := skipSpace(obj, keyEnd)
	if at == len(obj) || obj[at] != ':' {
		return Member{}, -1
	}
	at = skipSpace(obj, at+1)
	m = Member{Key: obj[i:keyEnd:keyEnd], KeyAt: i, ValueAt: at}
	// A member is followed by something, so a value up to the very end was cut
	// off: a number might have had more digits.
	if end = valueEnd(obj, at); end >= 0 && end < len(obj) {
		m.Value = obj[at:end:end]
	}
	return m, end
}

// Elements returns the elements of an array in order, without white space
// around them. It yields nothing if arr is not an array.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(arr, 0)
		if i == len(arr) || arr[i] != '[' {
			return
		}
		for i = skipSpace(arr, i+1); i < len(arr) && arr[i] != ']'; i = skipSpace(arr, i+1) {
			end := valueEnd(arr, i)
			if end < 0 || !yield(arr[i:end:end]) {
				return
			}
			if i = skipSpace(arr, end); i == len(arr) || arr[i] != ',' {
				return
			}
		}
	}
}

// Get follows names from object to object and returns the value at the end. Of
// duplicate members the last one counts, as for JSON.parse.
func Get(obj []byte, names ...string) ([]byte, bool) {
	for _, name := range names {
		var found []byte
		for m := range Members(obj) {
			if m.Is(name) {
				found = m.Value
			}
		}
		if found == nil {
			return nil, false
		}
		obj = found
	}
	return obj, true
}

// GetString is Get for a value that should be a string; anything else is
// reported as absent.
func GetString(obj []byte, names ...string) (string, bool) {
	raw, ok := Get(obj, names...)
	if !ok {
		return "", false
	}
	return String(raw)
}

// Kind returns what raw is by its first byte: one of { [ " t f n, '0' for any
// number, and 0 for nothing or something that is not JSON.
func Kind(raw []byte) byte {
	i := skipSpace(raw, 0)
	if i == len(raw) {
		return 0
	}
	switch c := raw[i]; {
	case c == '{' || c == '[' || c == '"' || c == 't' || c == 'f' || c == 'n':
		return c
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	}
	return 0
}

// Int returns a number that is spelled as an integer, without fraction or
// exponent, and fits.
func Int(raw []byte) (int64, bool) {
	raw = trim(raw)
	if len(raw) == 0 || len(raw) > len("-9223372036854775808") || raw[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

func trim(b []byte) []byte {
	b = b[skipSpace(b, 0):]
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// stringEnd returns the index behind the string that begins at b[i], or -1.
func stringEnd(b []byte, i int) int {
	for from := i + 1; from < len(b); {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		slashes := 0
		for end-slashes > from && b[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		from = end + 1
	}
	return -1
}

// valueEnd returns the index behind the value that begins at b[i], or -1 if it
// is cut off. Brackets are counted, not matched: the text was checked.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return containerEnd(b, i)
	}
	start := i
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != ']' && b[i] != '}' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func containerEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
