package sessions_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/rawjson"
	"agentos/sessions"
	"agentos/test/script"
)

// TestScripts runs the conversations under testdata; turn.txt tells how to read
// them. REWRITE=1 writes the outputs.
func TestScripts(t *testing.T) {
	script.Walk(t, "testdata/*.txt", func(t *testing.T) script.Run { return newConsole(t).run })
}

// console is one machine with an owner, driven by the commands of a script.
type console struct {
	t      *testing.T
	o      *owner
	at     protocol.TimeMS
	tokens []string // what waits for a reply, by token - 1
	timer  protocol.TimeMS
	out    strings.Builder
}

func newConsole(t *testing.T) *console {
	c := &console{t: t, at: 1000}
	c.start(protocol.DefaultLimits())
	return c
}

func (c *console) start(limits protocol.Limits) {
	c.o = newOwner(c.t, limits)
	c.o.wrote = func(b protocol.Batch) {
		for _, change := range b.Changes {
			c.say("write %s", showChange(change))
		}
		c.say("row   %s", state(b.Row))
	}
	c.o.delivered = func(when string, e sessions.Effect) {
		if d, ok := e.(sessions.Dispatch); ok && !c.o.dispatch(d.Prompt) {
			c.say("%-5s dispatch of %s is void", when, d.Prompt)
			return
		}
		c.say("%-5s %s", when, c.showEffect(e))
	}
}

func (c *console) say(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

// run executes one command.
func (c *console) run(cmd string, args []string) string {
	c.out.Reset()
	words, opts := options(args)
	if !c.setting(cmd, words, opts) {
		c.input(cmd, words, opts)
	}
	if c.o.timer != c.timer {
		c.timer = c.o.timer
		if c.timer == 0 {
			c.say("timer off")
		} else {
			c.say("timer in %d", c.timer-c.at)
		}
	}
	return c.out.String()
}

// setting executes the commands that are no inputs of the machine.
func (c *console) setting(cmd string, words []string, opts map[string]string) bool {
	switch cmd {
	case "limits":
		c.start(c.limits(opts))
	case "clock": // moves the clock without a tick
		c.at += protocol.TimeMS(c.number(words[0]))
	case "disk": // slow: batches wait for commit; fast: they do not
		c.o.slow = words[0] == "slow"
		if !c.o.slow {
			c.o.commitAll()
		}
	case "commit":
		if len(c.o.flight) == 0 {
			c.say("nothing is under way")
			break
		}
		c.o.commit()
	case "refuse":
		c.o.refuse(fault(words[0]), c.at)
	case "crash":
		c.o.crash(c.at)
	case "history":
		for _, e := range c.o.stored.events {
			c.say("%d @%d %s", e.Sequence, e.At, showEvent(e))
		}
	case "session":
		c.session()
	default:
		return false
	}
	return true
}

// session shows the durable state.
func (c *console) session() {
	snap := c.o.machine.Snapshot()
	r := snap.Record
	c.say("%s, %d events, adapter session %q by %q, prompted %t, aside %s", state(r), r.Latest, r.ACPSession, r.RestoredBy, r.Prompted, orNone(r.PreviousACP))
	for _, p := range snap.Pending {
		c.say("pending %s", p.ID)
	}
	for _, q := range snap.Queue {
		c.say("queued %d %s %s", q.Position, q.ID, q.Content)
	}
	if snap.Failure != nil {
		c.say("failed of %s", showError(snap.Failure))
	}
	if r.Title != nil || r.ConfigOptions != nil || r.Metadata != nil {
		c.say("title %s, config %d %s%s", showTitle(r.Title), r.ConfigRevision, orNone(r.ConfigOptions), showMetadata(r.Metadata))
	}
}

// input executes the commands that are inputs of the machine.
func (c *console) input(cmd string, words []string, opts map[string]string) {
	c.t.Helper()
	in := c.parse(cmd, words, opts)
	if in == nil {
		c.t.Fatalf("no command %q", cmd)
	}
	if err := c.o.step(in); err != nil {
		c.say("error %s", showError(errorObject(err)))
	}
}

func (c *console) parse(cmd string, words []string, opts map[string]string) sessions.Input {
	route := c.route(opts)
	switch cmd {
	case "open":
		return c.open(opts)
	case "prompt":
		return c.prompt(words, opts)
	case "queue": // "queue resume", "queue remove p1", "queue edit p1 TEXT"
		return c.queue(words)
	case "found": // "found k1" from what is stored, "found k1 CODE" if that fails
		in := sessions.KeyFound{Key: words[0], At: c.at}
		if len(words) > 1 {
			in.Err = fault(words[1])
		} else {
			in.Stored = c.o.stored.used(words[0])
		}
		return in
	case "up":
		b := sessions.Binding{ACP: 1, ACPSession: protocol.ACPSessionID(words[0]), RestoredBy: protocol.RestoredBy(words[1])}
		if v, ok := opts["config"]; ok {
			b.ConfigOptions = []byte(v)
		}
		if v, ok := opts["modes"]; ok {
			b.Modes = []byte(v)
		}
		return sessions.RouteUp{Route: route, Binding: b, At: c.at}
	case "set": // "set c1 OPTION VALUE" or "set c1 mode=MODE"
		in := sessions.Configure{Token: c.token(words[0]), ID: words[0], Setting: protocol.Setting{Mode: opts["mode"]}, At: c.at}
		if len(words) > 1 {
			in.Setting.Option, in.Setting.Value = words[1], []byte(words[2])
		}
		return in
	case "configured":
		return c.configured(words, opts, route)
	case "down":
		return sessions.RouteDown{Route: route, Cause: fault(words[0]), At: c.at}
	case "chunk":
		return c.update(chunk(words[0], words[1], words[2]), route)
	case "update":
		return c.update([]byte(words[0]), route)
	case "ask":
		return sessions.Ask{Route: route, Call: sessions.Call("call-" + words[0]), Request: protocol.RequestID(words[0]), Params: asking(words[1]), At: c.at}
	case "permit":
		return sessions.Permit{Token: c.token("permit " + words[0]), Request: protocol.RequestID(words[0]), Option: words[1], At: c.at}
	case "answer":
		return c.answer(words, route)
	case "cancel":
		in := sessions.Cancel{Token: c.token("cancel"), At: c.at}
		if len(words) > 0 {
			in.Prompt = protocol.PromptID(words[0])
		}
		return in
	case "unload":
		return sessions.Unload{Token: c.token("unload"), At: c.at}
	case "delete":
		return sessions.Delete{Token: c.token("delete"), At: c.at}
	case "tick":
		c.at += protocol.TimeMS(c.number(words[0]))
		return sessions.Tick{At: c.at}
	}
	return nil
}

var spec = protocol.Spec{Agent: "tiny", Cwd: "/w", Policy: protocol.PolicyAsk}

func (c *console) open(opts map[string]string) sessions.Input {
	in := sessions.Open{Token: c.token("open"), At: c.at, Spec: spec}
	for name, v := range opts {
		switch name {
		case "agent":
			in.Given, in.Spec.Agent = in.Given|sessions.FieldAgent, v
		case "argv":
			in.Given, in.Spec.Launch = in.Given|sessions.FieldAgent, &protocol.Launch{Argv: strings.Fields(v)}
		case "cwd":
			in.Given, in.Spec.Cwd = in.Given|sessions.FieldCwd, v
		case "dirs":
			in.Given, in.Spec.AdditionalDirectories = in.Given|sessions.FieldDirectories, strings.Fields(v)
		case "env":
			k, value, _ := strings.Cut(v, ":")
			in.Given, in.Spec.Env = in.Given|sessions.FieldEnv, map[string]string{k: value}
		case "mcp":
			in.Given, in.Spec.MCPServers = in.Given|sessions.FieldMCPServers, []byte(v)
		case "policy":
			in.Given, in.Spec.Policy = in.Given|sessions.FieldPolicy, protocol.Policy(v)
		case "instructions":
			in.Given, in.Spec.AdditionalInstructions = in.Given|sessions.FieldInstructions, v
		case "skip-os":
			in.Given, in.Spec.SkipOSInstructions = in.Given|sessions.FieldSkipOS, v == "yes"
		default:
			c.t.Fatalf("open: no option %q", name)
		}
	}
	return in
}

func (c *console) prompt(words []string, opts map[string]string) sessions.Input {
	in := sessions.Prompt{Token: c.token(words[0]), ID: protocol.PromptID(words[0]), Message: protocol.MessageID("u-" + words[0]), At: c.at}
	for _, w := range words[1:] {
		in.Blocks = append(in.Blocks, acp.TextBlock(w))
	}
	in.Key, in.Hash = opts["key"], acp.InputHash(in.Blocks)
	in.Queue, in.NoWait = opts["queue"] != "", opts["queue"] == "no-wait"
	in.Now = opts["now"] != ""
	if opts["if-asked"] == "end" {
		in.IfAsked = sessions.EndTurn
	}
	if cwd, ok := opts["open"]; ok {
		open := sessions.Open{Spec: spec, At: c.at}
		if open.Given, open.Spec.Cwd = sessions.FieldCwd, cwd; opts["agent"] != "" {
			open.Given, open.Spec.Agent = open.Given|sessions.FieldAgent, opts["agent"]
		}
		in.Open = &open
	}
	return in
}

func (c *console) queue(words []string) sessions.Input {
	token := c.token(strings.Join(append([]string{"queue"}, words...), " "))
	switch words[0] {
	case "resume":
		return sessions.QueueResume{Token: token, At: c.at}
	case "remove":
		return sessions.QueueRemove{Token: token, ID: protocol.PromptID(words[1]), At: c.at}
	case "edit":
		blocks := [][]byte{acp.TextBlock(words[2])}
		return sessions.QueueEdit{Token: token, ID: protocol.PromptID(words[1]), Blocks: blocks, Hash: acp.InputHash(blocks), At: c.at}
	}
	c.t.Fatalf("queue: no action %q", words[0])
	return nil
}

func (c *console) update(raw []byte, route sessions.Route) sessions.Input {
	c.t.Helper()
	u, err := acp.ParseUpdate(raw)
	if err != nil {
		c.t.Fatalf("update %s: %v", raw, err)
	}
	return sessions.Update{Route: route, Update: u, At: c.at}
}

// answer is "answer p1 end_turn", "answer p1 error CODE" with a code of
// JSON-RPC, or of ours if the answer is no answer.
func (c *console) answer(words []string, route sessions.Route) sessions.Input {
	in := sessions.Answered{Route: route, Prompt: protocol.PromptID(words[0]), At: c.at}
	if words[1] != "error" {
		in.StopReason = words[1]
		return in
	}
	n, err := strconv.ParseInt(words[2], 10, 64)
	switch {
	case err != nil:
		in.Err = fault(words[2])
	case n == acp.CodeAuthRequired:
		in.Err = fault(string(protocol.CodeAuthRequired)).With("code", n)
	default:
		in.Err = fault(string(protocol.CodeAgentError)).With("code", n)
	}
	return in
}

// configured is "configured c1 [OPTIONS] set=OPTION value=VALUE" or mode=MODE, or
// "configured c1 error CODE".
func (c *console) configured(words []string, opts map[string]string, route sessions.Route) sessions.Input {
	in := sessions.Configured{
		Route: route, Token: sessions.Token(slices.Index(c.tokens, words[0]) + 1), At: c.at,
		Setting: protocol.Setting{Option: opts["set"], Value: []byte(opts["value"]), Mode: opts["mode"]},
	}
	switch {
	case len(words) > 2:
		in.Err = fault(words[2])
	case len(words) > 1:
		in.Options = []byte(words[1])
	}
	return in
}

// token names a caller.
func (c *console) token(who string) sessions.Token {
	c.tokens = append(c.tokens, who)
	return sessions.Token(len(c.tokens))
}

func (c *console) route(opts map[string]string) sessions.Route {
	if v, ok := opts["route"]; ok {
		return sessions.Route(c.number(v))
	}
	return c.o.last
}

func (c *console) number(s string) int64 {
	c.t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		c.t.Fatalf("%q is no number", s)
	}
	return n
}

func (c *console) limits(opts map[string]string) protocol.Limits {
	l := protocol.DefaultLimits()
	for name, v := range opts {
		n := c.number(v)
		switch name {
		case "output":
			l.TurnOutputBytes = n
		case "message":
			l.CompletedMessageBytes = n
		case "queued":
			l.QueuedPrompts = n
		case "pending":
			l.PendingPermissionsSession = n
		case "prompt":
			l.PromptBytes = n
		case "blocks":
			l.PromptBlocks = n
		default:
			c.t.Fatalf("limits: no limit %q", name)
		}
	}
	return l
}

// options splits key=value words from the others. A word in which the key is
// not a plain name is none.
func options(args []string) (words []string, opts map[string]string) {
	opts = map[string]string{}
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if ok && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") == "" {
			opts[key] = value
		} else {
			words = append(words, a)
		}
	}
	return words, opts
}

// chunk builds a text chunk; id "-" is none.
func chunk(kind, id, text string) []byte {
	name, idName := map[string]string{
		"user": "user_message_chunk", "agent": "agent_message_chunk",
		"thought": "agent_thought_chunk", "compaction": "compaction_summary_chunk",
	}[kind], "messageId"
	if kind == "compaction" {
		idName = "compactionId"
	}
	out := rawjson.AppendString([]byte(`{"sessionUpdate":`), name)
	if id != "-" {
		out = rawjson.AppendString(append(out, `,"`+idName+`":`...), id)
	}
	out = append(append(out, `,"content":`...), acp.TextBlock(text)...)
	return append(out, '}')
}

// asking builds the params of a permission request from "id:kind,id:kind"; the
// kinds of "yes", "always", "no" and "never" need not be told. JSON stands for
// itself.
func asking(list string) []byte {
	if strings.HasPrefix(list, "{") {
		return []byte(list)
	}
	kinds := map[string]string{"yes": acp.AllowOnce, "always": acp.AllowAlways, "no": acp.RejectOnce, "never": acp.RejectAlways}
	var raw []string
	for _, o := range strings.Split(list, ",") {
		id, kind, told := strings.Cut(o, ":")
		if !told {
			kind = kinds[id]
		}
		raw = append(raw, fmt.Sprintf(`{"optionId":%q,"kind":%q}`, id, kind))
	}
	return []byte(`{"sessionId":"acp-1","toolCall":{"title":"run"},"options":[` + strings.Join(raw, ",") + `]}`)
}

func fault(code string) *protocol.Error {
	return &protocol.Error{Code: protocol.Code(code), Message: "told by the script"}
}
