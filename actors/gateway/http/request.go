package http

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"agentos/actors"
	"agentos/protocol"
	"agentos/protocol/public"
)

// request is one request to a VM.
type request struct {
	*nethttp.Request
	vm      *actors.VM
	session protocol.SessionID // "" where the path has none
	body    []byte
}

// need says what a path is for.
type need int

const (
	reads   need = iota
	changes      // refused while the server ends
	prompts      // changes, and waits for a turn
)

// on makes a handler of a function that returns the body of the answer.
func (s *Server) on(n need, do func(*request) ([]byte, error)) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, hr *nethttp.Request) {
		r, err := s.prepare(n, w, hr)
		var answer []byte
		if err == nil {
			if n != reads {
				defer s.end(n == prompts)
			}
			answer, err = do(r)
		}
		if err != nil {
			s.fail(w, hr, err)
			return
		}
		s.write(w, nethttp.StatusOK, answer)
	}
}

// prepare finds the VM and reads the body. If it succeeds for something that
// changes, that is counted.
func (s *Server) prepare(n need, w nethttp.ResponseWriter, hr *nethttp.Request) (*request, error) {
	r := &request{Request: hr, session: protocol.SessionID(hr.PathValue("id"))}
	var err error
	if r.body, err = s.read(n, w, hr); err != nil {
		return nil, err
	}
	if n != reads {
		if err := s.begin(n == prompts); err != nil {
			return nil, err
		}
	}
	if r.vm, err = s.o.Find(hr.Context(), hr.PathValue("vm")); err != nil {
		if n != reads {
			s.end(n == prompts)
		}
		return nil, err
	}
	return r, nil
}

// read reads a body whose size and time are bounded.
func (s *Server) read(n need, w nethttp.ResponseWriter, hr *nethttp.Request) ([]byte, error) {
	limit, code := int64(smallBody), protocol.CodeResourceLimit
	switch n {
	case reads:
		return nil, nil
	case prompts:
		limit, code = s.o.Limits.PromptBytes+bodySlack, protocol.CodePromptBytesLimit
	case changes:
		if hr.Method == nethttp.MethodPut { // a prompt in the queue
			limit, code = s.o.Limits.PromptBytes+bodySlack, protocol.CodePromptBytesLimit
		}
	}
	deadline := nethttp.NewResponseController(w)
	if err := deadline.SetReadDeadline(time.Now().Add(bodyPatience)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(hr.Body, limit+1))
	switch {
	case err != nil:
		return nil, protocol.Errorf(protocol.CodeInvalidArgument, "the body of the request did not come: %w", err)
	case int64(len(body)) > limit:
		// Who still sends does not listen: the rest is taken, and dropped.
		_, _ = io.Copy(io.Discard, io.LimitReader(hr.Body, surplus))
		return nil, protocol.Errorf(code, "the body of the request has more than %d bytes", limit).With("limit", limit)
	}
	return body, deadline.SetReadDeadline(time.Time{})
}

// fail answers with an error. Nobody reads that of a client who has left.
func (s *Server) fail(w nethttp.ResponseWriter, hr *nethttp.Request, err error) {
	pe := s.known(hr, err)
	s.write(w, pe.Code.Info().HTTP, public.AppendError(nil, pe))
}

// known returns err as it may be shown; the log has the cause of what is internal.
func (s *Server) known(hr *nethttp.Request, err error) *protocol.Error {
	if hr.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return protocol.Errorf(protocol.CodeShuttingDown, "the request has ended before its answer")
	}
	id := protocol.ErrorID(s.o.IDs())
	pe := protocol.AsError(err, id)
	if pe.Details["errorId"] == string(id) {
		s.o.Log.Error("request failed", zap.String("errorId", string(id)), zap.Error(err))
	}
	return pe
}

func (s *Server) write(w nethttp.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left needs no answer
}

// number reads a number of the query; nil if it is not there.
func (r *request) number(name string) (*int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidArgument, "%s=%s is no number", name, text)
	}
	return &n, nil
}

// limit reads the number of entries that a page may have; 0 means the default.
func (r *request) limit() (int, error) {
	n, err := r.number("limit")
	if err != nil || n == nil {
		return 0, err
	}
	return int(*n), nil
}
