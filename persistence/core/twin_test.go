package core_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"agentos/protocol"
)

// twin is a session as simple as can be: every change is done to plain values
// at once. What it says is what the database has to say.
type twin struct {
	id       protocol.SessionID
	exists   bool
	snap     protocol.Snapshot
	events   []protocol.Event
	prompts  map[protocol.PromptID]protocol.Prompt
	records  map[protocol.RequestID]protocol.Permission // of the running turn
	outcomes map[protocol.RequestID]protocol.Reason
	names    int
	now      protocol.TimeMS

	changes []protocol.Change // of the batch that is being made
}

func newTwin(id protocol.SessionID) *twin {
	return &twin{
		id: id, now: 1000, prompts: map[protocol.PromptID]protocol.Prompt{},
		records: map[protocol.RequestID]protocol.Permission{}, outcomes: map[protocol.RequestID]protocol.Reason{},
	}
}

// batch runs steps and returns the batch that does the same.
func (w *twin) batch(steps ...func()) protocol.Batch {
	b := protocol.Batch{Session: w.id}
	if r := &w.snap.Record; w.exists {
		b.Base = protocol.Base{Exists: true, Latest: r.Latest, State: r.State, Prompt: r.Prompt}
	}
	w.changes = nil
	for _, step := range steps {
		step()
	}
	b.Changes, b.Row = w.changes, w.snap.Record
	return b
}

func (w *twin) did(c protocol.Change) { w.changes = append(w.changes, c) }

func (w *twin) fresh(kind string) string {
	w.names++
	return fmt.Sprintf("%s-%s-%d", w.id, kind, w.names)
}

func (w *twin) touch() {
	r := &w.snap.Record
	r.UpdatedAt = max(w.now, r.LastAt)
	r.LastAt = r.UpdatedAt
}

func (w *twin) open(spec protocol.Spec) {
	w.exists = true
	w.snap.Record = protocol.Record{
		ID: w.id, Spec: spec, State: protocol.StateIdle, OldestRetained: 1,
		CreatedAt: w.now, UpdatedAt: w.now, LastAt: w.now,
	}
	w.did(protocol.SessionOpened{Record: w.snap.Record})
}

func (w *twin) event(e protocol.Event) protocol.Sequence {
	r := &w.snap.Record
	r.Latest++
	r.LastAt = max(w.now, r.LastAt)
	r.RetainedEvents++
	r.RetainedBytes += int64(len(e.Payload))
	e.Sequence, e.At = r.Latest, r.LastAt
	if e.ACP == 0 {
		e.ACP = 1
	}
	w.events = append(w.events, e)
	w.did(protocol.EventAppended{Event: e})
	return e.Sequence
}

func (w *twin) update(payload string) {
	w.event(protocol.Event{Kind: protocol.KindUpdate, Payload: []byte(payload)})
}

func (w *twin) accept(key string, inputs ...string) {
	w.touch()
	r := &w.snap.Record
	p := protocol.Prompt{
		ID: protocol.PromptID(w.fresh("prompt")), Key: key, Hash: [32]byte{1, byte(w.names)}, State: protocol.PromptAcceptedState,
		FirstInput: r.Latest + 1, CreatedAt: r.UpdatedAt, UpdatedAt: r.UpdatedAt,
	}
	r.State, r.Prompt, r.StartedAt = protocol.StateRunning, p.ID, r.UpdatedAt
	w.snap.Active, w.snap.Failure = &p, nil
	w.prompts[p.ID] = p
	w.did(protocol.PromptAccepted{Prompt: p})
	for _, in := range inputs {
		w.update(in)
	}
}

func (w *twin) ask(request string) {
	r := &w.snap.Record
	id := protocol.RequestID(w.fresh("request"))
	w.event(protocol.Event{Kind: protocol.KindPermissionRequest, Request: id, Payload: []byte(request)})
	p := protocol.Permission{
		ID: id, Prompt: r.Prompt, State: protocol.PermissionPending, Request: []byte(request), CreatedAt: r.LastAt, UpdatedAt: r.LastAt,
	}
	r.State = protocol.StateWaiting
	w.records[id] = p
	w.snap.Pending = append(slices.Clone(w.snap.Pending), p)
	w.did(protocol.PermissionOpened{Permission: p})
}

// answer closes the i-th pending request: accepted with a response, or with
// another reason and without.
func (w *twin) answer(i int, response string, reason protocol.Reason) {
	r := &w.snap.Record
	p := w.snap.Pending[i]
	e := protocol.Event{Kind: protocol.KindPermissionResponse, Request: p.ID, Payload: []byte(response), Status: protocol.OutcomeAccepted}
	p.State, p.Response, p.Reason = protocol.PermissionResponded, []byte(response), reason
	if reason != protocol.ReasonAccepted {
		e.Payload = []byte(`{"outcome":{"outcome":"cancelled"}}`)
		e.Status, e.Reason = protocol.OutcomeNotPending, reason
		p.State, p.Response = protocol.PermissionTerminal, nil
	}
	p.Sequence = w.event(e)
	p.UpdatedAt = r.LastAt
	w.records[p.ID] = p
	w.snap.Pending = slices.Delete(slices.Clone(w.snap.Pending), i, i+1)
	if len(w.snap.Pending) == 0 {
		w.snap.Pending, r.State = nil, protocol.StateRunning
	}
	w.did(protocol.PermissionClosed{Permission: p})
}

// end ends the turn; failure is the JSON of an error, "" if it went well.
func (w *twin) end(result, failure string) {
	for len(w.snap.Pending) > 0 {
		w.answer(0, "", protocol.ReasonPromptCancelled)
	}
	w.touch()
	r, p := &w.snap.Record, *w.snap.Active
	p.LastOutput, p.UpdatedAt = r.Latest, r.UpdatedAt
	p.State, p.Result = protocol.PromptCompletedState, []byte(result)
	if failure != "" {
		p.State, p.Result, p.Error = protocol.PromptFailedState, nil, []byte(failure)
	}
	w.prompts[p.ID] = p
	for id, rec := range w.records {
		w.outcomes[id] = rec.Reason
		delete(w.records, id)
	}
	w.did(protocol.PromptEnded{Prompt: p})
	w.snap.Active, w.snap.Failure = nil, p.Error
	r.State = protocol.StateFailed
	if failure == "" {
		r.State, r.Prompt, r.StartedAt = protocol.StateIdle, "", 0
	}
}

func (w *twin) bind(change func(*protocol.Record)) {
	change(&w.snap.Record)
	w.did(protocol.AdapterBound{})
}

func (w *twin) profile(change func(*protocol.Record)) {
	change(&w.snap.Record)
	w.did(protocol.ProfileChanged{})
}

func (w *twin) launch(agent string, l *protocol.Launch) {
	w.snap.Record.Spec.Agent, w.snap.Record.Spec.Launch = agent, l
	w.did(protocol.LaunchChanged{})
}

func (w *twin) enqueue(content, key string) {
	position := int64(1)
	if n := len(w.snap.Queue); n > 0 {
		position = w.snap.Queue[n-1].Position + 1
	}
	q := protocol.Queued{
		ID: protocol.PromptID(w.fresh("queued")), Position: position, Content: []byte(content),
		Hash: [32]byte{2, byte(w.names)}, Key: key, CreatedAt: max(w.now, 0),
	}
	w.snap.Queue = append(slices.Clone(w.snap.Queue), q)
	w.did(protocol.PromptQueued{Queued: q})
}

func (w *twin) requeue(i int, content string) {
	w.snap.Queue = slices.Clone(w.snap.Queue)
	q := &w.snap.Queue[i]
	q.Content, q.Hash = []byte(content), [32]byte{3, byte(len(content))}
	w.did(protocol.QueueEdited{ID: q.ID, Content: q.Content, Hash: q.Hash})
}

func (w *twin) dequeue(i int) {
	w.did(protocol.QueueRemoved{ID: w.snap.Queue[i].ID})
	if w.snap.Queue = slices.Delete(slices.Clone(w.snap.Queue), i, i+1); len(w.snap.Queue) == 0 {
		w.snap.Queue = nil
	}
}

// queueStep changes the queue in one way.
func (w *twin) queueStep(t *rapid.T) {
	contents := rapid.SampledFrom([]string{`[]`, `[ {"type":"text","text":"\u0000 1.0"} ]`, `[1, 2]`})
	n := len(w.snap.Queue)
	how := rapid.IntRange(0, 3).Draw(t, "queue")
	switch {
	case n == 0 || how == 0:
		key := ""
		if rapid.Bool().Draw(t, "keyed") {
			key = w.fresh("key")
		}
		w.enqueue(contents.Draw(t, "content"), key)
	case how == 1:
		w.requeue(rapid.IntRange(0, n-1).Draw(t, "which"), contents.Draw(t, "content"))
	default:
		i := rapid.IntRange(0, n-1).Draw(t, "which")
		key := w.snap.Queue[i].Key
		w.dequeue(i)
		if how == 2 && key != "" { // its key is free at once
			w.enqueue(contents.Draw(t, "content"), key)
		}
	}
}

// payloads are valid JSON whose exact bytes are easy to lose.
var payloads = []string{
	`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}`,
	` { "sessionUpdate" : "tool_call" ,` + "\n\t" + `"_meta":null } `,
	`{"a":1.0e+2,"a":-0,"b":12345678901234567890123,"c":1E400}`,
	`{"text":"\u0000 \ud800 \uDFFF \/ \u00e9 é 😀 ` + "\u2028" + `"}`,
	`[]`, `{}`, `null`, `"?"`, `0.10`,
}

func drawPayload(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "kind of payload") > 0 {
		return rapid.SampledFrom(payloads).Draw(t, "payload")
	}
	b, err := json.Marshal(map[string]any{"text": rapid.String().Draw(t, "text"), "n": rapid.Float64Range(-1, 1).Draw(t, "n")})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func drawSpec(t *rapid.T) protocol.Spec {
	s := protocol.Spec{
		Agent: "tiny", Cwd: "/work", Policy: rapid.SampledFrom([]protocol.Policy{protocol.PolicyAsk, protocol.PolicyAllowAll, protocol.PolicyRejectAll}).Draw(t, "policy"),
		SkipOSInstructions: rapid.Bool().Draw(t, "skip"),
	}
	if rapid.Bool().Draw(t, "rich") {
		s.Launch = &protocol.Launch{Argv: []string{"/bin/<a&b>", "--x"}, Env: []string{"HOME"}}
		s.AdditionalDirectories = []string{"/a", "/b <c>"}
		s.Env = map[string]string{"K": "<&>\u2028", "A": rapid.String().Draw(t, "env")}
		s.MCPServers = json.RawMessage(`[ {"name":"n"} ]`)
		s.AdditionalInstructions = "be brief"
	}
	return s
}

// step does one random legal thing.
func (w *twin) step(t *rapid.T) {
	w.now += protocol.TimeMS(rapid.IntRange(-3, 5).Draw(t, "time")) // clocks go back too
	if !w.exists {
		w.open(drawSpec(t))
		return
	}
	switch rapid.IntRange(0, 10).Draw(t, "step") {
	case 10:
		w.queueStep(t)
		return
	case 0:
		w.bind(func(r *protocol.Record) {
			r.ACPSession = protocol.ACPSessionID(w.fresh("acp"))
			r.Prompted, r.Armed = rapid.Bool().Draw(t, "prompted"), rapid.Bool().Draw(t, "armed")
			r.RestoredBy = rapid.SampledFrom([]protocol.RestoredBy{"live", "resume", "load", "continuation", "new"}).Draw(t, "restored by")
			r.PreviousACP, r.Capabilities, r.AgentInfo = []byte(`["old"]`), []byte(`{"loadSession": true}`), []byte(`{ }`)
		})
		return
	case 1:
		w.profile(func(r *protocol.Record) {
			title := rapid.String().Draw(t, "title")
			r.ConfigRevision++
			r.ConfigOptions, r.Title, r.Metadata = []byte(`[ 1]`), &title, []byte(`{"m":1.0}`)
		})
		return
	case 2:
		w.launch("other", &protocol.Launch{Argv: []string{"x"}})
		return
	case 3, 4:
		w.update(drawPayload(t))
		return
	}
	w.turn(t)
}

// turn takes the session one step along a turn.
func (w *twin) turn(t *rapid.T) {
	if w.snap.Active == nil {
		key := ""
		if rapid.Bool().Draw(t, "keyed") {
			key = w.fresh("key")
		}
		w.accept(key, rapid.SliceOfN(rapid.SampledFrom(payloads), 1, 3).Draw(t, "inputs")...)
		return
	}
	switch n := len(w.snap.Pending); rapid.IntRange(0, 3).Draw(t, "turn") {
	case 0:
		w.ask(drawPayload(t))
	case 1:
		if n > 0 {
			w.answer(rapid.IntRange(0, n-1).Draw(t, "which"), drawPayload(t), rapid.SampledFrom(
				[]protocol.Reason{protocol.ReasonAccepted, protocol.ReasonAccepted, protocol.ReasonAdapterExited}).Draw(t, "reason"))
		}
	case 2:
		w.end(`{"stopReason":"end_turn"}`, "")
	case 3:
		w.end("", `{"code":"adapter_exited"}`)
	}
}
