package sessions_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/sessions"
)

// TestSession_HoldsItsRules drives a machine with random inputs, in any phase
// and partly late, doubled or of the wrong route, over slow and refusing storage
// and through crashes. twin_test.go and watch_test.go hold the rules (S3, S5.2,
// S6.2 to S6.5, S6.10, S7.3, S8.2 to S8.4, S9, S13).
func TestSession_HoldsItsRules(t *testing.T) {
	for _, policy := range []protocol.Policy{protocol.PolicyAsk, protocol.PolicyAllowAll, protocol.PolicyRejectAll} {
		t.Run(string(policy), rapid.MakeCheck(func(t *rapid.T) {
			d := newDriver(t, policy)
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				d.one()
				d.w.settled()
			}
			d.toRest()
			d.w.rest()
		}))
	}
}

// driver draws inputs.
type driver struct {
	t       *rapid.T
	o       *owner
	w       *world
	at      protocol.TimeMS
	tokens  sessions.Token
	prompts []protocol.PromptID
	asked   []protocol.RequestID
	calls   int
}

func newDriver(t *rapid.T, policy protocol.Policy) *driver {
	limits := protocol.DefaultLimits()
	if rapid.Bool().Draw(t, "small limits") {
		limits.CompletedMessageBytes, limits.TurnOutputBytes, limits.PendingPermissionsSession = 130, 900, 2
	}
	d := &driver{t: t, o: newOwner(t, limits), at: 1000}
	d.w = newWorld(t, d.o)
	d.w.policy = policy
	d.open()
	return d
}

func (d *driver) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(d.t, what)
}

// one draws one thing that happens.
func (d *driver) one() {
	d.at += protocol.TimeMS(rapid.SampledFrom([]int{0, 0, 1, 100, 300, -5000, 12000}).Draw(d.t, "later"))
	switch d.pick("what", "turn", "turn", "turn", "open", "prompt", "up", "up", "down", "update", "update", "update", "update", "ask", "ask",
		"answer", "answer", "permit", "permit", "find", "queue", "configure", "configured", "cancel", "unload", "delete", "tick", "slow", "commit", "commit", "refuse", "crash", "swap") {
	case "turn":
		d.prompt()
		d.up(d.o.last)
	case "open":
		d.open()
	case "prompt":
		d.prompt()
	case "up":
		d.up(d.route())
	case "down":
		d.down(d.route())
	case "update":
		d.update()
	case "ask":
		d.ask()
	case "answer":
		d.answer()
	case "permit":
		d.permit()
	case "queue":
		d.queue()
	case "find":
		d.find()
	case "configure":
		d.configure()
	case "configured":
		d.configured()
	case "cancel":
		in := sessions.Cancel{Token: d.token(caller{}), At: d.at}
		if rapid.Bool().Draw(d.t, "named") {
			in.Prompt = d.promptID()
		}
		d.step(in)
	case "unload":
		d.unload()
	case "delete":
		if rapid.IntRange(0, 9).Draw(d.t, "really") == 0 {
			d.delete()
		}
	case "tick":
		d.tick(d.at)
	case "slow":
		d.o.slow = true
	case "commit":
		if len(d.o.flight) > 0 {
			d.o.commit()
		}
	case "refuse":
		if len(d.o.flight) > 0 {
			d.refuse()
		}
	case "crash":
		d.crash()
	case "swap":
		d.swap()
	}
}

// step feeds an input, and then a tick if the timer has been reached: it must
// not want the same again.
func (d *driver) step(in sessions.Input) *protocol.Error {
	d.t.Helper()
	err := d.o.step(in)
	if d.o.timer != 0 && d.o.timer <= d.at {
		d.tick(d.at)
	}
	return err
}

func (d *driver) tick(at protocol.TimeMS) {
	d.t.Helper()
	d.o.step(sessions.Tick{At: at})
	if d.o.timer != 0 && d.o.timer <= at {
		d.t.Fatalf("timer %d at %d, after a tick", d.o.timer, at)
	}
}

func (d *driver) token(c caller) sessions.Token {
	d.tokens++
	d.w.waiting[d.tokens] = c
	return d.tokens
}

// unload waits for all adapters that this life has started.
func (d *driver) unload() {
	d.t.Helper()
	d.step(sessions.Unload{Token: d.token(caller{routes: d.w.upRoutes()}), At: d.at})
}

func (d *driver) delete() {
	d.t.Helper()
	d.step(sessions.Delete{Token: d.token(caller{routes: d.w.upRoutes()}), At: d.at})
}

// call steps an input that carries a token; a mistake is answered by the owner.
func (d *driver) call(in sessions.Input) *protocol.Error {
	d.t.Helper()
	token := d.tokens
	err := d.step(in)
	if err != nil {
		delete(d.w.waiting, token)
	}
	return err
}

func (d *driver) open() {
	in := d.opening()
	in.Token = d.token(caller{})
	d.call(in)
}

func (d *driver) opening() sessions.Open {
	in := sessions.Open{At: d.at, Spec: protocol.Spec{Agent: d.pick("agent", "tiny", "tiny", "other"), Cwd: "/w", Policy: d.w.policy}}
	if rapid.Bool().Draw(d.t, "given") {
		in.Given = sessions.FieldAgent
	}
	return in
}

func (d *driver) prompt() {
	id := protocol.PromptID(fmt.Sprintf("p%d", len(d.prompts)+1))
	in := sessions.Prompt{ID: id, Message: protocol.MessageID("u-" + string(id)), At: d.at}
	if rapid.IntRange(0, 2).Draw(d.t, "keyed") == 0 {
		in.Key, in.Hash[0] = d.pick("key", "k1", "k2", "k3"), rapid.SampledFrom([]byte{1, 1, 1, 2}).Draw(d.t, "hash")
	}
	in.Queue, in.Now = d.pick("whenBusy", "refuse", "queue") == "queue", rapid.IntRange(0, 3).Draw(d.t, "now") == 0
	in.NoWait = in.Queue && rapid.Bool().Draw(d.t, "no wait")
	in.Token = d.token(caller{prompt: id, key: in.Key, hash: in.Hash})
	for range rapid.IntRange(0, 2).Draw(d.t, "blocks") {
		in.Blocks = append(in.Blocks, acp.TextBlock("hi"))
	}
	if rapid.IntRange(0, 4).Draw(d.t, "nobody there") == 0 {
		in.IfAsked = sessions.EndTurn
	}
	if rapid.IntRange(0, 3).Draw(d.t, "opens") == 0 {
		open := d.opening()
		in.Open = &open
	}
	d.prompts = append(d.prompts, id)
	d.call(in)
}

// queue changes the queue by hand.
func (d *driver) queue() {
	id := d.promptID()
	if q := d.o.machine.Snapshot().Queue; len(q) > 0 && rapid.IntRange(0, 3).Draw(d.t, "queued") > 0 {
		id = rapid.SampledFrom(q).Draw(d.t, "item").ID
	}
	token := d.token(caller{})
	switch d.pick("queue", "edit", "remove", "resume", "resume") {
	case "edit":
		d.call(sessions.QueueEdit{Token: token, ID: id, Blocks: [][]byte{acp.TextBlock("edited")}, Hash: edited, At: d.at})
	case "remove":
		d.call(sessions.QueueRemove{Token: token, ID: id, At: d.at})
	case "resume":
		d.call(sessions.QueueResume{Token: token, At: d.at})
	}
}

// find answers the oldest question about a key, now and then with an error.
func (d *driver) find() {
	if len(d.w.finds) == 0 {
		return
	}
	in := sessions.KeyFound{Key: d.w.finds[0], At: d.at}
	d.w.finds = d.w.finds[1:]
	if rapid.IntRange(0, 9).Draw(d.t, "unreadable") == 0 {
		in.Err = fault("session_busy")
	} else {
		in.Stored = d.o.stored.used(in.Key)
	}
	d.step(in)
}

func (d *driver) options() string {
	return d.pick("options", `[]`, `[{"id":"b"}]`, `[{"id":"a","type":"boolean","currentValue":true}]`,
		`[{"id":"a","type":"select","currentValue":"u","options":[{"value":"u"},{"value":"v"}]},{"id":"b"}]`)
}

// configure asks for a setting that the agent has, or may not have.
func (d *driver) configure() {
	in := sessions.Configure{ID: fmt.Sprintf("c%d", d.tokens+1), At: d.at}
	switch d.pick("setting", "option", "option", "mode", "nothing") {
	case "option":
		in.Setting.Option, in.Setting.Value = d.pick("id", "a", "b"), []byte(d.pick("value", `"u"`, `"v"`, `true`, `"false"`, `1`))
	case "mode":
		in.Setting.Mode = d.pick("mode", "x", "y", "z")
	}
	in.Token = d.token(caller{setting: in.ID})
	d.call(in)
}

// configured answers the oldest setting that an adapter was asked for, or one that
// none was asked for.
func (d *driver) configured() {
	in := sessions.Configured{Route: d.route(), Setting: protocol.Setting{Mode: "y"}, At: d.at}
	if len(d.w.sets) > 0 && rapid.IntRange(0, 9).Draw(d.t, "asked") > 0 {
		e := d.w.sets[0]
		d.w.sets = d.w.sets[1:]
		if d.w.routes[e.Route].down {
			return
		}
		in.Route, in.Token, in.Setting = e.Route, e.Token, e.Setting
	}
	switch d.pick("answer to it", "options", "options", "nothing", "error") {
	case "options":
		in.Options = []byte(d.options())
	case "error":
		in.Err = fault("invalid_config_value")
	}
	d.step(in)
}

func (d *driver) promptID() protocol.PromptID {
	if n := len(d.prompts); n > 0 && rapid.IntRange(0, 4).Draw(d.t, "prompt") > 0 {
		return d.prompts[n-1]
	} else if n > 0 {
		return rapid.SampledFrom(d.prompts).Draw(d.t, "old prompt")
	}
	return "p0"
}

// route draws the newest route mostly, else an old one or one that never was.
func (d *driver) route() sessions.Route {
	if rapid.IntRange(0, 5).Draw(d.t, "route") > 0 {
		return d.o.last
	}
	return sessions.Route(rapid.IntRange(0, int(d.o.last)+1).Draw(d.t, "odd route"))
}

// up brings a route up if it is one that can.
func (d *driver) up(r sessions.Route) {
	b := sessions.Binding{ACP: 1, ACPSession: protocol.ACPSessionID(d.pick("acp", "acp-1", "acp-1", "acp-2")), RestoredBy: protocol.RestoredNew}
	if rapid.IntRange(0, 3).Draw(d.t, "config") > 0 {
		b.ConfigOptions = []byte(d.options())
	}
	if rapid.Bool().Draw(d.t, "modes") {
		b.Modes = []byte(`{"currentModeId":"x","availableModes":[{"id":"x"},{"id":"y"}]}`)
	}
	if c := d.w.routes[r]; c != nil && !c.down {
		c.up = true
	}
	d.step(sessions.RouteUp{Route: r, Binding: b, At: d.at})
}

func (d *driver) down(r sessions.Route) {
	d.t.Helper()
	if c := d.w.routes[r]; c != nil {
		c.down = true
	}
	d.step(sessions.RouteDown{Route: r, Cause: fault("adapter_exited"), At: d.at})
}

func (d *driver) update() {
	raw := rapid.OneOf(rapid.Custom(drawChunk), rapid.SampledFrom([]string{
		`{"sessionUpdate":"usage_update","used":1}`, `{"sessionUpdate":"session_info_update","title":"T"}`,
		`{"sessionUpdate":"session_info_update","title":null}`, `{"sessionUpdate":"config_option_update","configOptions":[{"id":"b"}]}`,
		`{"sessionUpdate":"current_mode_update","currentModeId":"y"}`,
		`{"sessionUpdate":"tool_call","toolCallId":"t"}`, `{"sessionUpdate":"hologram","x":[1.0]}`,
		`{"sessionUpdate":"agent_message_chunk"}`, `{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"image","data":""}}`,
	})).Draw(d.t, "update")
	u, err := acp.ParseUpdate([]byte(raw))
	if err != nil {
		d.t.Fatalf("update %s: %v", raw, err)
	}
	d.step(sessions.Update{Route: d.route(), Update: u, At: d.at})
}

// drawChunk draws a text chunk. The text is escaped in odd ways and is the last
// member of its content.
func drawChunk(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"agent_message_chunk", "agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}).Draw(t, "kind")
	id := rapid.SampledFrom([]string{``, `"messageId":"m1",`, `"messageId":"m2",`, `"messageId":null,`}).Draw(t, "id")
	inner := rapid.SampledFrom([]string{``, `a`, `bc`, `é`, `\n`, `\"}`, `\ud83d`, `\ude00`, `\u00e9`, `\\ud83d`, `\\`, "\\\\\\ude00"}).Draw(t, "text")
	tail := rapid.SampledFrom([]string{``, ``, ``, `,"_meta":{"a":1}`}).Draw(t, "tail")
	return `{"sessionUpdate":"` + kind + `",` + id + `"content":{"type":"text","text":"` + inner + `"}` + tail + `}`
}

func (d *driver) ask() {
	options := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) acp.Option {
		return acp.Option{
			ID:   rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "id"),
			Kind: rapid.SampledFrom([]string{acp.AllowOnce, acp.AllowAlways, acp.RejectOnce, acp.RejectAlways, "odd", ""}).Draw(t, "kind"),
		}
	}), 0, 4).Draw(d.t, "options")
	raw := `{"sessionId":"acp-1","options":[`
	for i, o := range options {
		if i > 0 {
			raw += ","
		}
		raw += fmt.Sprintf(`{"optionId":%q,"kind":%q}`, o.ID, o.Kind)
	}
	d.calls++
	in := sessions.Ask{
		Route: d.route(), Call: sessions.Call(fmt.Sprintf("c%d", d.calls)),
		Request: protocol.RequestID(fmt.Sprintf("r%d", d.calls)), Params: []byte(raw + `]}`), At: d.at,
	}
	if c := d.w.routes[in.Route]; c == nil || c.down {
		return // what never was, and what has ended, asks nothing
	}
	d.w.asks[in.Call] = &question{route: in.Route, request: in.Request, options: options}
	d.asked = append(d.asked, in.Request)
	d.step(in)
}

func (d *driver) permit() {
	in := sessions.Permit{Token: d.token(caller{}), Request: "r0", Option: d.pick("option", "a", "b", "c", "", "z"), At: d.at}
	if pending := d.o.machine.Snapshot().Pending; len(pending) > 0 && rapid.IntRange(0, 4).Draw(d.t, "pending") > 0 {
		in.Request = rapid.SampledFrom(pending).Draw(d.t, "request").ID
	} else if len(d.asked) > 0 {
		in.Request = rapid.SampledFrom(d.asked).Draw(d.t, "request")
	}
	pending := slices.ContainsFunc(d.o.machine.Snapshot().Pending, func(p protocol.Permission) bool { return p.ID == in.Request })
	before := d.w.permitted[in.Request]
	if pending {
		d.w.permitted[in.Request] = in.Option
	}
	if d.call(in) != nil {
		d.w.permitted[in.Request] = before
	} else if before != "" && pending {
		d.t.Fatalf("%s was permitted twice", in.Request)
	}
}

func (d *driver) answer() {
	in := sessions.Answered{Route: d.route(), Prompt: d.promptID(), StopReason: "end_turn", At: d.at}
	switch d.pick("answer", "end", "end", "error", "auth", "damaged") {
	case "error":
		in.StopReason, in.Err = "", fault("agent_error")
	case "auth":
		in.StopReason, in.Err = "", fault("auth_required")
	case "damaged":
		in.StopReason, in.Err = "", fault("acp_protocol_error")
	}
	d.step(in)
}

// refuse loses what is under way. The owner stops a route that nothing is left
// to work on.
func (d *driver) refuse() {
	route, _, live := d.o.machine.Live()
	d.w.lost()
	for id := range d.w.permitted {
		if p := d.o.stored.find(id); p == nil || p.State == protocol.PermissionPending {
			delete(d.w.permitted, id)
		}
	}
	keeps := live && d.o.stored.exists && d.o.stored.active() == nil
	for r, c := range d.w.routes {
		if !keeps || r != route {
			c.stopped, c.foreign = true, true
		}
	}
	d.o.refuse(fault("storage_full"), d.at)
	d.watchersAgain()
}

func (d *driver) crash() {
	d.w.lost()
	for _, c := range d.w.routes {
		c.down = true
	}
	d.o.crash(d.at)
	d.watchersAgain()
}

// watchersAgain reads the state that is stored: a loss is not published.
func (d *driver) watchersAgain() {
	if len(d.o.flight) == 0 && d.o.stored.exists {
		d.w.state = state(d.o.stored.record())
	}
}

// swap puts a replayed machine in the place of one that has nothing but durable
// state, and nobody who waits for a queued prompt; the old one goes on as its shadow. So live and replayed machines are
// held to the same journal for the same inputs.
func (d *driver) swap() {
	_, _, live := d.o.machine.Live()
	for _, c := range d.w.routes {
		live = live || !c.down
	}
	if live || len(d.o.flight) > 0 || len(d.w.finds) > 0 || !d.o.machine.Exists() || len(d.o.machine.Snapshot().Queue) > 0 {
		return
	}
	d.o.shadow = d.o.machine
	d.o.machine = sessions.Replay(d.o.machine.Snapshot(), d.o.config())
}

// toRest lets everything come to its end.
func (d *driver) toRest() {
	d.o.slow = false
	d.o.commitAll()
	for range 3 {
		for _, q := range d.o.machine.Snapshot().Queue {
			d.call(sessions.QueueRemove{Token: d.token(caller{}), ID: q.ID, At: d.at})
		}
		for len(d.w.finds) > 0 {
			d.find()
		}
		d.step(sessions.Cancel{Token: d.token(caller{}), At: d.at})
		d.at += 20_000
		d.tick(d.at)
		d.unload()
		for r := range d.o.last {
			if c := d.w.routes[r+1]; c != nil && !c.down {
				d.down(r + 1)
			}
		}
	}
}
