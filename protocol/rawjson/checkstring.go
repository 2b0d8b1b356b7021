package rawjson

import "encoding/binary"

// str consumes a string from its opening quote.
func (c *checker) str() error {
	c.i++
	for {
		c.i = plainEnd(c.b, c.i)
		switch b := c.peek(); {
		case c.i == len(c.b):
			return c.want("a closing quote")
		case b == '"':
			c.i++
			return nil
		case b == '\\':
			if err := c.escape(); err != nil {
				return err
			}
		default:
			return c.want("no control character in a string")
		}
	}
}

func (c *checker) escape() error {
	c.i++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
		return nil
	case 'u':
		if _, ok := hex4(c.b, c.i+1); !ok {
			return c.badHex()
		}
		c.i += 5
		return nil
	}
	return c.want("an escape")
}

// badHex goes to the first digit that is none, of the four after a u.
func (c *checker) badHex() error {
	for c.i++; ; c.i++ {
		if b := c.peek() | 0x20; (b < 'a' || 'f' < b) && (c.peek() < '0' || '9' < c.peek()) {
			return c.want("four hexadecimal digits")
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd returns the index of the first byte from i on that does not stand
// for itself in a string: a quote, a backslash or a control character. Text is
// most of all traffic, so it looks at eight bytes at a time.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// Each term has a high bit where a byte is below 0x20 or zero; carries
		// can only add hits behind a true one, and the loop below is exact.
		hit := (w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash
		if hit&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// hex4 reads four hexadecimal digits at b[i:].
func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		r <<= 4
		switch {
		case '0' <= c && c <= '9':
			r |= rune(c - '0')
		case 'a' <= c && c <= 'f':
			r |= rune(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			r |= rune(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return r, true
}
