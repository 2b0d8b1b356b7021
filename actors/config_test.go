package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence"
	"agentos/protocol"
	"agentos/protocol/acp"
)

func option(id, value string) actors.Setting {
	return actors.Setting{Option: id, Value: []byte(value)}
}

func (r *rig) openMain() {
	r.tb.Helper()
	if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: spec()}); err != nil {
		r.tb.Fatalf("open: %v", err)
	}
}

func (r *rig) mustConfigure(s actors.Setting) actors.ConfigInfo {
	r.tb.Helper()
	info, err := r.vm.Configure(r.ctx(), "main", s)
	if err != nil {
		r.dump()
		r.tb.Fatalf("configure %+v: %v", s, err)
	}
	return info
}

func (r *rig) configOf() actors.ConfigInfo {
	r.tb.Helper()
	info, err := r.vm.Config(r.ctx(), "main")
	if err != nil {
		r.tb.Fatalf("config: %v", err)
	}
	return info
}

// setTo is how an agent is set: the current values of its options, and its mode.
func setTo(info actors.ConfigInfo) string {
	var words []string
	for _, o := range acp.ConfigOptions(info.Options) {
		words = append(words, fmt.Sprintf("%s=%s", o.ID, o.Current))
	}
	return strings.Join(append(words, acp.ParseModes(info.Modes).Current), " ")
}

// notices collects what people would be told.
type notices struct {
	mu    sync.Mutex
	texts []string
}

func (n *notices) hear(r *rig) {
	r.config.Notice = func(_ protocol.SessionID, text string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.texts = append(n.texts, text)
	}
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts
}

// However the adapter session is had again, or had anew, it is set as it was
// before the next prompt (S10.4); the scripted agent itself forgets both.
func TestConfig_S10_4_SettingsSurviveTheAgent(t *testing.T) {
	for name, flags := range map[string]string{
		"resume": "", "load": "--no-resume", "new": "--no-resume --no-load", "never prompted": "--lazy-sessions",
	} {
		t.Run(name, func(t *testing.T) {
			var told notices
			r := newRig(t, told.hear, func(r *rig) { r.agents = newAgents(t, strings.Fields(flags)...) }).start()
			r.openMain()
			if got := r.configOf(); got.Revision != 0 || got.Options != nil || got.Modes != nil {
				t.Errorf("before there was an agent: %+v", got)
			}
			if _, started := r.agents.counts(); started != 0 {
				t.Error("reading started an agent")
			}
			r.mustConfigure(option("verbosity", `"long"`))
			info := r.mustConfigure(actors.Setting{Mode: "plan"})
			const want = `verbosity="long" plan`
			if setTo(info) != want || info.Revision != 3 || setTo(r.configOf()) != want {
				t.Errorf("set to %s, revision %d; stored %s", setTo(info), info.Revision, setTo(r.configOf()))
			}
			if name != "never prompted" {
				r.mustPrompt("hi")
			}
			for range 2 {
				r.restart()
				if got := r.configOf(); setTo(got) != want || got.Revision != 3 {
					t.Errorf("after a restart %s, revision %d", setTo(got), got.Revision)
				}
				if said := messageText(r.mustPrompt("[[session]]").Message); !strings.Contains(said, "mode plan\nverbosity long") {
					t.Errorf("the agent says %q", said)
				}
			}
			if got := r.configOf(); setTo(got) != want || got.Revision != 3 {
				t.Errorf("after all %s, revision %d", setTo(got), got.Revision)
			}
			if len(told.all()) > 0 {
				t.Errorf("notices: %q", told.all())
			}
			r.check()
			r.host.calms(t)
		})
	}
}

// A setting is no activity, no event and no prompt; the title comes from the agent.
func TestConfig_S11_1_SettingIsNoActivity(t *testing.T) {
	var mu sync.Mutex
	now := time.UnixMilli(1_000_000)
	r := newRig(t, func(r *rig) {
		r.config.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		}
	}).start()
	r.mustPrompt("[[title A name]]")
	before := r.info("main")
	if before.Title == nil || *before.Title != "A name" || before.UpdatedAt <= before.CreatedAt {
		t.Errorf("after a turn: %+v", before)
	}
	r.mustConfigure(option("verbosity", `"long"`))
	r.mustConfigure(actors.Setting{Mode: "plan"})
	if after := r.info("main"); after.UpdatedAt != before.UpdatedAt || after.LatestSequence != before.LatestSequence || after.State != protocol.StateIdle || *after.Title != "A name" {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	r.mustPrompt("again")
	if after := r.info("main"); after.UpdatedAt <= before.UpdatedAt {
		t.Errorf("a prompt is activity: %+v", after)
	}
}

func TestConfig_S14_Refusals(t *testing.T) {
	r := newRig(t).start()
	for range 2 { // without a session, and without one that is left behind
		if _, err := r.vm.Configure(r.ctx(), "main", actors.Setting{Mode: "plan"}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
			t.Errorf("no session: %v", err)
		}
		if _, err := r.vm.Config(r.ctx(), "main"); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
			t.Errorf("no session: %v", err)
		}
	}
	r.openMain()
	for range 2 { // the agent is brought up for the first
		for _, c := range []struct {
			set  actors.Setting
			code protocol.Code
			text string
		}{
			{option("volume", `"loud"`), protocol.CodeInvalidConfigValue, `no config option "volume"; it has verbosity`},
			{option("verbosity", `"medium"`), protocol.CodeInvalidConfigValue, `it takes short, long`},
			{option("verbosity", `1`), protocol.CodeInvalidConfigValue, ``},
			{option("verbosity", `nonsense`), protocol.CodeInvalidConfigValue, ``},
			{actors.Setting{Mode: "party"}, protocol.CodeInvalidConfigValue, `it has default, plan`},
			{actors.Setting{Option: "verbosity"}, protocol.CodeInvalidConfigValue, ``},
			{actors.Setting{}, protocol.CodeInvalidArgument, ``},
			{actors.Setting{Option: "verbosity", Value: []byte(`"long"`), Mode: "plan"}, protocol.CodeInvalidArgument, ``},
		} {
			_, err := r.vm.Configure(r.ctx(), "main", c.set)
			if protocol.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%+v: %v; want %s ... %s", c.set, err, c.code, c.text)
			}
		}
	}
	if got := setTo(r.configOf()); got != `verbosity="short" default` {
		t.Errorf("after refusals %s", got)
	}
	r.host.calms(t)
}

// In a turn, with a question open, and by the agent itself: all of it is seen.
func TestConfig_InATurn(t *testing.T) {
	r := newRig(t).start()
	r.openMain()
	w := r.watch("main", 0)
	answered := make(chan error, 1)
	go func() {
		_, err := r.prompt("[[ask]] [[session]] [[raw " + `{"sessionUpdate":"current_mode_update","currentModeId":"default"}` + "]]")
		answered <- err
	}()
	ask := w.until(t, "question", func(i feed.Item) bool {
		return i.Event != nil && i.Event.Kind == protocol.KindPermissionRequest
	})
	var wg sync.WaitGroup
	for _, s := range []actors.Setting{option("verbosity", `"long"`), {Mode: "plan"}, option("verbosity", `"long"`)} {
		wg.Go(func() {
			if _, err := r.vm.Configure(r.ctx(), "main", s); err != nil {
				t.Errorf("configure %+v: %v", s, err)
			}
		})
	}
	wg.Wait()
	if got := setTo(r.configOf()); got != `verbosity="long" plan` {
		t.Errorf("in the turn %s", got)
	}
	if _, err := r.vm.Permit(r.ctx(), "main", ask.Event.Request, "allow"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if got := r.configOf(); setTo(got) != `verbosity="long" default` || got.Revision != 4 {
		t.Errorf("after the agent's own change %s, revision %d", setTo(got), got.Revision)
	}
	r.check()
	r.host.calms(t)
}

// Another agent starts with what it has itself.
func TestConfig_S6_1_AReplacedAgentHasItsOwn(t *testing.T) {
	var told notices
	r := newRig(t, told.hear).start()
	r.openMain()
	r.mustConfigure(option("verbosity", `"long"`))
	r.mustConfigure(actors.Setting{Mode: "plan"})
	other := spec()
	other.Agent = "other"
	if err := r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: other, Given: fieldAgent}); err != nil {
		t.Fatal(err)
	}
	if got := r.configOf(); got.Options != nil || got.Modes != nil || got.Revision != 4 {
		t.Errorf("after the replacement %+v", got)
	}
	if said := messageText(r.mustPrompt("[[session]]").Message); !strings.Contains(said, "mode default\nverbosity short") {
		t.Errorf("the other agent says %q", said)
	}
	if len(told.all()) > 0 {
		t.Errorf("notices: %q", told.all())
	}
}

// A commit that is refused: the caller is told, the agent is set all the same, and
// what is stored follows (S6.4 the other way round).
func TestConfig_ARefusedCommitIsCaughtUp(t *testing.T) {
	r, h := newHookedRig(t)
	r.mustPrompt("hi")
	refused := false
	h.set(func(h *hooked) {
		h.tx = func(run func() error) error { // the writer is one goroutine
			if refused {
				return run()
			}
			refused = true
			return refusal(persistence.ClassFull)
		}
	})
	if _, err := r.vm.Configure(r.ctx(), "main", actors.Setting{Mode: "plan"}); protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Fatalf("on a full disk: %v", err)
	}
	if said := messageText(r.mustPrompt("[[session]]").Message); !strings.Contains(said, "mode plan") {
		t.Errorf("the agent says %q", said)
	}
	if got := setTo(r.configOf()); got != `verbosity="short" plan` {
		t.Errorf("stored is %s", got)
	}
	if _, started := r.agents.counts(); started != 1 {
		t.Errorf("%d agents were started; want the one", started)
	}
	r.host.calms(t)
}

// await waits until the VM has been held n times.
func (h *host) await(t *testing.T, n int) {
	t.Helper()
	seen := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.seen
	}
	for end := time.Now().Add(patience); seen() < n; pause(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the VM was held %d times; want %d", seen(), n)
		}
	}
}

// calms waits until nothing keeps the VM awake any more: that follows the answers.
func (h *host) calms(t *testing.T) {
	t.Helper()
	held := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.holds)
	}
	for end := time.Now().Add(patience); held() > 0 && time.Now().Before(end); {
		pause(time.Millisecond)
	}
	h.rested(t)
}

// Every wait for a setting has an end, whatever ends it.
func TestConfig_S9_4_EveryWaitEnds(t *testing.T) {
	deaf := func(_ protocol.SessionID, w *wireAgent) {
		w.serveConfig("m1", `"modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"b"}]}`, func(wireCall) string { return "" })
	}
	for name, end := range map[string]func(r *wireRig) error{
		"unload": func(r *wireRig) error { return r.vm.Unload(r.ctx(), "main") },
		"delete": func(r *wireRig) error { return r.vm.Delete(r.ctx(), "main") },
		"close":  func(r *wireRig) error { return r.vm.Close(r.ctx()) },
		"another agent": func(r *wireRig) error {
			other := spec()
			other.Agent = "other"
			return r.vm.Open(r.ctx(), actors.OpenSession{Session: "main", Spec: other, Given: fieldAgent})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newWireRig(t, 0, deaf)
			r.openMain()
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := r.vm.Configure(r.ctx(), "main", actors.Setting{Mode: "b"})
					errs <- err
				}()
			}
			r.await(t, "session/set_mode", 1)
			r.host.await(t, 2) // the other waits behind it
			if err := end(r); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := <-errs; err == nil || errors.Is(err, context.DeadlineExceeded) || protocol.CodeOf(err) == protocol.CodeInternal {
					t.Errorf("ended with %v", err)
				}
			}
			if n := len(r.wire.of("session/set_mode")); n != 1 {
				t.Errorf("the agent was asked %d times; want once, the second waits", n)
			}
			r.host.calms(t)
		})
	}
}
