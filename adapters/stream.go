package adapters

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeBytes is more than a pipe holds: Linux gives 64 KiB and no one asks for
// more. It bounds what is read after the end, when a stranger may go on writing.
const pipeBytes = 1 << 20

// stream is the reading end of an adapter's stdout or stderr. It ends at the
// end of file, or when end was called and what was in the pipe then has been
// read: a process that has left the group may hold the other end open for ever.
//
// Read is called by one goroutine; end and Close by any.
type stream struct {
	file  *os.File
	ended chan struct{}
	once  sync.Once
	rest  int // bytes that may still be read after the end; Read's own
}

func newStream(file *os.File) *stream {
	return &stream{file: file, ended: make(chan struct{}), rest: pipeBytes}
}

// end makes the stream end after what is in the pipe.
func (s *stream) end() {
	s.once.Do(func() {
		close(s.ended)
		// Wakes a Read that waits. If the file was closed meanwhile there is none.
		_ = s.file.SetReadDeadline(time.Unix(1, 0))
	})
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		select {
		case <-s.ended:
			return s.readRest(p)
		default:
		}
		n, err := s.file.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

// readRest reads without waiting.
func (s *stream) readRest(p []byte) (n int, err error) {
	if p = p[:min(len(p), s.rest)]; len(p) == 0 {
		return 0, io.EOF
	}
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	for {
		// The deadline that woke Read may be set a moment after it was noticed.
		if s.file.SetReadDeadline(time.Time{}) != nil {
			return 0, os.ErrClosed
		}
		var got error
		err := raw.Read(func(fd uintptr) bool {
			n, got = syscall.Read(int(fd), p)
			return true
		})
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(got, syscall.EINTR):
		case err != nil:
			return 0, os.ErrClosed
		case errors.Is(got, syscall.EAGAIN) || got == nil && n == 0:
			return 0, io.EOF
		case got != nil:
			return 0, os.NewSyscallError("read", got)
		default:
			s.rest -= n
			return n, nil
		}
	}
}

func (s *stream) Close() error { return s.file.Close() }
