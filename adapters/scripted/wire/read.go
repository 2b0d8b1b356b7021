package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// MaxLineBytes is how long a line of the client may be.
const MaxLineBytes = 128 << 20

// ErrLineTooLong says that a line was skipped.
var ErrLineTooLong = errors.New("line too long")

// Inbound is a line of the client, or ErrLineTooLong in place of one.
type Inbound struct {
	Line []byte // without its newline
	Err  error
}

// Read sends the lines of in, until its end or that of ctx. It cannot leave a
// Read of in that blocks; whoever started it closes in for that.
func Read(ctx context.Context, in io.Reader, lines chan<- Inbound) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := ReadLine(r, MaxLineBytes)
		if err != nil && !errors.Is(err, ErrLineTooLong) {
			return
		}
		select {
		case lines <- Inbound{Line: line, Err: err}:
		case <-ctx.Done():
			return
		}
	}
}

// ReadLine returns the next line without its newline, in memory of its own. A
// line longer than limit is skipped, with bounded memory, and reported as
// ErrLineTooLong. The last line may lack its newline; then comes io.EOF.
func ReadLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit+1; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(line) == 0 && !long):
			return nil, err
		case long:
			return nil, ErrLineTooLong
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		return line, nil
	}
}
