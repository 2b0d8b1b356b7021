package jsonrpc

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol/testdata/wire"
)

// stretched is input in which every '~' is n of them, at most maxStretched bytes:
// a few bytes of a fuzzer become lines longer than the chunks of the reader.
func stretched(input []byte, n int) []byte {
	const maxStretched = 6 << 20
	var out []byte
	for _, c := range input {
		if c != '~' {
			out = append(out, c)
		} else if len(out)+n < maxStretched {
			out = append(out, bytes.Repeat([]byte{'~'}, n)...)
		}
	}
	return out
}

// piecesOf cuts input to the sizes given, over and over; a size counts 1, 256 or
// 65,536 bytes, by its two low bits.
func piecesOf(input, sizes []byte) (out [][]byte) {
	for i := 0; len(input) > 0; i++ {
		n := len(input)
		if len(sizes) > 0 {
			size := int(sizes[i%len(sizes)])
			n = min(n, 1+(size>>2)<<[]int{0, 0, 8, 16}[size&3])
		}
		out, input = append(out, bytes.Clone(input[:n])), input[n:]
	}
	return out
}

// FuzzLineReader holds the reader to the split of the whole input, whatever the
// sizes of the reads, and to its promises about memory: a line has memory of
// its own size that nothing writes to afterwards, and what is held between lines
// is bounded.
func FuzzLineReader(f *testing.F) {
	var stream []byte
	for i, l := range wire.Lines() {
		if i%16 == 0 {
			f.Add(append(bytes.Clone(stream), l.Text...), uint32(len(l.Text)), uint32(1), []byte{byte(i), 255})
			stream = stream[:0]
		}
		stream = append(append(stream, l.Text...), '\n')
	}
	f.Add([]byte("a\nbc\r\n\nd"), uint32(1), uint32(1), []byte{8})
	f.Add([]byte(""), uint32(9), uint32(1), []byte{4})
	f.Add([]byte("~\n~~\r\n\n~"), uint32(firstChunkBytes), uint32(firstChunkBytes), []byte{3, 5})
	f.Add([]byte("a~\nb~~\n~c"), uint32(2*maxChunkBytes), uint32(maxChunkBytes), []byte{255, 254})
	f.Add([]byte("~x~\n~~~~\n"), uint32(headBytes+tailBytes), uint32(headBytes), []byte{2})
	f.Fuzz(func(t *testing.T, input []byte, limit, stretch uint32, sizes []byte) {
		limit = limit%(4<<20) + 1
		input = stretched(input, int(stretch%(2<<20)))
		if len(sizes) > 16 || len(input) > 64<<10 && !bytes.ContainsFunc(sizes, func(r rune) bool { return r&3 == 3 }) {
			sizes = nil // a million reads of a byte say no more than some
		}
		told := 0
		var l *lineReader
		l = newLineReader(&pieces{piecesOf(input, sizes), io.EOF}, int64(limit), func(n int) {
			if told += n; l.partBytes > int64(limit) || len(l.buf) > maxChunkBytes {
				t.Fatalf("max %d: %d bytes and a buffer of %d are held", limit, l.partBytes, len(l.buf))
			}
		})
		var lines []line
		for {
			ln, err := l.next()
			if err != nil {
				if err != io.EOF {
					t.Fatalf("end = %v", err)
				}
				break
			}
			if cap(ln.text) != len(ln.text) {
				t.Fatalf("a line of %d bytes holds %d", len(ln.text), cap(ln.text))
			}
			if cap(ln.head) > 2*headBytes || cap(ln.tail) > 4*tailBytes {
				t.Fatalf("a line that was skipped holds %d and %d bytes", cap(ln.head), cap(ln.tail))
			}
			if l.partBytes != 0 || l.parts != nil {
				t.Fatalf("between lines %d bytes of parts are held", l.partBytes)
			}
			lines = append(lines, ln)
		}
		var got []seen
		for _, ln := range lines { // only now: a later read may not have changed them
			got = append(got, seen{string(ln.text), string(ln.head), string(ln.tail), ln.size, ln.text != nil})
		}
		if diff := cmp.Diff(splitAll(input, int(limit)), got); diff != "" {
			t.Fatalf("max %d: -want +got\n%s", limit, diff)
		}
		if told != len(input) {
			t.Fatalf("reads were told %d bytes; want %d", told, len(input))
		}
	})
}
