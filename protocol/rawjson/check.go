package rawjson

import (
	"fmt"

	"agentos/protocol"
)

// SyntaxError says that text is not JSON. It names a place and never quotes the
// text, which may hold secrets.
type SyntaxError struct {
	At   int    // offset of the first byte that does not fit
	Want string // what would have fitted there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: want %s", e.At, e.Want)
}

// DepthError says that JSON nests deeper than protocol.MaxJSONDepth. What comes
// after At was not looked at.
type DepthError struct {
	At int // offset of the bracket that is one too many
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("JSON at byte %d nests deeper than %d levels", e.At, protocol.MaxJSONDepth)
}

// Check returns nil if b is one JSON value (RFC 8259) with optional white space
// around it that nests at most protocol.MaxJSONDepth levels (S4.3), else a
// *SyntaxError or a *DepthError. It does not check that b is UTF-8 (see
// Repair). Lone surrogates and NUL, escaped, are valid (S4.4).
func Check(b []byte) error {
	c := checker{b: b}
	c.space()
	for {
		opened, err := c.begin()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		if more, err := c.next(); err != nil || !more {
			return err
		}
	}
}

// checker is the state of one Check. The kinds of the open containers are bits,
// so that depth costs neither stack nor heap.
type checker struct {
	b       []byte
	i       int
	depth   int
	objects [(protocol.MaxJSONDepth + 63) / 64]uint64 // bit n: the container at depth n+1 is an object
}

func (c *checker) want(what string) error { return &SyntaxError{At: c.i, Want: what} }

func (c *checker) space() { c.i = skipSpace(c.b, c.i) }

// peek returns the next byte, 0 at the end: no token begins with 0.
func (c *checker) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// begin consumes a scalar, an empty container, or the opening of another up to
// its first value; opened reports the last.
func (c *checker) begin() (opened bool, err error) {
	switch b := c.peek(); {
	case b == '"':
		return false, c.str()
	case b == '{' || b == '[':
		return c.open(b == '{')
	case b == '-' || '0' <= b && b <= '9':
		return false, c.number()
	case b == 't':
		return false, c.literal("true")
	case b == 'f':
		return false, c.literal("false")
	case b == 'n':
		return false, c.literal("null")
	}
	return false, c.want("a value")
}

func (c *checker) open(object bool) (opened bool, err error) {
	if c.depth == protocol.MaxJSONDepth {
		return false, &DepthError{At: c.i}
	}
	c.i++
	c.space()
	if end := c.peek(); object && end == '}' || !object && end == ']' {
		c.i++
		return false, nil
	}
	word, bit := c.depth/64, uint64(1)<<(c.depth%64)
	c.depth++
	if !object {
		c.objects[word] &^= bit
		return true, nil
	}
	c.objects[word] |= bit
	return true, c.key()
}

// key consumes a member up to its value.
func (c *checker) key() error {
	if c.peek() != '"' {
		return c.want("a member name")
	}
	if err := c.str(); err != nil {
		return err
	}
	c.space()
	if c.peek() != ':' {
		return c.want("a colon")
	}
	c.i++
	c.space()
	return nil
}

// next consumes what follows a value; more reports whether another value comes.
func (c *checker) next() (more bool, err error) {
	for {
		c.space()
		if c.depth == 0 {
			if c.i < len(c.b) {
				return false, c.want("the end")
			}
			return false, nil
		}
		top := c.depth - 1
		object := c.objects[top/64]>>(top%64)&1 != 0
		switch b := c.peek(); {
		case b == ',':
			c.i++
			c.space()
			if object {
				return true, c.key()
			}
			return true, nil
		case object && b == '}', !object && b == ']':
			c.i++
			c.depth--
		case object:
			return false, c.want("a comma or a closing brace")
		default:
			return false, c.want("a comma or a closing bracket")
		}
	}
}

func (c *checker) literal(word string) error {
	for i := range len(word) {
		if c.peek() != word[i] {
			return c.want(word)
		}
		c.i++
	}
	return nil
}

func (c *checker) number() error {
	if c.peek() == '-' {
		c.i++
	}
	if c.peek() == '0' {
		c.i++
	} else if err := c.digits(); err != nil {
		return err
	}
	if c.peek() == '.' {
		c.i++
		if err := c.digits(); err != nil {
			return err
		}
	}
	if e := c.peek(); e == 'e' || e == 'E' {
		c.i++
		if s := c.peek(); s == '+' || s == '-' {
			c.i++
		}
		return c.digits()
	}
	return nil
}

func (c *checker) digits() error {
	start := c.i
	for b := c.peek(); '0' <= b && b <= '9'; b = c.peek() {
		c.i++
	}
	if c.i == start {
		return c.want("a digit")
	}
	return nil
}
