package sessions

import (
	"strconv"

	"agentos/protocol"
	"agentos/sessions/coalesce"
	"agentos/sessions/turn"
)

// Times of the machine.
const (
	// cancelGraceMS is how long an adapter may ignore a cancel (S9.2).
	cancelGraceMS = 10_000
	// silenceMS ends a run that is open outside a turn (S7.1).
	silenceMS = 250
)

// Config is what does not change over a machine's life.
type Config struct {
	Limits protocol.Limits
	// Name makes run ids unique over restarts: no two machines of one session
	// may share it.
	Name string
	// FirstRoute is the number below the first route this machine starts. It
	// grows from machine to machine, so that a late message of an old route
	// meets no new one.
	FirstRoute Route
}

// routePhase says what is known of the current route.
type routePhase int

const (
	routeNone routePhase = iota
	routeStarting
	routeLive
)

// Session is the state machine of one session.
//
// Invariant: s.turn is nil or Reserved iff s.active is nil, but for a machine
// that has to Settle first.
type Session struct {
	cfg Config

	// Durable; changed by apply only.
	exists  bool
	deleted bool // for good: the machine never exists again
	rec     protocol.Record
	active  *protocol.Prompt
	pending []protocol.Permission
	failure []byte
	queue   []protocol.Queued // by position

	// Soft.
	route     Route
	phase     routePhase
	binding   Binding
	served    bool // a turn was accepted on the binding: the next one finds it live
	turn      *turn.Turn
	prompt    Prompt                      // the input behind turn, while Reserved
	waits     map[protocol.PromptID]waits // who waits for a queued prompt
	drains    bool                        // this owner runs what is queued
	resumed   bool                        // a pause was ended by hand
	parked    map[string][]Prompt         // prompts whose key is being looked up, oldest first
	calls     map[protocol.RequestID]Call
	settings  []Configure // not answered yet, oldest first; none without a route
	asked     bool        // the adapter has been asked for the first of them
	run       *coalesce.Buffer
	runs      int                // runs opened, for their ids
	silent    protocol.TimeMS    // when an open run outside a turn ends; 0 if none
	spoken    protocol.MessageID // of the route's last agent message that had one
	stopping  []Route            // told to stop and not down yet, ascending
	unloading []unloading

	base    protocol.Base
	changes []protocol.Change
	out     Ready
}

// New returns the machine of a session that does not exist yet.
func New(id protocol.SessionID, cfg Config) *Session {
	return &Session{
		cfg:    cfg,
		rec:    protocol.Record{ID: id, State: protocol.StateIdle, OldestRetained: 1},
		route:  cfg.FirstRoute,
		waits:  map[protocol.PromptID]waits{},
		parked: map[string][]Prompt{},
		calls:  map[protocol.RequestID]Call{},
		run:    coalesce.New(cfg.Limits.CompletedMessageBytes),
	}
}

// Replay returns the machine of a stored session. What was running stays
// running until Settle: the owner knows why it was lost.
func Replay(snap protocol.Snapshot, cfg Config) *Session {
	s := New(snap.Record.ID, cfg)
	s.exists = true
	s.rec = snap.Record
	s.active = snap.Active
	s.pending = append(s.pending, snap.Pending...)
	s.failure = snap.Failure
	s.queue = append(s.queue, snap.Queue...)
	s.base = s.baseNow()
	return s
}

// Adopt tells a replayed machine about a route that has outlived its
// predecessor. It is called before the first Step, on a session that exists.
// What the route is, and how it is set, may not have been stored: then it is with
// the next batch.
func (s *Session) Adopt(route Route, b Binding) {
	s.route, s.binding, s.phase, s.served = route, b, routeLive, true
	if b.ACPSession != s.rec.ACPSession {
		s.bind(b)
		s.served = false
		return
	}
	s.bindConfig(b, false)
}

// Live returns the current route and its binding if an adapter is up.
func (s *Session) Live() (Route, Binding, bool) {
	return s.route, s.binding, s.phase == routeLive
}

// Step takes one input. An error is the caller's mistake and leaves the machine
// as it was.
func (s *Session) Step(in Input) *protocol.Error {
	err := s.step(in)
	if err == nil {
		s.drain(in.at())
	}
	return err
}

func (s *Session) step(in Input) *protocol.Error {
	switch in := in.(type) {
	case Open:
		return s.stepOpen(in)
	case Prompt:
		return s.stepPrompt(in)
	case KeyFound:
		s.stepKeyFound(in)
	case RouteUp:
		s.stepRouteUp(in)
	case RouteDown:
		s.stepRouteDown(in)
	case Update:
		s.stepUpdate(in)
	case Ask:
		s.stepAsk(in)
	case Answered:
		s.stepAnswered(in)
	case Permit:
		return s.stepPermit(in)
	case QueueEdit:
		return s.stepQueueEdit(in)
	case QueueRemove:
		return s.stepQueueRemove(in)
	case QueueResume:
		return s.stepQueueResume(in)
	case Configure:
		return s.stepConfigure(in)
	case Configured:
		s.stepConfigured(in)
	case Cancel:
		s.stepCancel(in)
	case Unload:
		s.stepUnload(in)
	case Delete:
		s.stepDelete(in)
	case Settle:
		s.settle(in)
	case Tick:
		s.stepTick(in)
	default:
		panic("sessions: unknown input")
	}
	return nil
}

// Dispatch reports whether a Dispatch effect for prompt may be carried out now,
// and counts it as done. A turn that was cancelled or lost its route between
// commit and delivery is not sent (S9.1).
func (s *Session) Dispatch(prompt protocol.PromptID) bool {
	return s.turn != nil && s.turn.ID == prompt && s.phase == routeLive && s.turn.Dispatch()
}

// Ready returns what has to be done and forgets it.
func (s *Session) Ready() Ready {
	rd := s.out
	s.out = Ready{}
	if len(s.changes) > 0 {
		rd.Batch = &protocol.Batch{Session: s.rec.ID, Base: s.base, Changes: s.changes, Row: s.rec}
		s.changes, s.base = nil, s.baseNow()
	}
	rd.Timer = s.timer()
	return rd
}

// Snapshot returns the durable state, as Replay takes it.
func (s *Session) Snapshot() protocol.Snapshot {
	return protocol.Snapshot{
		Record:  s.rec,
		Active:  s.active,
		Pending: append([]protocol.Permission(nil), s.pending...),
		Failure: s.failure,
		Queue:   append([]protocol.Queued(nil), s.queue...),
	}
}

// Exists reports whether the session was opened.
func (s *Session) Exists() bool { return s.exists }

// NeedsSettling reports whether a prompt is accepted that no turn of this
// machine answers for.
func (s *Session) NeedsSettling() bool { return s.active != nil && s.turn == nil }

func (s *Session) baseNow() protocol.Base {
	if !s.exists {
		return protocol.Base{}
	}
	return protocol.Base{Exists: true, Latest: s.rec.Latest, State: s.rec.State, Prompt: s.rec.Prompt}
}

func (s *Session) timer() protocol.TimeMS {
	t := s.silent
	if s.turn != nil && s.turn.Deadline() != 0 && (t == 0 || s.turn.Deadline() < t) {
		t = s.turn.Deadline()
	}
	return t
}

func (s *Session) now(e Effect)   { s.out.Now = append(s.out.Now, e) }
func (s *Session) after(e Effect) { s.out.AfterCommit = append(s.out.AfterCommit, e) }

func (s *Session) nextRun() protocol.RunID {
	s.runs++
	return protocol.RunID(s.cfg.Name + "." + strconv.Itoa(s.runs))
}

// stepTick acts on the deadlines that at has reached.
func (s *Session) stepTick(in Tick) {
	if s.silent != 0 && in.At >= s.silent {
		s.closeRun(in.At)
	}
	if s.turn != nil && s.turn.Overdue(in.At) {
		s.force(in.At)
	}
}
