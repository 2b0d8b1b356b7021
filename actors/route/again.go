package route

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"agentos/actors/kernel"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
	"agentos/sessions/restore"
)

// errSlow ends the setting of stored settings: the agent took too long.
var errSlow = errors.New("it did not answer in time")

// setAgain gives an adapter session the settings that are stored, where it has
// others (S10.4). What the agent does not take back is lost, and said; only the end
// of the adapter is an error.
func (l *lifeline) setAgain(ctx context.Context, client Adapter, session protocol.ACPSessionID) error {
	stored := restore.Stored(l.record.ConfigOptions, sessions.ConfigOf(l.record).Modes)
	if len(stored) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.setup.callLimit(), errSlow)
	defer cancel()
	a := again{lifeline: l, client: client, session: string(session), missing: map[string]bool{}}
	for _, set := range stored {
		if err := a.set(ctx, set); err != nil {
			return err
		}
	}
	if len(a.lost) > 0 {
		l.log.Warn("settings of the session are lost", zap.Strings("settings", a.lost))
		if l.setup.Notice != nil {
			l.setup.Notice(l.record.ID, "the agent did not take back "+strings.Join(a.lost, ", "))
		}
	}
	return nil
}

// again is one round of setting things again.
type again struct {
	*lifeline
	client  Adapter
	session string
	asked   bool            // the adapter, for something
	missing map[string]bool // methods that it does not have
	lost    []string        // what it did not take, and why
}

// set sees to one stored setting.
func (a *again) set(ctx context.Context, set protocol.Setting) error {
	method, params := settingCall(a.session, set)
	switch verdict := a.said.compare(set); {
	case verdict == restore.AsStored:
		return nil
	case verdict == restore.NotOffered:
		a.lose(set, "not offered any more")
		return nil
	case a.missing[method]:
		a.lose(set, "no "+method)
		return nil
	}
	if !a.asked {
		a.asked = true
		a.tell(setStage{holding}) // what it says from now on is no replay
	}
	err := a.call(ctx, set, method, params)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		a.missing[method] = refused.Code == acp.CodeMethodNotFound
		a.lose(set, fmt.Sprintf("error %d", refused.Code))
	case errors.Is(err, errSlow):
		a.lose(set, errSlow.Error())
	default:
		return err
	}
	return nil
}

func (a *again) lose(set protocol.Setting, why string) {
	a.lost = append(a.lost, describe(set)+" ("+why+")")
}

// call asks for one setting and waits for the answer, which is heard in wire order.
func (a *again) call(ctx context.Context, set protocol.Setting, method string, params []byte) error {
	if ctx.Err() != nil {
		return a.over(ctx)
	}
	answered := make(chan jsonrpc.Response, 1)
	id, err := a.client.Peer().Call(method, params, func(r jsonrpc.Response) {
		if r.Err == nil && r.Error == nil {
			a.said.taken(set, r.Result)
		}
		answered <- r
	})
	if err != nil {
		return a.broke(ctx)
	}
	var answer jsonrpc.Response
	select {
	case answer = <-answered:
	case <-ctx.Done():
		a.client.Peer().Cancel(id)
		if a.client.Peer().Forget(id) {
			return a.over(ctx)
		}
		answer = <-answered // its end is being handed over
	}
	damaged := (*jsonrpc.DamagedError)(nil)
	switch {
	case answer.Error != nil:
		return answer.Error
	case errors.As(answer.Err, &damaged):
		return &jsonrpc.Error{Code: acp.CodeParseError, Message: "the answer could not be read"}
	case answer.Err != nil:
		return a.broke(ctx)
	}
	return nil
}

// over is the error of a round whose time, or whose route, is over.
func (a *again) over(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errSlow) {
		return errSlow
	}
	return kernel.Stopping()
}

// broke is the error of an adapter whose connection has ended meanwhile.
func (a *again) broke(ctx context.Context) error {
	select {
	case <-a.client.Exited():
		return a.client.ExitError("its settings were being set")
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return protocol.Errorf(protocol.CodeAdapterExited, "the agent closed its connection while its settings were being set; it was stopped")
}
