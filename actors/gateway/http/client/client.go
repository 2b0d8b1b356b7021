// Package client is a VM in another process: the methods of *actors.VM, carried
// over HTTP by the front door of the process that holds it.
//
// It has no rule of its own and repeats nothing by itself: if the process behind
// the door dies, a call ends with ErrGone, and whether what was asked for has
// happened the caller has to find out, from the VM when it is open again.
//
// Errors are *protocol.Error, the same as in process but for their causes, and
// with details that are raw JSON; or they wrap ErrGone; or they are the context's.
//
// # Concurrency and ownership
//
// A VM may be used from any goroutine; whoever made it closes it, behind the last
// call. A Subscription belongs to one goroutine, which closes it; it has a
// goroutine of its own, which Close waits for.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"

	"agentos/actors/gateway/http/wire"
	"agentos/protocol"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// ErrGone says that the process behind the door is not there any more, or has
// stopped to speak in the middle of an answer.
var ErrGone = errors.New("the process that held the VM is gone")

// answerBytes bounds an answer: a page, a message or an event is far below.
const answerBytes = 1 << 30

// VM is one VM of a server.
type VM struct {
	name string
	http *nethttp.Client
}

// Dialer makes a connection to the server.
type Dialer func(ctx context.Context) (net.Conn, error)

// New returns the VM called name of the server that dial leads to. It does not
// connect yet.
func New(name string, dial Dialer) *VM {
	return &VM{name: name, http: &nethttp.Client{Transport: &nethttp.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression: true,
	}}}
}

// Close gives the connections back that nothing runs on.
func (v *VM) Close() { v.http.CloseIdleConnections() }

// Hello asks who is there.
func (v *VM) Hello(ctx context.Context) (wire.Hello, error) {
	body, err := v.do(ctx, nethttp.MethodGet, &url.URL{Path: "/v1"}, nil)
	if err != nil {
		return wire.Hello{}, err
	}
	return wire.ParseHello(body)
}

// at returns the URL of a path below the VM. Names and ids are one segment each,
// whatever is in them.
func (v *VM) at(segments ...string) *url.URL {
	u := &url.URL{}
	for _, s := range append([]string{"v1", "vms", v.name}, segments...) {
		u.Path += "/" + s
		escaped := url.PathEscape(s)
		if strings.Trim(s, ".") == "" { // a path of dots would be cleaned away
			escaped = strings.ReplaceAll(s, ".", "%2E")
		}
		u.RawPath += "/" + escaped
	}
	return u
}

func (v *VM) session(id protocol.SessionID, segments ...string) *url.URL {
	return v.at(append([]string{"sessions", string(id)}, segments...)...)
}

// do asks for one thing and returns the body of the answer.
func (v *VM) do(ctx context.Context, method string, u *url.URL, body []byte) ([]byte, error) {
	answer, err := v.send(ctx, method, u, body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerBytes))
	if cerr := answer.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, gone(ctx, err)
	}
	if answer.StatusCode != nethttp.StatusOK {
		return nil, failure(answer.StatusCode, text)
	}
	return text, nil
}

// send returns an answer whose body the caller closes.
func (v *VM) send(ctx context.Context, method string, u *url.URL, body []byte) (*nethttp.Response, error) {
	at := *u
	at.Scheme, at.Host = "http", "agentos"
	r, err := nethttp.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := v.http.Do(r)
	if err != nil {
		return nil, gone(ctx, err)
	}
	return answer, nil
}

// gone is what a connection that failed means, unless the caller has ended it.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// failure is the error that an answer holds.
func failure(status int, body []byte) error {
	raw, ok := rawjson.Get(body, "error")
	if !ok {
		return protocol.Errorf(protocol.CodeInternal, "the process that holds the VM answered with status %d and no error", status)
	}
	return public.ParseErrorObject(raw)
}
