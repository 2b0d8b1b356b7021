package route

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"agentos/adapters"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/protocol/rawjson"
	"agentos/sessions"
)

// setCall is a setting that the adapter was asked for.
type setCall struct {
	asked sessions.SetConfig
	id    jsonrpc.ID
	timer *time.Timer
}

// setAnswered and setLate are the ends of the call numbered n.
type (
	setAnswered struct {
		n      uint64
		answer jsonrpc.Response
	}
	setLate struct{ n uint64 }
)

// set asks for a setting. The answer comes through the mailbox, behind the updates
// before it.
func (r *Actor) set(c actor.Context, e sessions.SetConfig) {
	self, root := c.Self(), c.ActorSystem().Root
	r.calls++
	n := r.calls
	method, params := settingCall(string(e.ACP), e.Setting)
	id, err := r.adapter.Peer().Call(method, params, func(answer jsonrpc.Response) {
		root.Send(self, setAnswered{n, answer})
	})
	if err != nil {
		r.send(err) // ends the route, and the wait with it
		return
	}
	late := time.AfterFunc(r.setup.callLimit(), func() { root.Send(self, setLate{n}) })
	r.sets[n] = setCall{e, id, late}
}

func (r *Actor) setAnswered(c actor.Context, m setAnswered) {
	call, open := r.sets[m.n]
	if !open {
		return
	}
	in := sessions.Configured{Route: r.number, Token: call.asked.Token, Setting: call.asked.Setting}
	switch e := m.answer.Err.(type) {
	case nil:
		if m.answer.Error != nil {
			in.Err = settingError(call.asked.Setting, m.answer.Error)
		} else {
			in.Options = acp.ParseConfigOptions(m.answer.Result)
		}
	case *jsonrpc.DamagedError:
		in.Err = protocol.Errorf(protocol.CodeACPProtocolError, "the agent's answer to the setting could not be read: %w", e)
	case *jsonrpc.EndError:
		if e.Unsent {
			r.send(e)
		} // else the agent's output has ended: hasEnded says why
		return
	default:
		r.send(e)
		return
	}
	r.configured(c, m.n, in)
}

// setLate gives a setting up. The agent may still take it; then it says so in an
// update, if at all.
func (r *Actor) setLate(c actor.Context, n uint64) {
	call, open := r.sets[n]
	if !open {
		return
	}
	r.adapter.Peer().Cancel(call.id)
	if !r.adapter.Peer().Forget(call.id) {
		return // its end is on its way
	}
	method, _ := settingCall("", call.asked.Setting)
	r.configured(c, n, sessions.Configured{
		Route: r.number, Token: call.asked.Token, Setting: call.asked.Setting,
		Err: protocol.Errorf(protocol.CodeACPTimeout, "the agent did not answer %s in %v", method, r.setup.callLimit()).With("method", method),
	})
}

func (r *Actor) configured(c actor.Context, n uint64, in sessions.Configured) {
	r.sets[n].timer.Stop()
	delete(r.sets, n)
	c.Send(c.Parent(), Configured{in})
}

// settingError is why the agent did not take a setting, as its caller is shown it.
func settingError(set protocol.Setting, e *jsonrpc.Error) *protocol.Error {
	method, _ := settingCall("", set)
	switch e.Code {
	case acp.CodeInvalidParams:
		return protocol.Errorf(protocol.CodeInvalidConfigValue, "the agent does not take %s: %s", describe(set), e.Message).
			With("code", e.Code).With("message", e.Message)
	case acp.CodeMethodNotFound:
		return protocol.Errorf(protocol.CodeUnsupportedByAgent, "the agent does not have %s", method).With("method", method)
	}
	return agentError(method, e)
}

// describe names a setting for people and logs. The words are an agent's.
func describe(set protocol.Setting) string {
	if set.Mode != "" {
		return fmt.Sprintf("mode %q", set.Mode)
	}
	if text, ok := rawjson.String(set.Value); ok {
		return fmt.Sprintf("%q = %q", set.Option, text)
	}
	return fmt.Sprintf("%q = %s", set.Option, set.Value)
}

func settingCall(session string, set protocol.Setting) (method string, params []byte) {
	if set.Mode != "" {
		return acp.MethodSetMode, acp.SetModeParams(session, set.Mode)
	}
	return acp.MethodSetConfigOption, acp.SetConfigOptionParams(session, set.Option, set.Value)
}

// callLimit is how long an agent may take for a call that is neither a prompt nor
// of its coming up (S13).
func (s Setup) callLimit() time.Duration {
	if s.CallLimit > 0 {
		return s.CallLimit
	}
	return adapters.CallPatience().Max
}
