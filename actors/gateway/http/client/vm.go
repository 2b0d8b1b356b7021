package client

import (
	"context"
	nethttp "net/http"
	"net/url"
	"strconv"

	"agentos/actors"
	"agentos/actors/gateway/http/wire"
	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/public"
	"agentos/protocol/rawjson"
)

// Name returns the name of the VM.
func (v *VM) Name() string { return v.name }

// Open is actors.VM.Open.
func (v *VM) Open(ctx context.Context, o actors.OpenSession) error {
	if err := protocol.ValidSessionID(o.Session); err != nil {
		return err
	}
	_, err := v.do(ctx, nethttp.MethodPost, v.at("sessions"), wire.AppendOpen(nil, o))
	return err
}

// Prompt is actors.VM.Prompt.
func (v *VM) Prompt(ctx context.Context, p actors.Prompt) (*protocol.Answer, error) {
	answer, _, err := v.prompt(ctx, p, false)
	return answer, err
}

// Enqueue is actors.VM.Enqueue.
func (v *VM) Enqueue(ctx context.Context, p actors.Prompt) (*protocol.Queued, *protocol.Answer, error) {
	answer, queued, err := v.prompt(ctx, p, true)
	if queued != nil {
		queued.Content, queued.Hash = p.Content, hash(p.Content)
	}
	return queued, answer, err
}

func hash(content []byte) [32]byte {
	blocks, err := acp.Blocks(content)
	if err != nil {
		return [32]byte{} // it has just been accepted
	}
	return acp.InputHash(blocks)
}

func (v *VM) prompt(ctx context.Context, p actors.Prompt, noWait bool) (*protocol.Answer, *protocol.Queued, error) {
	if err := protocol.ValidSessionID(p.Session); err != nil {
		return nil, nil, err
	}
	if err := usable(p.Content); err != nil {
		return nil, nil, err
	}
	body, err := v.do(ctx, nethttp.MethodPost, v.session(p.Session, "prompt"), wire.AppendPrompt(nil, p, noWait))
	if err != nil {
		return nil, nil, err
	}
	return wire.ParseAnswer(body)
}

// usable refuses content that would not make a body.
func usable(content []byte) error {
	if err := rawjson.Check(content); err != nil {
		return protocol.Errorf(protocol.CodeInvalidPrompt, "the prompt is no array of content blocks: %w", err)
	}
	return nil
}

// Recall is actors.VM.Recall.
func (v *VM) Recall(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) (*protocol.Answer, bool, error) {
	body, err := v.get(ctx, id, v.session(id, "prompts", string(prompt)))
	if err != nil {
		return nil, false, err
	}
	return wire.ParseRecall(body)
}

// Config is actors.VM.Config.
func (v *VM) Config(ctx context.Context, id protocol.SessionID) (actors.ConfigInfo, error) {
	body, err := v.get(ctx, id, v.session(id, "config"))
	if err != nil {
		return actors.ConfigInfo{}, err
	}
	_, c, err := public.ParseConfig(body)
	return c, err
}

// Configure is actors.VM.Configure.
func (v *VM) Configure(ctx context.Context, id protocol.SessionID, s actors.Setting) (actors.ConfigInfo, error) {
	if s.Value != nil && rawjson.Check(s.Value) != nil {
		return actors.ConfigInfo{}, protocol.Errorf(protocol.CodeInvalidConfigValue, "the value is no JSON")
	}
	body, err := v.post(ctx, id, v.session(id, "config"), wire.AppendSetting(nil, s))
	if err != nil {
		return actors.ConfigInfo{}, err
	}
	_, c, err := public.ParseConfig(body)
	return c, err
}

// Cancel is actors.VM.Cancel.
func (v *VM) Cancel(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	_, err := v.post(ctx, id, v.session(id, "cancel"), wire.AppendCancel(nil, wire.Cancel{Prompt: prompt}))
	return err
}

// Permit is actors.VM.Permit.
func (v *VM) Permit(ctx context.Context, id protocol.SessionID, r protocol.RequestID, option string) (protocol.PermissionAnswer, error) {
	if r == "" {
		return protocol.PermissionAnswer{}, protocol.Errorf(protocol.CodeRequestNotFound, "a permission request has an id")
	}
	body, err := v.post(ctx, id, v.session(id, "permissions", string(r)), wire.AppendPermit(nil, wire.Permit{Option: option}))
	if err != nil {
		return protocol.PermissionAnswer{}, err
	}
	return wire.ParsePermission(body)
}

// Unload is actors.VM.Unload.
func (v *VM) Unload(ctx context.Context, id protocol.SessionID) error {
	_, err := v.post(ctx, id, v.session(id, "unload"), nil)
	return err
}

// Delete is actors.VM.Delete.
func (v *VM) Delete(ctx context.Context, id protocol.SessionID) error {
	if err := protocol.ValidSessionID(id); err != nil {
		return err
	}
	_, err := v.do(ctx, nethttp.MethodDelete, v.session(id), nil)
	return err
}

// History is actors.VM.History.
func (v *VM) History(ctx context.Context, id protocol.SessionID, r actors.PageRequest) (actors.Page, error) {
	query := url.Values{}
	if r.After != nil {
		query.Set("after", strconv.FormatInt(int64(*r.After), 10))
	}
	if r.Before != nil {
		query.Set("before", strconv.FormatInt(int64(*r.Before), 10))
	}
	query.Set("limit", strconv.Itoa(r.Limit))
	at := v.session(id, "history")
	at.RawQuery = query.Encode()
	body, err := v.get(ctx, id, at)
	if err != nil {
		return actors.Page{}, err
	}
	return wire.ParsePage(body)
}

// Session is actors.VM.Session.
func (v *VM) Session(ctx context.Context, id protocol.SessionID) (protocol.SessionInfo, error) {
	body, err := v.get(ctx, id, v.session(id))
	if err != nil {
		return protocol.SessionInfo{}, err
	}
	return public.ParseSession(body)
}

// Sessions is actors.VM.Sessions.
func (v *VM) Sessions(ctx context.Context, cursor string, limit int) ([]protocol.SessionInfo, string, error) {
	query := url.Values{"cursor": {cursor}, "limit": {strconv.Itoa(limit)}}
	at := v.at("sessions")
	at.RawQuery = query.Encode()
	body, err := v.do(ctx, nethttp.MethodGet, at, nil)
	if err != nil {
		return nil, "", err
	}
	return wire.ParseSessions(body)
}

// Check is actors.VM.Check.
func (v *VM) Check(ctx context.Context) ([]actors.Finding, error) {
	body, err := v.do(ctx, nethttp.MethodGet, v.at("check"), nil)
	if err != nil {
		return nil, err
	}
	return wire.ParseFindings(body)
}

// Queue is actors.VM.Queue.
func (v *VM) Queue(ctx context.Context, id protocol.SessionID) ([]protocol.Queued, error) {
	body, err := v.get(ctx, id, v.session(id, "queue"))
	if err != nil {
		return nil, err
	}
	return wire.ParseQueue(body)
}

// QueueEdit is actors.VM.QueueEdit.
func (v *VM) QueueEdit(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID, content []byte) error {
	if err := usable(content); err != nil {
		return err
	}
	return v.queued(ctx, nethttp.MethodPut, id, prompt, wire.AppendContent(nil, content))
}

// QueueRemove is actors.VM.QueueRemove.
func (v *VM) QueueRemove(ctx context.Context, id protocol.SessionID, prompt protocol.PromptID) error {
	return v.queued(ctx, nethttp.MethodDelete, id, prompt, nil)
}

// QueueResume is actors.VM.QueueResume.
func (v *VM) QueueResume(ctx context.Context, id protocol.SessionID) error {
	_, err := v.post(ctx, id, v.session(id, "queue", "resume"), nil)
	return err
}

func (v *VM) queued(ctx context.Context, method string, id protocol.SessionID, prompt protocol.PromptID, body []byte) error {
	if err := protocol.ValidSessionID(id); err != nil {
		return err
	}
	if prompt == "" {
		return protocol.Errorf(protocol.CodeRequestNotFound, "a queued prompt has an id")
	}
	_, err := v.do(ctx, method, v.session(id, "queue", string(prompt)), body)
	return err
}

// get and post are do, for what a session has to be named for.
func (v *VM) get(ctx context.Context, id protocol.SessionID, at *url.URL) ([]byte, error) {
	if err := protocol.ValidSessionID(id); err != nil {
		return nil, err
	}
	return v.do(ctx, nethttp.MethodGet, at, nil)
}

func (v *VM) post(ctx context.Context, id protocol.SessionID, at *url.URL, body []byte) ([]byte, error) {
	if err := protocol.ValidSessionID(id); err != nil {
		return nil, err
	}
	return v.do(ctx, nethttp.MethodPost, at, body)
}
