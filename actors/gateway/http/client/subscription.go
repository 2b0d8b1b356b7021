package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strconv"

	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// Bounds of what is read ahead. What a reader does not take in time stays with the
// server, whose feed is bounded too.
const (
	readAhead = 64 // items
	readBytes = 64 << 10
	lineBytes = 512 << 20
)

// Subscription is a session's stream from another process.
type Subscription struct {
	items chan feed.Item
	end   context.CancelFunc
	err   error // why items was closed; set before that
}

// Watch is actors.VM.Watch. The subscription is there when it returns.
func (v *VM) Watch(ctx context.Context, id protocol.SessionID, after protocol.Sequence) (*Subscription, error) {
	if err := protocol.ValidSessionID(id); err != nil {
		return nil, err
	}
	at := v.session(id, "events")
	at.RawQuery = url.Values{"after": {strconv.FormatInt(int64(after), 10)}}.Encode()
	// The stream outlives the call that asked for it.
	long, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	answer, err := v.send(long, nethttp.MethodGet, at, nil)
	if !stop() && err == nil {
		err = errors.Join(ctx.Err(), answer.Body.Close())
	}
	if err == nil && answer.StatusCode != nethttp.StatusOK {
		text, rerr := io.ReadAll(io.LimitReader(answer.Body, readBytes))
		err = errors.Join(failure(answer.StatusCode, text), rerr, answer.Body.Close())
	}
	if err != nil {
		end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	s := &Subscription{items: make(chan feed.Item, readAhead), end: end}
	go s.read(long, id, answer.Body) // ended and awaited by Close
	return s, nil
}

// Next is feed.Subscription.Next: feed.ErrClosed when the feed has ended, an error
// that wraps ErrGone when the process has.
func (s *Subscription) Next(ctx context.Context) (feed.Item, error) {
	select {
	case item, ok := <-s.items:
		if !ok {
			return feed.Item{}, s.err
		}
		return item, nil
	case <-ctx.Done():
		return feed.Item{}, ctx.Err()
	}
}

// TryNext is feed.Subscription.TryNext, of what has arrived.
func (s *Subscription) TryNext(context.Context) (item feed.Item, ok bool, err error) {
	select {
	case item, ok := <-s.items:
		if !ok && !errors.Is(s.err, feed.ErrClosed) {
			return feed.Item{}, false, s.err
		}
		return item, ok, nil
	default:
		return feed.Item{}, false, nil
	}
}

// Close ends the subscription and waits for its goroutine.
func (s *Subscription) Close() {
	s.end()
	for range s.items { // until it is closed
	}
}

func (s *Subscription) read(ctx context.Context, id protocol.SessionID, body io.ReadCloser) {
	defer close(s.items)
	r := bufio.NewReaderSize(body, readBytes)
	for s.err == nil {
		var line []byte
		line, s.err = readLine(r)
		if s.err != nil {
			break
		}
		var item feed.Item
		if item, s.err = parseItem(id, line); s.err != nil {
			break
		}
		select {
		case s.items <- item:
		case <-ctx.Done():
			s.err = ctx.Err()
		}
	}
	switch {
	case errors.Is(s.err, io.EOF) && !errors.Is(s.err, io.ErrUnexpectedEOF):
		s.err = feed.ErrClosed
	case protocol.CodeOf(s.err) == protocol.CodeInternal && !isOurs(s.err):
		s.err = gone(ctx, s.err)
	}
	_ = body.Close() // all that is wanted of it was read
}

// isOurs reports whether the server has said the error.
func isOurs(err error) bool {
	var pe *protocol.Error
	return errors.As(err, &pe)
}

var errLine = fmt.Errorf("a line of the stream has more than %d bytes", lineBytes)

// readLine returns one line without its end. Half a line is io.ErrUnexpectedEOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > lineBytes:
			return nil, errLine
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return line[:len(line)-1], nil
	}
}

// parseItem reads one line of a stream; the error of the last line is the error.
func parseItem(id protocol.SessionID, line []byte) (feed.Item, error) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"error":`)):
		raw, _ := rawjson.Get(line, "error")
		return feed.Item{}, public.ParseErrorObject(raw)
	case bytes.HasPrefix(line, []byte(`{"state":`)):
		s, err := public.ParseState(line)
		return feed.NewState(id, feed.State{State: s.State, Prompt: s.Prompt, Sequence: s.Sequence}), err
	case public.IsDelta(line):
		_, d, err := public.ParseDelta(line)
		return feed.Received(id, feed.Item{Delta: &d}, line), err
	}
	_, e, err := public.ParseEvent(line)
	return feed.Received(id, feed.Item{Event: &e}, line), err
}
