package route

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/adapters"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
	"agentos/sessions/restore"
)

// lifeline is a route's goroutine: it brings an adapter up, watches it, and
// takes it down. It may block; the route's actor never does.
type lifeline struct {
	env      *kernel.Env
	setup    Setup
	vm       string
	record   protocol.Record
	credit   *credit
	log      *zap.Logger
	tell     func(any)     // to the route's actor
	activity chan struct{} // a message has come; holds one
	deaf     chan struct{} // the adapter cannot be written to; holds one
	canClose bool          // session/close is advertised
	said     said          // how the adapter session is set
}

// run is the whole life of one route.
func (l *lifeline) run(ctx context.Context) {
	client, binding, err := l.begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = kernel.Stopping()
		}
		l.tell(hasEnded{l.env.Fault("bring up adapter", err)})
		return
	}
	l.said.bind(binding, func(b sessions.Binding) { l.tell(bound{binding: b}) })
	l.tell(hasEnded{l.watch(ctx, client, binding)})
}

func (l *lifeline) begin(ctx context.Context) (Adapter, sessions.Binding, error) {
	if err := l.place(); err != nil {
		return nil, sessions.Binding{}, err
	}
	return l.bringUp(ctx)
}

// watch waits for the end of the adapter, or ends it.
func (l *lifeline) watch(ctx context.Context, client Adapter, b sessions.Binding) *protocol.Error {
	select {
	case <-client.Exited():
		l.end(client, "")
		return client.ExitError("the session was using it")
	case <-client.Peer().Done():
		return l.broken(ctx, client, "closed its output")
	case <-client.Peer().Deaf():
		return l.broken(ctx, client, "closed its input")
	case <-l.deaf:
		return l.broken(ctx, client, "closed its input")
	case <-ctx.Done():
		l.end(client, b.ACPSession)
		return protocol.Errorf(protocol.CodeAdapterExited, "the agent was stopped")
	}
}

// broken ends an adapter with half a connection. Normally its process is about to
// end by itself, and then it is told how.
func (l *lifeline) broken(ctx context.Context, client Adapter, what string) *protocol.Error {
	select {
	case <-client.Exited():
		l.end(client, "")
		return client.ExitError("the session was using it")
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	l.end(client, "")
	return protocol.Errorf(protocol.CodeAdapterExited, "the agent %s and went on running; it was stopped", what)
}

// end stops the process and everything it has started, politely first (S9.3).
// The credit is closed before: a reader that waits for room must not hold the
// end up. session is what to close, "" if there is nothing.
func (l *lifeline) end(client Adapter, session protocol.ACPSessionID) {
	l.credit.close()
	l.halt(client, session)
}

func (l *lifeline) halt(client Adapter, session protocol.ACPSessionID) {
	grace := adapters.GraceFor(l.record.Spec.Agent)
	if l.canClose && session != "" {
		grace.Before = func(ctx context.Context) {
			_, err := client.Request(ctx, acp.MethodClose, acp.SessionParams(string(session)), closePatience)
			if err != nil {
				l.log.Debug("session/close", zap.Error(err))
			}
		}
	}
	if err := client.Stop(grace); err != nil {
		l.log.Warn("stop adapter", zap.Error(err))
	}
}

// bringUp starts the adapter and gets its session back, or a new one.
func (l *lifeline) bringUp(ctx context.Context) (Adapter, sessions.Binding, error) {
	for tried := false; ; tried = true {
		client, binding, again, err := l.attempt(ctx, tried)
		if !again {
			return client, binding, err
		}
		l.log.Info("restore was ambiguous; once more with a fresh process", zap.Error(err))
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, binding, kernel.Stopping()
		}
	}
}

// attempt is one process. If it does not end in a binding the process is gone
// when it returns.
func (l *lifeline) attempt(ctx context.Context, tried bool) (client Adapter, b sessions.Binding, again bool, err error) {
	client, err = l.setup.Launch(ctx, l.record, Hooks{
		Message:    l.message,
		Diagnostic: l.diagnostic,
	})
	if err != nil {
		return nil, b, false, err
	}
	l.tell(launched{client})
	hello, err := l.initialize(ctx, client)
	if err == nil {
		b, again, err = l.restore(ctx, client, hello, tried)
	}
	if err != nil {
		l.halt(client, "") // the credit stays open: there may be a next process
		return nil, b, again, err
	}
	return client, b, false, nil
}

func (l *lifeline) initialize(ctx context.Context, client Adapter) (acp.Initialize, error) {
	answer, err := l.request(ctx, client, acp.MethodInitialize,
		acp.InitializeParams(acp.Version, l.setup.ClientName, l.setup.ClientVersion))
	if err != nil {
		return acp.Initialize{}, asProtocol(acp.MethodInitialize, err)
	}
	hello, perr := acp.ParseInitialize(answer.Result)
	if perr != nil {
		return hello, protocol.Errorf(protocol.CodeACPProtocolError, "the agent broke the protocol: %w", perr)
	}
	if hello.ProtocolVersion != acp.Version {
		return hello, protocol.Errorf(protocol.CodeACPProtocolError,
			"the agent speaks version %d of the Agent Client Protocol, this runtime speaks version %d; look for another version of the agent",
			hello.ProtocolVersion, acp.Version).With("agentVersion", hello.ProtocolVersion)
	}
	l.canClose = hello.Close
	return hello, nil
}

// restore walks the ladder of S10 until a step gives a session.
func (l *lifeline) restore(ctx context.Context, client Adapter, hello acp.Initialize, tried bool) (b sessions.Binding, again bool, err error) {
	at := restore.Situation{
		Stored: l.record.ACPSession != "", Prompted: l.record.Prompted,
		Resume: hello.Resume, Load: hello.LoadSession,
	}
	for step := restore.First(at); ; {
		answer, err := l.try(ctx, client, step)
		if err == nil {
			b, err := l.bind(hello, step, answer)
			if err == nil {
				if err = l.setAgain(ctx, client, b.ACPSession); err != nil {
					err = l.failed(step, err)
				}
			}
			return b, false, err
		}
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) {
			return b, false, l.failed(step, err)
		}
		decision, next := restore.After(at, step, refused.Code, tried)
		switch decision {
		case restore.Again:
			return b, true, err
		case restore.Fail:
			return b, false, agentError(step.Method(), refused)
		}
		l.log.Info("restore step refused", zap.String("method", step.Method()), zap.Int64("code", refused.Code))
		step = next
	}
}

// try runs one step. What a restored session replays is discarded until a short
// silence after the answer.
func (l *lifeline) try(ctx context.Context, client Adapter, step restore.Step) (jsonrpc.Response, error) {
	spec, id := l.record.Spec, string(l.record.ACPSession)
	answers := func() int64 { return client.Peer().Stats().Answers }
	var params []byte
	switch step {
	case restore.Resume:
		params = acp.ResumeParams(id, spec.Cwd, spec.AdditionalDirectories, spec.MCPServers)
	case restore.Load:
		params = acp.LoadParams(id, spec.Cwd, spec.AdditionalDirectories, spec.MCPServers)
	default:
		l.tell(setStage{holding})
		l.said.begin("", answers)
		answer, err := l.request(ctx, client, step.Method(), acp.NewParams(spec.Cwd, spec.AdditionalDirectories, spec.MCPServers))
		if err == nil {
			l.said.open(acp.ParseSession(answer.Result))
		}
		return answer, err
	}
	l.tell(setStage{discarding})
	l.said.begin(id, answers)
	answer, err := l.request(ctx, client, step.Method(), params)
	if err == nil {
		l.said.open(acp.ParseSession(answer.Result))
		l.drain(ctx)
	}
	return answer, err
}

func (l *lifeline) request(ctx context.Context, client Adapter, method string, params []byte) (jsonrpc.Response, error) {
	answer, err := client.Request(ctx, method, params, l.setup.Patience)
	if err != nil && ctx.Err() != nil {
		return answer, kernel.Stopping()
	}
	return answer, err
}

// drain waits for a silence, in bounded time.
func (l *lifeline) drain(ctx context.Context) {
	end := time.After(replayMax)
	for {
		select {
		case <-l.activity:
		case <-time.After(replayQuiet):
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *lifeline) bind(hello acp.Initialize, step restore.Step, answer jsonrpc.Response) (sessions.Binding, error) {
	view := acp.ParseSession(answer.Result)
	b := sessions.Binding{
		ACP:          hello.ProtocolVersion,
		ACPSession:   l.record.ACPSession,
		RestoredBy:   step.By(),
		Capabilities: hello.Capabilities,
		AgentInfo:    hello.AgentInfo,
	}
	if step == restore.New {
		b.ACPSession = protocol.ACPSessionID(view.ID)
		if view.ID == "" || len(view.ID) > protocol.MaxIDBytes {
			return b, protocol.Errorf(protocol.CodeACPProtocolError, "the agent answered session/new without a usable sessionId")
		}
	}
	return b, nil
}

// failed is the error of a step that got no answer.
func (l *lifeline) failed(step restore.Step, err error) error {
	if step == restore.New {
		return err
	}
	pe := l.env.Fault("restore session", err)
	if pe.Code == protocol.CodeShuttingDown {
		return pe
	}
	return protocol.Errorf(protocol.CodeSessionRestoreFailed,
		"the agent did not bring its session back: %s; prompt again to try once more", pe.Message).
		With("method", step.Method()).With("cause", string(pe.Code)).Because(pe)
}

// message runs on the adapter's reader goroutine: waiting here is what stops
// reading.
func (l *lifeline) message(m jsonrpc.Message) {
	select {
	case l.activity <- struct{}{}:
	default:
	}
	if g, ok := l.credit.acquire(len(m.Raw) + messageCost); ok {
		l.said.hear(m, func() { l.tell(wire{m, g}) })
	}
}

func (l *lifeline) diagnostic(d jsonrpc.Diagnostic) {
	l.log.Debug("line of the agent skipped or mended", zap.String("kind", d.Kind.String()), zap.Int64("bytes", d.Bytes))
	if l.setup.Diagnostic != nil {
		l.setup.Diagnostic(l.record.ID, d)
	}
}

// agentError is the agent's own error, as its caller is shown it.
func agentError(method string, e *jsonrpc.Error) *protocol.Error {
	code, text := protocol.CodeAgentError, "the agent answered "+method+" with an error: "+e.Message
	if e.Code == acp.CodeAuthRequired {
		code, text = protocol.CodeAuthRequired, "the agent wants its user to sign in: "+e.Message+"; sign in with the agent's own program, then prompt again"
	}
	pe := protocol.Errorf(code, "%s", text).With("code", e.Code).With("message", e.Message)
	if e.Data != nil {
		pe = pe.With("data", json.RawMessage(e.Data))
	}
	return pe
}

// asProtocol turns an agent's error answer into one for callers.
func asProtocol(method string, err error) error {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return agentError(method, refused)
	}
	return err
}
