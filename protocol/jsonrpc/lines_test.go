package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pieces is a reader that gives its pieces one read at a time and then err.
type pieces struct {
	left [][]byte
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, p.err
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	if len(p.left[0]) > 0 {
		return n, nil
	}
	p.left = p.left[1:]
	if len(p.left) == 0 && p.err == io.EOF {
		return n, io.EOF // with the last bytes, as readers may
	}
	return n, nil
}

// seen is a line as the tests compare it.
type seen struct {
	Text, Head, Tail string
	Size             int64
	Whole            bool
}

func readAll(l *lineReader) (out []seen, err error) {
	for {
		ln, err := l.next()
		if err != nil {
			return out, err
		}
		out = append(out, seen{string(ln.text), string(ln.head), string(ln.tail), ln.size, ln.text != nil})
	}
}

// splitAll is the dumb twin: it has all of the input.
func splitAll(input []byte, limit int) (out []seen) {
	if len(input) == 0 {
		return nil
	}
	for _, b := range bytes.Split(bytes.TrimSuffix(input, []byte("\n")), []byte("\n")) {
		s := seen{Size: int64(len(b)), Whole: len(b) <= limit}
		if s.Whole {
			s.Text = string(b)
		} else {
			s.Head = string(b[:min(len(b), headBytes)])
			s.Tail = string(b[max(len(b)-tailBytes, 0):])
		}
		out = append(out, s)
	}
	return out
}

func TestLineReader_S4_3_AgreesWithSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := drawInput(t)
		limit := rapid.SampledFrom([]int{1, 5, 100, headBytes, firstChunkBytes, 3 * firstChunkBytes, 1 << 20}).Draw(t, "max")
		var got int64
		l := newLineReader(&pieces{drawPieces(t, input), io.EOF}, int64(limit), func(n int) { got += int64(n) })
		lines, err := readAll(l)
		if err != io.EOF {
			t.Fatalf("end = %v; want EOF", err)
		}
		if diff := cmp.Diff(splitAll(input, limit), lines); diff != "" {
			t.Fatalf("max %d: -want +got\n%s", limit, diff)
		}
		if got != int64(len(input)) {
			t.Fatalf("reads were told %d bytes; want %d", got, len(input))
		}
	})
}

// drawInput draws lines of lengths around the sizes that matter inside.
func drawInput(t *rapid.T) []byte {
	var input []byte
	for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
		n := rapid.OneOf(rapid.IntRange(0, 12),
			rapid.SampledFrom([]int{tailBytes - 1, tailBytes + 1, headBytes - 1, headBytes, headBytes + 1,
				firstChunkBytes - 1, firstChunkBytes, firstChunkBytes + 1, 3 * firstChunkBytes, 4*firstChunkBytes - 1})).Draw(t, "length")
		for j := range n {
			input = append(input, "abcdefghijklmnopqrstuvw"[(i*7+j)%23])
		}
		input = append(input, '\n')
	}
	if len(input) > 0 && rapid.Bool().Draw(t, "cut") {
		input = input[:len(input)-1]
	}
	return input
}

func drawPieces(t *rapid.T, input []byte) (out [][]byte) {
	size := rapid.SampledFrom([]int{1, 3, 100, 4096, firstChunkBytes, 1 << 20}).Draw(t, "size")
	sizes := rapid.SliceOfN(rapid.IntRange(1, size), 1, 5).Draw(t, "sizes") // over and over
	for i := 0; len(input) > 0; i++ {
		n := min(len(input), sizes[i%len(sizes)])
		out, input = append(out, bytes.Clone(input[:n])), input[n:]
	}
	return out
}

func TestLineReader_MemoryIsTheLinesOwn(t *testing.T) {
	input := bytes.Repeat([]byte("0123456789\n"), 10_000)
	input = append(input, bytes.Repeat([]byte("x"), 5*firstChunkBytes)...)
	l := newLineReader(bytes.NewReader(input), 1<<20, func(int) {})
	for {
		ln, err := l.next()
		if err != nil {
			break
		}
		if cap(ln.text) != len(ln.text) {
			t.Fatalf("a line of %d bytes holds %d", len(ln.text), cap(ln.text))
		}
		for i := range ln.text {
			ln.text[i] = '\n' // must not be seen by later lines
		}
	}
	if len(l.parts) != 0 || l.partBytes != 0 {
		t.Error("parts are kept after the end")
	}
}

func TestLineReader_ReadErrors(t *testing.T) {
	broken := errors.New("broken")
	l := newLineReader(&pieces{[][]byte{[]byte("a\nhalf")}, broken}, 100, func(int) {})
	lines, err := readAll(l)
	if len(lines) != 2 || lines[1].Text != "half" || err != broken {
		t.Errorf("lines = %+v, %v; want two and broken", lines, err)
	}
	l = newLineReader(&pieces{[][]byte{[]byte("toolong")}, broken}, 3, func(int) {})
	lines, err = readAll(l)
	if len(lines) != 1 || lines[0].Whole || lines[0].Size != 7 || err != broken {
		t.Errorf("lines = %+v, %v; want one too long and broken", lines, err)
	}
	if _, err := newLineReader(idle{}, 100, func(int) {}).next(); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing = %v; want ErrNoProgress", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestIDBeforeEnd(t *testing.T) {
	for _, c := range []struct {
		tail string
		want ID
	}{
		{`"},"id":7}`, "7"}, {`xx] , "id" : 12 } `, "12"}, {`null,"id":3}` + "\r", "3"},
		{`{"id":7}`, ""}, {`,"id":7}}`, ""}, {`,"id":7`, ""}, {`,"id":"7"}`, ""}, {`,\"id\":7}`, ""},
		{`,"id":1.5}`, ""}, {`,"id":}`, ""}, {`,"id":7}x`, ""}, {"", ""},
	} {
		if got := idBeforeEnd([]byte(c.tail)); got != c.want {
			t.Errorf("idBeforeEnd(%q) = %q; want %q", c.tail, got, c.want)
		}
	}
}
