package sessions_test

import (
	"encoding/json"
	"strings"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

// world is what the outside of a session sees of it: adapters, callers and
// watchers. It holds every effect to the rules as it is delivered.
type world struct {
	t      tester
	o      *owner
	policy protocol.Policy

	routes     map[sessions.Route]*connection
	dispatched map[protocol.PromptID]sessions.Route
	cancelled  map[protocol.PromptID]bool // session/cancel was sent
	asks       map[sessions.Call]*question
	permitted  map[protocol.RequestID]string // option, by the calls of Permit that were taken
	waiting    map[sessions.Token]caller
	gone       bool                 // the session was deleted
	finds      []string             // keys that are being looked up
	sets       []sessions.SetConfig // what adapters were asked to set, and have not answered
	held       map[string]bool
	shown      protocol.Sequence // last event published
	state      string            // last state published
	texts      map[protocol.RunID]string
	streamed   map[protocol.RunID][]string // payloads of the deltas
}

// connection is one adapter.
type connection struct {
	up, stopped, down bool
	foreign           bool // stopped by the owner: the machine does not know of it
}

// caller waits for a reply.
type caller struct {
	prompt  protocol.PromptID // whose answer it waits for, "" if none
	key     string            // or that of the prompt that its key was used for
	hash    [32]byte
	setting string           // id of what it wants set, "" if nothing
	routes  []sessions.Route // whose end it waits for
}

// question is one permission request.
type question struct {
	route    sessions.Route
	request  protocol.RequestID
	options  []acp.Option
	answered bool
}

func newWorld(t tester, o *owner) *world {
	w := &world{
		t: t, o: o, state: "idle",
		routes: map[sessions.Route]*connection{}, dispatched: map[protocol.PromptID]sessions.Route{}, cancelled: map[protocol.PromptID]bool{},
		asks: map[sessions.Call]*question{}, permitted: map[protocol.RequestID]string{},
		waiting: map[sessions.Token]caller{}, held: map[string]bool{},
		texts: map[protocol.RunID]string{}, streamed: map[protocol.RunID][]string{},
	}
	o.delivered = w.see
	o.swept = func() { w.gone, w.shown, w.state = false, 0, "idle" }
	return w
}

func (w *world) see(when string, e sessions.Effect) {
	w.t.Helper()
	switch e := e.(type) {
	case sessions.Publish:
		w.published(e.Event)
	case sessions.PublishDelta:
		w.delta(e.Delta)
	case sessions.PublishState:
		w.state = state(protocol.Record{State: e.State, Prompt: e.Prompt})
		if e.Sequence != w.shown {
			w.t.Fatalf("state %s at %d was published after event %d", w.state, e.Sequence, w.shown)
		}
	case sessions.StartRoute:
		for r, c := range w.routes {
			if !c.stopped && !c.down {
				w.t.Fatalf("route %d was started, and route %d is there", e.Route, r)
			}
		}
		w.routes[e.Route] = &connection{}
	case sessions.StopRoute:
		if c := w.routes[e.Route]; c == nil || c.stopped || c.down {
			w.t.Fatalf("route %d was stopped: %+v", e.Route, c)
		}
		w.routes[e.Route].stopped = true
	case sessions.Dispatch:
		w.dispatch(e)
	case sessions.SendCancel:
		if w.dispatched[e.Prompt] != e.Route || w.cancelled[e.Prompt] {
			w.t.Fatalf("cancel of %s was sent to route %d; cancelled %t, dispatched to %d", e.Prompt, e.Route, w.cancelled[e.Prompt], w.dispatched[e.Prompt])
		}
		w.cancelled[e.Prompt] = true
	case sessions.AnswerCall:
		w.answer(e)
	case sessions.Deleted:
		if len(w.upRoutes()) > 0 || !w.o.stored.deleted || w.gone {
			w.t.Fatalf("gone: %t, stored as such: %t, before: %t", len(w.upRoutes()) == 0, w.o.stored.deleted, w.gone)
		}
		w.gone = true
	case sessions.SetConfig:
		w.set(e)
	case sessions.FindKey:
		w.finds = append(w.finds, e.Key)
	case sessions.FindPermission:
		w.past(e)
	case sessions.Reply:
		w.reply(e)
	case sessions.Hold:
		w.held[e.For] = true
	case sessions.Release:
		if !w.held[e.For] {
			w.t.Fatalf("%s was released and not held", e.For)
		}
		delete(w.held, e.For)
	}
}

// published holds S6.4: what is shown is stored; and S7.3: what is stored of a
// run is what was streamed of it.
func (w *world) published(e protocol.Event) {
	w.t.Helper()
	run := e.Run
	e.Run = ""
	if e.Sequence != w.shown+1 || int(e.Sequence) > len(w.o.stored.events) {
		w.t.Fatalf("event %d was published after %d; %d are stored", e.Sequence, w.shown, len(w.o.stored.events))
	}
	if got := w.o.stored.events[e.Sequence-1]; string(got.Payload) != string(e.Payload) || got.At != e.At || got.Kind != e.Kind {
		w.t.Fatalf("event %d was published as %+v and stored as %+v", e.Sequence, e, got)
	}
	w.shown = e.Sequence
	if run == "" {
		return
	}
	if text := textOf(w.t, e.Payload); text != w.texts[run] {
		w.t.Fatalf("run %s: %q streamed, %q stored", run, w.texts[run], text)
	}
	for _, d := range w.streamed[run] {
		if blank(w.t, []byte(d)) != blank(w.t, e.Payload) {
			w.t.Fatalf("run %s: %s streamed, %s stored", run, d, e.Payload)
		}
	}
	delete(w.texts, run)
	delete(w.streamed, run)
}

// delta holds S5.2: the offset, and what it comes after.
func (w *world) delta(d protocol.Delta) {
	w.t.Helper()
	if d.After != w.shown {
		w.t.Fatalf("delta after %d came after %d", d.After, w.shown)
	}
	if int64(len(w.texts[d.Run])) != d.Offset {
		w.t.Fatalf("run %s: delta at %d after %q", d.Run, d.Offset, w.texts[d.Run])
	}
	w.texts[d.Run] += textOf(w.t, d.Payload)
	w.streamed[d.Run] = append(w.streamed[d.Run], string(d.Payload))
}

// dispatch holds S6.2: after the commit, once, and to a live route only.
func (w *world) dispatch(e sessions.Dispatch) {
	w.t.Helper()
	if !w.o.dispatch(e.Prompt) {
		return
	}
	a := w.o.stored.active()
	if c := w.routes[e.Route]; c == nil || !c.up || c.stopped || c.down {
		w.t.Fatalf("%s was dispatched to route %d: %+v", e.Prompt, e.Route, c)
	}
	if w.dispatched[e.Prompt] != 0 || a == nil || a.ID != e.Prompt || len(e.Blocks) == 0 || e.ACP == "" {
		w.t.Fatalf("dispatch %+v: before to %d, accepted %+v", e, w.dispatched[e.Prompt], a)
	}
	w.dispatched[e.Prompt] = e.Route
	if w.o.dispatch(e.Prompt) {
		w.t.Fatalf("%s may be dispatched twice", e.Prompt)
	}
}

// reply holds S6.3 and S9.3: once, after what it tells is stored, and after the
// adapters have gone that it waits for.
func (w *world) reply(e sessions.Reply) {
	w.t.Helper()
	if e.Token == 0 {
		return // nobody waits
	}
	c, waits := w.waiting[e.Token]
	if !waits {
		w.t.Fatalf("token %d was answered, and nobody waits: %+v", e.Token, e)
	}
	delete(w.waiting, e.Token)
	for _, r := range c.routes {
		if !w.routes[r].down {
			w.t.Fatalf("an unload was answered before route %d was gone", r)
		}
	}
	if c.setting != "" {
		w.configured(c, e)
	}
	if c.prompt == "" {
		return
	}
	if e.Queued != nil {
		w.queued(c, *e.Queued)
		return
	}
	if c.key != "" {
		c.prompt = w.keyed(c, e)
	}
	var stored protocol.Prompt // its state is "" if it was never accepted
	for _, p := range w.o.stored.prompts {
		if p.ID == c.prompt {
			stored = p
		}
	}
	switch {
	case stored.State == protocol.PromptAcceptedState,
		stored.State == protocol.PromptCompletedState && e.Answer == nil,
		stored.State == protocol.PromptFailedState && e.Err == nil,
		stored.State == "" && e.Err == nil && e.Answer.StopReason != protocol.StopCancelled:
		w.t.Fatalf("%s was answered %+v and is stored as %+v", c.prompt, e, stored)
	}
	if e.Answer != nil && stored.Result != nil {
		w.readBack(stored, *e.Answer)
	}
	if e.Answer != nil && e.Answer.Forced {
		if r := w.routes[w.dispatched[c.prompt]]; r == nil || !r.stopped && !r.down {
			w.t.Fatalf("%s was cancelled by force, and its adapter goes on: %+v", c.prompt, r)
		}
	}
}

// set holds that an adapter is asked for a setting while somebody waits for it,
// one at a time, and that the VM is held.
func (w *world) set(e sessions.SetConfig) {
	w.t.Helper()
	c := w.waiting[e.Token]
	if conn := w.routes[e.Route]; conn.stopped || conn.down {
		return // on its way to a route that has gone
	}
	switch {
	case !w.routes[e.Route].up || e.ACP == "" || c.setting == "" || !w.held[c.setting]:
		w.t.Fatalf("route %+v is asked for %+v by %+v; held: %v", w.routes[e.Route], e, c, w.held)
	case (e.Setting.Option == "") == (e.Setting.Mode == ""):
		w.t.Fatalf("setting %+v", e.Setting)
	}
	for _, other := range w.sets {
		if _, waits := w.waiting[other.Token]; waits && other.Route == e.Route {
			w.t.Fatalf("%+v is asked for before there is an answer to %+v", e, other)
		}
	}
	w.sets = append(w.sets, e)
}

// configured holds that a caller is told what is stored, when it is.
func (w *world) configured(c caller, e sessions.Reply) {
	w.t.Helper()
	r := w.o.stored.record()
	switch {
	case (e.Config == nil) == (e.Err == nil):
		w.t.Fatalf("%s was answered %+v", c.setting, e)
	case e.Err != nil:
	case e.Config.Revision != r.ConfigRevision || string(e.Config.Options) != string(r.ConfigOptions):
		w.t.Fatalf("%s was told of revision %d, %s; stored is %d, %s", c.setting, e.Config.Revision, e.Config.Options, r.ConfigRevision, r.ConfigOptions)
	case string(e.Config.Modes) != string(sessions.ConfigOf(r).Modes):
		w.t.Fatalf("%s was told of modes %s; stored is %s", c.setting, e.Config.Modes, r.Metadata)
	}
}

// keyed holds S6.8: whoever has the same key and content gets what the one turn
// got, and with other content nothing. It returns whose prompt the reply is
// about.
func (w *world) keyed(c caller, e sessions.Reply) protocol.PromptID {
	w.t.Helper()
	used := w.o.stored.byKey(c.key)
	conflict := e.Err != nil && e.Err.Code == protocol.CodeIdempotencyConflict
	switch {
	case e.Err == nil && e.Answer.Prompt == c.prompt, conflict && used == nil: // its own turn; or one that never came up
		return c.prompt
	case e.Err != nil && e.Err.Code == protocol.CodeSessionBusy, used == nil:
		return ""
	case !conflict && used.Hash == edited: // in the queue, after the caller had joined
	case conflict != (used.Hash != c.hash):
		w.t.Fatalf("key %q was used with %x; %x got %+v", c.key, used.Hash[:1], c.hash[:1], e)
	case conflict:
		return ""
	case e.Err == nil && e.Answer.Prompt != used.ID:
		w.t.Fatalf("key %q was used for %s; %s got the answer of %s", c.key, used.ID, c.prompt, e.Answer.Prompt)
	}
	return used.ID
}

// queued holds S6.9: a prompt that was said to be queued is stored as such, or has
// begun.
func (w *world) queued(c caller, q protocol.Queued) {
	w.t.Helper()
	if q.ID != c.prompt && (c.key == "" || q.Key != c.key) {
		w.t.Fatalf("%+v was told that %+v is queued", c, q)
	}
}

// edited is the hash of what a queued prompt is edited to.
var edited = [32]byte{9}

// past holds S8.3: of a request that is not pending it is stored how it ended, if
// it ever was.
func (w *world) past(e sessions.FindPermission) {
	w.t.Helper()
	if _, waits := w.waiting[e.Token]; !waits {
		w.t.Fatalf("token %d is to be told about %s, and nobody waits", e.Token, e.Request)
	}
	delete(w.waiting, e.Token)
	if p := w.o.stored.find(e.Request); p != nil && p.State == protocol.PermissionPending {
		w.t.Fatalf("%s is to be looked up, and it is pending", e.Request)
	}
}

// readBack holds S6.6: an answer that is read from what is stored is the answer
// that was given.
func (w *world) readBack(p protocol.Prompt, a protocol.Answer) {
	w.t.Helper()
	var r struct {
		StopReason, MessageID, RestoredBy, Earlier string
		First, Last                                int
		Forced                                     bool
	}
	if err := json.Unmarshal(p.Result, &r); err != nil {
		w.t.Fatalf("result %s: %v", p.Result, err)
	}
	said := sessions.Spoken(nil, w.o.stored.events[r.First-1:r.Last])
	got := *sessions.Recall("s", p, said).Answer
	got.Recalled = a.Recalled // the one thing that may differ
	if diff := cmp.Diff(a, got); diff != "" || got.Message != nil && string(got.Message.ID) != r.MessageID {
		w.t.Fatalf("%s is not the answer that was given (-given +stored):\n%s", p.Result, diff)
	}
}

// settled holds what must be true whenever nothing is under way: watchers know
// the state, and nobody is asked in a turn that is being cancelled.
func (w *world) settled() {
	w.t.Helper()
	if len(w.o.flight) > 0 || !w.o.stored.exists {
		return
	}
	rec, pending := w.o.stored.record(), w.o.stored.pending()
	if w.state != state(rec) {
		w.t.Fatalf("watchers think that the session is %s; it is %s", w.state, state(rec))
	}
	if len(pending) > 0 && (w.cancelled[rec.Prompt] || int64(len(pending)) > w.o.limits.PendingPermissionsSession) {
		w.t.Fatalf("%d permissions are pending of %s; cancelled %t, limit %d", len(pending), rec.Prompt, w.cancelled[rec.Prompt], w.o.limits.PendingPermissionsSession)
	}
}

// answer holds S8: once each, and never an allow that nobody gave.
func (w *world) answer(e sessions.AnswerCall) {
	w.t.Helper()
	q := w.asks[e.Call]
	if q == nil || q.route != e.Route || q.answered {
		w.t.Fatalf("answer %s %s: %+v", e.Call, e.Result, q)
	}
	q.answered = true
	if string(e.Result) == `{"outcome":{"outcome":"cancelled"}}` {
		return
	}
	var r struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(e.Result, &r); err != nil || r.Outcome.Outcome != "selected" {
		w.t.Fatalf("answer %s: %s", e.Call, e.Result)
	}
	kinds := map[string]bool{}
	for _, o := range q.options {
		if o.ID == r.Outcome.OptionID {
			kinds[o.Kind] = true
		}
	}
	switch w.policy {
	case protocol.PolicyAsk:
		p := w.o.stored.find(q.request)
		if w.permitted[q.request] != r.Outcome.OptionID || p == nil || string(p.Response) != string(e.Result) {
			w.t.Fatalf("answer %s %s; permitted %q, stored %+v", e.Call, e.Result, w.permitted[q.request], p)
		}
	case protocol.PolicyAllowAll:
		if len(kinds) != 1 || !kinds[acp.AllowOnce] && !kinds[acp.AllowAlways] {
			w.t.Fatalf("allow_all picked %s of %+v", r.Outcome.OptionID, q.options)
		}
	case protocol.PolicyRejectAll:
		if len(kinds) != 1 || !kinds[acp.RejectOnce] && !kinds[acp.RejectAlways] {
			w.t.Fatalf("reject_all picked %s of %+v", r.Outcome.OptionID, q.options)
		}
	}
	if len(kinds) == 0 {
		w.t.Fatalf("answer %s %s was not offered: %+v", e.Call, e.Result, q.options)
	}
}

// upRoutes returns the adapters that this life has started and that are not gone.
func (w *world) upRoutes() (routes []sessions.Route) {
	for r, conn := range w.routes {
		if !conn.down && !conn.foreign {
			routes = append(routes, r)
		}
	}
	return routes
}

// lost is what the owner does for those whose epoch is lost: their callers are
// told by it, and nothing but a prompt that has to be settled holds the VM.
func (w *world) lost() {
	clear(w.waiting)
	w.finds = nil
	clear(w.texts)
	clear(w.streamed)
	for id := range w.held {
		if a := w.o.stored.active(); a == nil || string(a.ID) != id {
			delete(w.held, id)
		}
	}
}

// rest holds what must be true when nothing is going on any more.
func (w *world) rest() {
	w.t.Helper()
	w.settled()
	switch {
	case len(w.waiting) > 0:
		w.t.Fatalf("tokens were never answered: %v", w.waiting)
	case len(w.finds) > 0:
		w.t.Fatalf("keys were never looked up: %v", w.finds)
	case len(w.held) > 0:
		w.t.Fatalf("the VM is held for ever: %v", w.held)
	case len(w.texts) > 0:
		w.t.Fatalf("runs were streamed and never stored: %v", w.texts)
	case w.o.stored.active() != nil || len(w.o.stored.pending()) > 0 || w.o.timer != 0:
		w.t.Fatalf("not at rest: active %+v, pending %v, timer %d", w.o.stored.active(), w.o.stored.pending(), w.o.timer)
	case int(w.shown) != len(w.o.stored.events):
		w.t.Fatalf("%d events were shown, %d are stored", w.shown, len(w.o.stored.events))
	}
	for call, q := range w.asks {
		if c := w.routes[q.route]; !q.answered && c.up && !c.stopped && !c.down {
			w.t.Fatalf("%s was never answered, and its adapter waits: %+v", call, q)
		}
	}
}

// textOf decodes the text of a chunk with the standard library.
func textOf(t tester, payload []byte) string {
	t.Helper()
	var v struct{ Content struct{ Text string } }
	if err := json.Unmarshal(payload, &v); err != nil {
		t.Fatalf("chunk %s: %v", payload, err)
	}
	return v.Content.Text
}

// blank returns a chunk without the bytes of its text: they are the last member
// of its content in all chunks of these tests.
func blank(t tester, payload []byte) string {
	t.Helper()
	head, rest, ok := strings.Cut(string(payload), `"text":"`)
	if !ok {
		t.Fatalf("chunk %s has no text", payload)
	}
	end := strings.LastIndex(rest, `"}`)
	return head + rest[end:]
}
