package http

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"agentos/actors"
	"agentos/actors/gateway/http/wire"
	"agentos/protocol"
)

// Bounds of a connection. A body may be large and its sender slow; a stream has no
// bound.
const (
	headerPatience = 10 * time.Second
	bodyPatience   = 2 * time.Minute
	idlePatience   = 2 * time.Minute
	headerBytes    = 64 << 10
	bodySlack      = 1 << 20 // of a prompt beside its content
	smallBody      = 1 << 20
	surplus        = 256 << 20 // of a body that is too large; it is read, and dropped
)

// Options are what a Server needs. All but Log and Limits are required.
type Options struct {
	// Find returns the VM of a name. It may wait for one that is being opened; its
	// errors are *protocol.Error.
	Find func(ctx context.Context, name string) (*actors.VM, error)
	// Hello is what GET /v1 answers; Protocol and Stopping are the Server's.
	Hello wire.Hello
	// IDs names internal errors, for the caller and for the log.
	IDs func() string
	// Log receives the causes of internal errors; nil means silence.
	Log *zap.Logger
	// Limits bound the bodies; the zero value means protocol.DefaultLimits.
	Limits protocol.Limits
}

// Server serves VMs over HTTP.
type Server struct {
	o    Options
	http *nethttp.Server

	mu       sync.Mutex
	stopping bool
	busy     int           // requests that change something
	prompts  int           // those of them that wait for a turn
	idle     chan struct{} // closed while busy is 0
}

// New returns a server that serves nothing yet.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Limits == (protocol.Limits{}) {
		o.Limits = protocol.DefaultLimits()
	}
	o.Hello.Protocol = wire.Protocol
	s := &Server{o: o, idle: make(chan struct{})}
	close(s.idle)
	errorLog, err := zap.NewStdLogAt(o.Log, zap.WarnLevel)
	if err != nil {
		panic("http: " + err.Error()) // the level exists
	}
	s.http = &nethttp.Server{
		Handler: s.routes(), ErrorLog: errorLog,
		ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: headerBytes,
	}
	return s
}

// Serve answers on l until l is closed, which is no error, or the server is.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, nethttp.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Refuse has everything refused that would begin or change something.
func (s *Server) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
}

// Prompts returns how many requests wait for the end of a turn.
func (s *Server) Prompts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompts
}

// Idle waits until no request that changes something runs, or ctx ends.
func (s *Server) Idle(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the server: it waits for what still runs until ctx ends, then ends
// the connections.
func (s *Server) Close(ctx context.Context) error {
	s.Refuse()
	err := s.http.Shutdown(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(err, s.http.Close())
}

// begin counts a request that changes something, or refuses it.
func (s *Server) begin(prompt bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return protocol.Errorf(protocol.CodeShuttingDown, "the process that holds the VM is ending; try again")
	}
	if s.busy++; s.busy == 1 {
		s.idle = make(chan struct{})
	}
	if prompt {
		s.prompts++
	}
	return nil
}

func (s *Server) end(prompt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy == 0 {
		close(s.idle)
	}
	if prompt {
		s.prompts--
	}
}

func (s *Server) hello() wire.Hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.o.Hello
	h.Stopping = s.stopping
	return h
}
