package http

import (
	"bufio"
	"context"
	"errors"
	nethttp "net/http"

	"agentos/actors/feed"
	"agentos/protocol"
	"agentos/protocol/public"
)

// streamBuffer is how much of a stream is written at once.
const streamBuffer = 32 << 10

// events streams a session to one client. Its status is sent as soon as the
// subscription is there: what happens from then on is in the stream.
func (s *Server) events(w nethttp.ResponseWriter, hr *nethttp.Request) {
	r, err := s.prepare(reads, w, hr)
	if err != nil {
		s.fail(w, hr, err)
		return
	}
	after, err := r.number("after")
	if err != nil {
		s.fail(w, hr, err)
		return
	}
	var from protocol.Sequence
	if after != nil {
		from = protocol.Sequence(*after)
	}
	sub, err := r.vm.Watch(hr.Context(), r.session, from)
	if err != nil {
		s.fail(w, hr, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(nethttp.StatusOK)
	out := &stream{w: bufio.NewWriterSize(w, streamBuffer), flush: nethttp.NewResponseController(w).Flush}
	if err := out.sync(); err != nil {
		return // the client has left
	}
	if err := out.pump(hr.Context(), sub); err != nil {
		out.line(public.AppendError(nil, s.known(hr, err)))
	}
	_ = out.sync() // or the client has left
}

// stream is a connection that lines are written to.
type stream struct {
	w     *bufio.Writer
	flush func() error
}

// pump writes all items until the feed is closed, which is no error, or the client
// leaves. What is there at once goes out at once.
func (o *stream) pump(ctx context.Context, sub *feed.Subscription) error {
	for {
		item, ok, err := sub.TryNext(ctx)
		if err == nil && !ok {
			if o.sync() != nil {
				return nil // the client has left
			}
			item, err = sub.Next(ctx)
		}
		switch {
		case errors.Is(err, feed.ErrClosed) || ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if o.line(item.Line()) != nil {
			return nil
		}
	}
}

func (o *stream) line(text []byte) error {
	if _, err := o.w.Write(text); err != nil {
		return err
	}
	return o.w.WriteByte('\n')
}

// sync sends what has been written.
func (o *stream) sync() error {
	if err := o.w.Flush(); err != nil {
		return err
	}
	return o.flush()
}
