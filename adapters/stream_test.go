package adapters

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// pipe returns a stream and the end that is written, both closed at the end.
func pipe(t *testing.T) (*stream, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newStream(r)
	t.Cleanup(func() {
		_ = s.Close()
		_ = w.Close()
	})
	return s, w
}

func TestStreamEndsThoughItIsHeldOpen(t *testing.T) {
	t.Run("what is there is read", func(t *testing.T) {
		s, w := pipe(t)
		want := bytes.Repeat([]byte("0123456789"), 5000)
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		s.end()
		s.end()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
	})
	t.Run("a reader that waits is woken", func(t *testing.T) {
		s, w := pipe(t)
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		reading, done := make(chan struct{}), make(chan error, 1)
		go func() { // ended by end, and awaited below
			var b [1]byte
			_, err := s.Read(b[:])
			close(reading)
			if err == nil {
				_, err = s.Read(b[:])
			}
			done <- err
		}()
		<-reading
		s.end()
		if err := <-done; !errors.Is(err, io.EOF) {
			t.Errorf("Read = %v; want EOF", err)
		}
	})
	t.Run("a stranger that goes on is not listened to", func(t *testing.T) {
		s, w := pipe(t)
		stopped := make(chan struct{})
		go func() { // ended by closing the stream, and awaited below
			defer close(stopped)
			for {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}()
		s.end()
		if n, err := io.Copy(io.Discard, s); err != nil || n > pipeBytes {
			t.Errorf("read %d bytes, %v; want at most %d", n, err, pipeBytes)
		}
		_ = s.Close()
		<-stopped
	})
	t.Run("an end of its own", func(t *testing.T) {
		s, w := pipe(t)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("Read = %v; want EOF", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		s, _ := pipe(t)
		_ = s.Close()
		s.end()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Read = %v; want %v", err, os.ErrClosed)
		}
	})
}
