package jsonrpc

import (
	"bytes"
	"io"
)

const (
	firstChunkBytes = 16 << 10
	maxChunkBytes   = 1 << 20
	// headBytes and tailBytes of a line that is too long are kept, to find out
	// whether it was an answer.
	headBytes = 4 << 10
	tailBytes = 128
	// maxEmptyReads in a row are a broken reader.
	maxEmptyReads = 100
)

// line is one line without its line feed.
type line struct {
	text []byte // all of it, in memory of its own; nil if it was too long
	size int64  // bytes on the wire before the line feed
	// head and tail are the beginning and the end of a line that was too long.
	head, tail []byte
}

// lineReader splits a stream into lines. Its cost is linear in the bytes read,
// whatever their chunking: a byte is searched once and copied at most twice.
// Its memory is bounded by max and one chunk, and twice max while a long line
// is put together.
type lineReader struct {
	r     io.Reader
	max   int64
	onGot func(n int) // after each read that gave n > 0 bytes

	buf               []byte
	start, scan, fill int      // buf[start:scan] was searched, buf[scan:fill] not yet
	parts             [][]byte // full chunks of the current line, before buf[start:]
	partBytes         int64
	err               error // of the reader, once what it gave was consumed
}

func newLineReader(r io.Reader, max int64, onGot func(int)) *lineReader {
	return &lineReader{r: r, max: max, onGot: onGot, buf: make([]byte, firstChunkBytes)}
}

// next returns the next line, or the reader's error. A last line without a line
// feed is a line.
func (l *lineReader) next() (line, error) {
	for {
		if n := bytes.IndexByte(l.buf[l.scan:l.fill], '\n'); n >= 0 {
			end := l.scan + n
			ln := l.take(end)
			l.start, l.scan = end+1, end+1
			return ln, nil
		}
		l.scan = l.fill
		size := l.partBytes + int64(l.fill-l.start)
		if size > l.max {
			return l.skip(), nil
		}
		if l.err != nil {
			if size == 0 {
				return line{}, l.err
			}
			ln := l.take(l.fill)
			l.start = l.fill
			return ln, nil
		}
		l.makeRoom()
		l.read()
	}
}

// take returns the current line, which ends before buf[end].
func (l *lineReader) take(end int) line {
	last := l.buf[l.start:end]
	size := l.partBytes + int64(len(last))
	if size > l.max { // the read that made it too long had its end as well
		s := l.dropParts()
		s.add(last)
		return s.line()
	}
	text := make([]byte, 0, size)
	for _, part := range l.parts {
		text = append(text, part...)
	}
	text = append(text, last...)
	l.parts, l.partBytes = nil, 0
	return line{text: text, size: size}
}

// skip drops the current line, which is too long already, up to its end.
func (l *lineReader) skip() line {
	s := l.dropParts()
	for {
		n := bytes.IndexByte(l.buf[l.start:l.fill], '\n')
		if n >= 0 {
			s.add(l.buf[l.start : l.start+n])
			l.start += n + 1
			l.scan = l.start
			return s.line()
		}
		s.add(l.buf[l.start:l.fill])
		l.start, l.scan, l.fill = 0, 0, 0
		if l.err != nil {
			return s.line()
		}
		l.read()
	}
}

func (l *lineReader) dropParts() (s skipped) {
	for _, part := range l.parts {
		s.add(part)
	}
	l.parts, l.partBytes = nil, 0
	return s
}

// skipped is what is kept of a line that is dropped.
type skipped struct {
	size       int64
	head, tail []byte
}

func (s *skipped) add(b []byte) {
	s.size += int64(len(b))
	if room := headBytes - len(s.head); room > 0 {
		s.head = append(s.head, b[:min(room, len(b))]...)
	}
	if len(b) >= tailBytes {
		s.tail = append(s.tail[:0], b[len(b)-tailBytes:]...)
		return
	}
	s.tail = append(s.tail, b...)
	if extra := len(s.tail) - tailBytes; extra > 0 {
		s.tail = append(s.tail[:0], s.tail[extra:]...)
	}
}

func (s *skipped) line() line { return line{size: s.size, head: s.head, tail: s.tail} }

// makeRoom leaves room in buf for a read. Chunks grow with the line, so that a
// long one is few chunks, and shrink after it.
func (l *lineReader) makeRoom() {
	switch {
	case l.start == l.fill:
		l.start, l.scan, l.fill = 0, 0, 0
		if len(l.buf) > firstChunkBytes && l.parts == nil {
			l.buf = make([]byte, firstChunkBytes)
		}
	case l.fill < len(l.buf):
	case l.start > 0:
		l.fill = copy(l.buf, l.buf[l.start:l.fill])
		l.start, l.scan = 0, l.fill
	default:
		l.parts = append(l.parts, l.buf)
		l.partBytes += int64(len(l.buf))
		l.buf = make([]byte, min(2*len(l.buf), maxChunkBytes))
		l.start, l.scan, l.fill = 0, 0, 0
	}
}

func (l *lineReader) read() {
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.fill:])
		l.fill += n
		if n > 0 {
			l.onGot(n)
		}
		if err != nil {
			l.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.err = io.ErrNoProgress
}
