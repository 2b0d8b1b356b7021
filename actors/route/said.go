package route

import (
	"sync"

	"agentos/protocol"
	"agentos/protocol/acp"
	"agentos/protocol/jsonrpc"
	"agentos/sessions"
	"agentos/sessions/restore"
)

// said is how the adapter session is set while the route comes up. Answers and
// updates are told apart by their order on the wire: an update before the answer
// is older than it, or a replay, and one behind it is news.
type said struct {
	mu      sync.Mutex
	bound   bool         // the session hears of it from now on
	answers func() int64 // how many the adapter has given
	asked   int64        // of them, when session/new, load or resume was asked for
	session string       // that is being brought back; "" for a new one before opened
	opened  bool         // its answer was taken
	now     restore.Said
	early   heard // before the answer
	behind  heard // behind the answer, before it was taken
}

// heard is what updates have said of a session.
type heard struct {
	session string
	options []byte
	mode    *string
}

// begin forgets everything: a step begins. id is "" for a new session. No other
// call is open than that of the step.
func (s *said) begin(id string, answers func() int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.asked = answers, answers()
	s.session, s.opened, s.now = id, false, restore.Said{Whole: id == ""}
	s.early, s.behind = heard{}, heard{}
}

// open takes the answer to session/new, load or resume. What a new session said
// before it, and the answer does not say, still holds.
func (s *said) open(v acp.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == "" {
		s.session = v.ID
		s.take(s.early)
	}
	if v.ConfigOptions != nil {
		s.now.Options = v.ConfigOptions
	}
	if v.Modes != nil {
		s.now.Modes = v.Modes
	}
	s.opened = true
	s.take(s.behind)
}

func (s *said) take(h heard) {
	if h.session != s.session {
		return
	}
	if h.options != nil {
		s.now.Options = h.options
	}
	if h.mode != nil {
		s.now.Modes = acp.WithCurrentMode(s.now.Modes, *h.mode)
	}
}

// hear takes a message of the adapter, before the route is bound, and hands it on.
func (s *said) hear(m jsonrpc.Message, tell func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bound && s.answers != nil && m.Method == acp.MethodUpdate && m.Kind == jsonrpc.Notification {
		s.update(m.Params)
	}
	tell()
}

func (s *said) update(params []byte) {
	session, raw, err := acp.ParseSessionUpdate(params)
	if err != nil {
		return // the route counts it
	}
	u, err := acp.ParseUpdate(raw)
	h := heard{session: session}
	switch {
	case err != nil:
		return
	case u.Kind == acp.UpdateConfigOption:
		h.options = acp.ParseConfigOptions(raw)
	case u.Kind == acp.UpdateCurrentMode:
		if mode, ok := acp.ParseCurrentMode(raw); ok {
			h.mode = &mode
		}
	default:
		return
	}
	switch {
	case s.opened:
		s.take(h)
	case s.answers() > s.asked:
		s.behind.add(h)
	default:
		s.early.add(h)
	}
}

// add takes a later word into account. One of another session begins anew: there is
// one session, whose id is not known yet.
func (h *heard) add(later heard) {
	if h.session != later.session {
		*h = heard{session: later.session}
	}
	if later.options != nil {
		h.options = later.options
	}
	if later.mode != nil {
		h.mode = later.mode
	}
}

// taken notes a setting that the adapter has taken.
func (s *said) taken(set protocol.Setting, result []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	options := acp.ParseConfigOptions(result)
	switch {
	case set.Mode != "":
		s.now.Modes = acp.WithCurrentMode(s.now.Modes, set.Mode)
	case options != nil:
		s.now.Options = options
	default:
		s.now.Options = acp.WithCurrentValue(s.now.Options, set.Option, set.Value)
	}
}

func (s *said) compare(set protocol.Setting) restore.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Compare(set)
}

// bind fills b in and hands it on. What the adapter says from then on is the
// session's to hear.
func (s *said) bind(b sessions.Binding, tell func(sessions.Binding)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = true
	b.ConfigOptions, b.Modes = s.now.Options, s.now.Modes
	tell(b)
}
