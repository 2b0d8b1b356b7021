package http

import (
	nethttp "net/http"

	"agentos/actors"
	"agentos/actors/gateway/http/wire"
	"agentos/protocol"
	"agentos/protocol/public"
)

// none is the answer of what has no other.
var none = []byte("{}")

func (s *Server) routes() nethttp.Handler {
	mux := nethttp.NewServeMux()
	mux.HandleFunc("GET /v1", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		s.write(w, nethttp.StatusOK, wire.AppendHello(nil, s.hello()))
	})
	const vm, session = "/v1/vms/{vm}", "/v1/vms/{vm}/sessions/{id}"
	for pattern, path := range map[string]struct {
		need need
		do   func(*request) ([]byte, error)
	}{
		"GET " + vm + "/check":                       {reads, check},
		"GET " + vm + "/sessions":                    {reads, list},
		"POST " + vm + "/sessions":                   {changes, open},
		"GET " + session:                             {reads, show},
		"DELETE " + session:                          {changes, remove},
		"POST " + session + "/prompt":                {prompts, prompt},
		"GET " + session + "/prompts/{prompt}":       {reads, s.recall},
		"GET " + session + "/history":                {reads, history},
		"POST " + session + "/permissions/{request}": {changes, permit},
		"POST " + session + "/cancel":                {changes, cancel},
		"POST " + session + "/unload":                {changes, unload},
		"GET " + session + "/config":                 {reads, config},
		"POST " + session + "/config":                {changes, configure},
		"GET " + session + "/queue":                  {reads, queue},
		"PUT " + session + "/queue/{prompt}":         {changes, edit},
		"DELETE " + session + "/queue/{prompt}":      {changes, dequeue},
		"POST " + session + "/queue/resume":          {changes, resume},
	} {
		mux.HandleFunc(pattern, s.on(path.need, path.do))
	}
	mux.HandleFunc("GET "+session+"/events", s.events)
	mux.HandleFunc("/", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body := public.AppendError(nil, protocol.Errorf(protocol.CodeInvalidArgument, "there is no %s %s", r.Method, r.URL.Path))
		s.write(w, nethttp.StatusNotFound, body)
	})
	return mux
}

func check(r *request) ([]byte, error) {
	found, err := r.vm.Check(r.Context())
	return wire.AppendFindings(nil, found), err
}

func list(r *request) ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	list, next, err := r.vm.Sessions(r.Context(), r.URL.Query().Get("cursor"), limit)
	return wire.AppendSessions(nil, list, next), err
}

func open(r *request) ([]byte, error) {
	o, err := wire.ParseOpen(r.body)
	if err != nil {
		return nil, err
	}
	return none, r.vm.Open(r.Context(), o)
}

func show(r *request) ([]byte, error) {
	s, err := r.vm.Session(r.Context(), r.session)
	return public.AppendSession(nil, s), err
}

func remove(r *request) ([]byte, error) { return none, r.vm.Delete(r.Context(), r.session) }

// prompt waits for the turn's end, or queues. The turn does not end with the
// request.
func prompt(r *request) ([]byte, error) {
	p, noWait, err := wire.ParsePrompt(r.session, r.body)
	if err != nil {
		return nil, err
	}
	r.body = nil // a turn may take days, and p has its own copy of the content
	var answer *protocol.Answer
	if noWait {
		queued, stored, err := r.vm.Enqueue(r.Context(), p)
		if err != nil || queued != nil {
			return appendQueued(queued), err
		}
		answer = stored
	} else if answer, err = r.vm.Prompt(r.Context(), p); err != nil {
		return nil, err
	}
	return wire.AppendAnswer(nil, *answer), nil
}

func appendQueued(q *protocol.Queued) []byte {
	if q == nil {
		return nil
	}
	return public.AppendQueued(nil, *q)
}

func (s *Server) recall(r *request) ([]byte, error) {
	answer, found, err := r.vm.Recall(r.Context(), r.session, protocol.PromptID(r.PathValue("prompt")))
	if !found && err != nil {
		return nil, err
	}
	if err != nil {
		return wire.AppendRecall(nil, nil, true, s.known(r.Request, err)), nil
	}
	return wire.AppendRecall(nil, answer, found, nil), nil
}

func history(r *request) ([]byte, error) {
	limit, err := r.limit()
	if err != nil {
		return nil, err
	}
	after, err := r.number("after")
	if err != nil {
		return nil, err
	}
	before, err := r.number("before")
	if err != nil {
		return nil, err
	}
	page, err := r.vm.History(r.Context(), r.session, actors.PageRequest{
		After: (*protocol.Sequence)(after), Before: (*protocol.Sequence)(before), Limit: limit,
	})
	return wire.AppendPage(nil, r.session, page), err
}

func permit(r *request) ([]byte, error) {
	p, err := wire.ParsePermit(r.body)
	if err != nil {
		return nil, err
	}
	answer, err := r.vm.Permit(r.Context(), r.session, protocol.RequestID(r.PathValue("request")), p.Option)
	return wire.AppendPermission(nil, answer), err
}

func cancel(r *request) ([]byte, error) {
	c, err := wire.ParseCancel(r.body)
	if err != nil {
		return nil, err
	}
	return none, r.vm.Cancel(r.Context(), r.session, c.Prompt)
}

func unload(r *request) ([]byte, error) { return none, r.vm.Unload(r.Context(), r.session) }

func config(r *request) ([]byte, error) {
	c, err := r.vm.Config(r.Context(), r.session)
	return public.AppendConfig(nil, r.session, c), err
}

func configure(r *request) ([]byte, error) {
	setting, err := wire.ParseSetting(r.body)
	if err != nil {
		return nil, err
	}
	c, err := r.vm.Configure(r.Context(), r.session, setting)
	return public.AppendConfig(nil, r.session, c), err
}

func queue(r *request) ([]byte, error) {
	list, err := r.vm.Queue(r.Context(), r.session)
	return wire.AppendQueue(nil, list), err
}

func edit(r *request) ([]byte, error) {
	content, err := wire.ParseContent(r.body)
	if err != nil {
		return nil, err
	}
	return none, r.vm.QueueEdit(r.Context(), r.session, protocol.PromptID(r.PathValue("prompt")), content)
}

func dequeue(r *request) ([]byte, error) {
	return none, r.vm.QueueRemove(r.Context(), r.session, protocol.PromptID(r.PathValue("prompt")))
}

func resume(r *request) ([]byte, error) { return none, r.vm.QueueResume(r.Context(), r.session) }
