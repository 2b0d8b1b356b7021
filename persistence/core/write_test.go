package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/core"
	"agentos/protocol"
)

var spec = protocol.Spec{Agent: "tiny", Cwd: "/work", Policy: protocol.PolicyAsk}

const result = `{"stopReason":"end_turn"}`

// opened returns a twin whose session is stored.
func opened(t reporter, db persistence.DB, id protocol.SessionID) *twin {
	t.Helper()
	w := newTwin(id)
	mustWrite(t, db, w.batch(func() { w.open(spec) }))
	return w
}

// Every payload comes back as it went in, byte for byte, wherever it is stored.
func TestS4_1_ExactBytes(t *testing.T) {
	db := newDB(t)
	w := newTwin("main")
	mustWrite(t, db, w.batch(func() { w.open(spec) }, func() { w.accept("k", payloads...) }))
	for _, p := range payloads {
		mustWrite(t, db, w.batch(
			func() { w.update(p) },
			func() { w.ask(p) },
			func() { w.answer(0, p, protocol.ReasonAccepted) },
			func() {
				w.bind(func(r *protocol.Record) { r.ACPSession, r.Capabilities, r.AgentInfo = "a", []byte(p), []byte(p) })
			},
			func() { w.profile(func(r *protocol.Record) { r.Metadata = []byte(p) }) },
		))
		snap, _, err := core.Load(ctx, db, "main")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w.snap, snap); d != "" {
			t.Errorf("payload %q: %s", p, d)
		}
		for id, want := range w.records {
			got, _, err := core.PermissionRecord(ctx, db, "main", id)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("payload %q: %v, %s", p, err, d)
			}
		}
	}
	if d := cmp.Diff(w.events, history(t, db, "main", 7)); d != "" {
		t.Error(d)
	}
	for _, p := range payloads {
		b := w.batch(func() { w.end(p, "") }, func() { w.accept("", "1") })
		mustWrite(t, db, b)
		id := b.Changes[0].(protocol.PromptEnded).Prompt.ID
		if got, _, err := core.Prompt(ctx, db, "main", id); string(got.Result) != p || err != nil {
			t.Errorf("result %q came back as %q, %v", p, got.Result, err)
		}
	}
}

// stored returns a twin of a session that could be in a database: running, with
// one permission pending.
func stored(id protocol.SessionID) *twin {
	w := newTwin(id)
	w.exists, w.snap.Record = true, protocol.Record{ID: id, State: protocol.StateWaiting, Prompt: "p"}
	w.snap.Active = &protocol.Prompt{ID: "p"}
	w.snap.Pending = []protocol.Permission{{ID: "r", Prompt: "p", State: protocol.PermissionPending}}
	return w
}

// everything returns batches that need every statement there is.
func everything(i int) []protocol.Batch {
	created, ended, closed := newTwin(name[protocol.SessionID]("a", i)), stored(name[protocol.SessionID]("b", i)), stored(name[protocol.SessionID]("c", i))
	answer := func(w *twin) func() { return func() { w.answer(0, "1", protocol.ReasonAccepted) } }
	return []protocol.Batch{
		created.batch(func() { created.open(spec) }, func() { created.accept("", "1") }),
		ended.batch(answer(ended), func() { ended.ask("1") }, func() { ended.end(result, "") }, func() { ended.accept("", "1") }),
		ended.batch(func() { ended.ask("3") }, func() { ended.bind(func(*protocol.Record) {}) }),
		closed.batch(answer(closed), func() { closed.profile(func(*protocol.Record) {}) }, func() { closed.launch("x", nil) }),
		closed.batch(func() { closed.update("1") }),
	}
}

// The number of statements does not grow with the group (the cost of a socket
// is in statements and waits), and a group of the plainest batches has two.
func TestCompile_ConstantStatements(t *testing.T) {
	for _, n := range []int{1, 64, 512} {
		var rich, plain []protocol.Batch
		w := stored("main")
		for i := range n {
			rich = append(rich, everything(i)...)
			plain = append(plain, w.batch(func() { w.update("1") }))
		}
		for _, tc := range []struct {
			group        []protocol.Batch
			waves, stmts int
		}{{rich, 2, 18}, {plain, 1, 2}} {
			waves, err := core.Compile(tc.group)
			if err != nil {
				t.Fatalf("Compile = %v", err)
			}
			stmts := 0
			for _, wave := range waves {
				stmts += len(wave)
			}
			if len(waves) != tc.waves || stmts != tc.stmts {
				t.Errorf("%d batches: %d waves, %d statements; want %d, %d", len(tc.group), len(waves), stmts, tc.waves, tc.stmts)
			}
		}
	}
	if waves, err := core.Compile(nil); waves != nil || err != nil {
		t.Errorf("Compile(nil) = %v, %v", waves, err)
	}
}

// A batch that cannot be what comes next is refused, before the database or by
// it, as a definite error, and the database stays as it is.
func TestS12_2_Refused(t *testing.T) {
	fail := func(prompt protocol.PromptID) protocol.PromptEnded {
		return protocol.PromptEnded{Prompt: protocol.Prompt{ID: prompt, State: protocol.PromptFailedState, Error: []byte(`{}`), UpdatedAt: 1 << 40}}
	}
	for _, tc := range []struct {
		name string
		// make returns batches for the session w, which has a prompt that ended, a
		// running one with the key "used" and a pending permission.
		make    func(w *twin) []protocol.Batch
		compile bool // refused before the database
	}{
		{"second accepted prompt", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.accept("", "1") })}
		}, false},
		{"second accepted prompt in one group", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.end(result, "") }, func() { w.accept("", "1") }), w.batch(func() { w.accept("", "1") })}
		}, false},
		{"key used before", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.end(result, "") }), w.batch(func() { w.accept("used", "1") })}
		}, false},
		{"session created twice", func(w *twin) []protocol.Batch {
			v := newTwin(w.id)
			return []protocol.Batch{v.batch(func() { v.open(spec) })}
		}, false},
		{"base behind", func(w *twin) []protocol.Batch {
			w.snap.Record.Latest--
			return []protocol.Batch{w.batch(func() { w.update("1") })}
		}, false},
		{"base ahead", func(w *twin) []protocol.Batch {
			w.snap.Record.Latest++
			return []protocol.Batch{w.batch(func() { w.update("1") })}
		}, false},
		{"base of another prompt", func(w *twin) []protocol.Batch {
			w.snap.Record.Prompt = "other"
			return []protocol.Batch{w.batch(func() { w.update("1") })}
		}, false},
		{"base running", func(w *twin) []protocol.Batch {
			w.snap.Record.State = protocol.StateRunning
			return []protocol.Batch{w.batch(func() { w.update("1") })}
		}, false},
		{"end of a prompt that is not accepted", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.did(fail("other")) })}
		}, false},
		{"end of a prompt that has ended", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.did(fail("main-prompt-1")) })}
		}, false},
		{"answer to a request that is not pending", func(w *twin) []protocol.Batch {
			w.snap.Pending[0].ID = "other"
			return []protocol.Batch{w.batch(func() { w.answer(0, "1", protocol.ReasonAccepted) })}
		}, false},
		{"answer at the end to a request that is not pending", func(w *twin) []protocol.Batch {
			w.snap.Pending[0].ID = "other"
			return []protocol.Batch{w.batch(func() { w.end(result, "") })}
		}, false},
		{"payload that is not JSON", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.update("1") }), w.batch(func() { w.update(`{"a":}`) })}
		}, false},
		{"state without a prompt", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.snap.Record.Prompt = "" })}
		}, false},
		{"armed without an adapter session", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.bind(func(r *protocol.Record) { r.Armed = true }) })}
		}, false},

		{"gap between batches", func(w *twin) []protocol.Batch {
			a := w.batch(func() { w.update("1") })
			w.batch(func() { w.update("2") })
			return []protocol.Batch{a, w.batch(func() { w.update("3") })}
		}, true},
		{"batches in the wrong order", func(w *twin) []protocol.Batch {
			a := w.batch(func() { w.update("1") })
			return []protocol.Batch{w.batch(func() { w.update("2") }), a}
		}, true},
		{"gap between events", func(w *twin) []protocol.Batch {
			b := w.batch(func() { w.update("1") }, func() { w.update("2") })
			b.Changes = b.Changes[1:]
			return []protocol.Batch{b}
		}, true},
		{"row behind its events", func(w *twin) []protocol.Batch {
			b := w.batch(func() { w.update("1") }, func() { w.update("2") })
			b.Row.Latest--
			return []protocol.Batch{b}
		}, true},
		{"row of another session", func(w *twin) []protocol.Batch {
			b := w.batch(func() { w.update("1") })
			b.Row.ID = "other"
			return []protocol.Batch{b}
		}, true},
		{"opened and there", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.did(protocol.SessionOpened{Record: w.snap.Record}) })}
		}, true},
		{"not there and not opened", func(*twin) []protocol.Batch {
			return []protocol.Batch{{Session: "new", Row: protocol.Record{ID: "new"}}}
		}, true},
		{"new with a base", func(*twin) []protocol.Batch {
			v := newTwin("new")
			b := v.batch(func() { v.open(spec) })
			b.Base.State = protocol.StateIdle
			return []protocol.Batch{b}
		}, true},
		{"prompt ended twice", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.end(result, "") }, func() { w.did(w.changes[len(w.changes)-1]) })}
		}, true},
		{"prompt cancelled, which is never written", func(w *twin) []protocol.Batch {
			end := fail(w.snap.Active.ID)
			end.Prompt.State = protocol.PromptCancelledState
			return []protocol.Batch{w.batch(func() { w.did(end) })}
		}, true},
		{"prompt ended with a permission pending", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.ask("1") }, func() { w.did(fail(w.snap.Active.ID)) })}
		}, true},
		{"permission closed after its prompt", func(w *twin) []protocol.Batch {
			p := w.snap.Pending[0]
			p.State, p.Reason = protocol.PermissionTerminal, protocol.ReasonVMShutdown
			return []protocol.Batch{w.batch(func() { w.end(result, "") }, func() { w.did(protocol.PermissionClosed{Permission: p}) })}
		}, true},
		{"permission closed twice", func(w *twin) []protocol.Batch {
			return []protocol.Batch{w.batch(func() { w.answer(0, "1", protocol.ReasonAccepted) }, func() { w.did(w.changes[len(w.changes)-1]) })}
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := newDB(t)
			w := opened(t, db, "main")
			mustWrite(t, db, w.batch(func() { w.accept("", "1") }, func() { w.end(result, "") }))
			mustWrite(t, db, w.batch(func() { w.accept("used", "1") }, func() { w.ask(`{}`) }))
			other := opened(t, db, "other")
			before := dump(t, db)

			group := append([]protocol.Batch{other.batch(func() { other.update("1") })}, tc.make(w)...)
			err := write(db, group...)
			var batch *core.BatchError
			switch compile := errors.As(err, &batch); {
			case err == nil:
				t.Fatal("stored")
			case compile != tc.compile:
				t.Fatalf("write = %v; want it refused before the database: %v", err, tc.compile)
			case compile && (batch.Index != len(group)-1 || batch.Session != group[len(group)-1].Session):
				t.Errorf("%v blames batch %d of %q", err, batch.Index, batch.Session)
			case !persistence.Definite(err):
				t.Errorf("write = %v; want a definite error", err)
			}
			if d := cmp.Diff(before, dump(t, db)); d != "" {
				t.Errorf("the database changed: %s", d)
			}
		})
	}
}

// What we write as JSON can be read by people, and keeps what it holds.
func TestS6_1_SpecIsStored(t *testing.T) {
	db := newDB(t)
	w := newTwin("main")
	mustWrite(t, db, w.batch(func() {
		w.open(protocol.Spec{Agent: "x", Cwd: "/", Policy: protocol.PolicyAsk, Launch: &protocol.Launch{Argv: []string{"a&b", "<c>"}},
			Env: map[string]string{"B": "&", "A": ""}, AdditionalDirectories: []string{"/<d>"}})
	}))
	want := []persistence.Value{`{"argv":["a&b","<c>"]}`, `{"A":"","B":"&"}`, `["/<d>"]`, "[]"}
	if d := cmp.Diff(want, read(t, db, `SELECT launch_json, env_json, additional_directories_json, mcp_servers_json FROM agentos_core_sessions`)[0]); d != "" {
		t.Error(d)
	}
}

// A session that is being deleted takes no more writes and is nowhere seen.
func TestS9_3_DeletingIsInvisible(t *testing.T) {
	db := newDB(t)
	w := opened(t, db, "main")
	mustWrite(t, db, w.batch(func() { w.accept("k", "1") }))
	exec(t, db, `UPDATE agentos_core_sessions SET deleting = 1`)
	if err := write(db, w.batch(func() { w.update("2") })); !persistence.Definite(err) {
		t.Errorf("write = %v; want a definite error", err)
	}
	if _, found, err := core.Load(ctx, db, "main"); found || err != nil {
		t.Errorf("Load = %v, %v", found, err)
	}
	if _, err := core.History(ctx, db, "main", core.PageRequest{}); protocol.CodeOf(err) != protocol.CodeSessionNotFound {
		t.Errorf("History = %v", err)
	}
	if list, _, err := core.Sessions(ctx, db, core.ListRequest{}); len(list) != 0 || err != nil {
		t.Errorf("Sessions = %v, %v", list, err)
	}
	if ids, err := core.AcceptedSessions(ctx, db); len(ids) != 0 || err != nil {
		t.Errorf("AcceptedSessions = %v, %v", ids, err)
	}
	noFindings(t, db)
}

// Totals follow the rows, also where a prompt and its permissions begin and end
// in one group.
func TestS12_2_Totals(t *testing.T) {
	db := newDB(t)
	totals := func(want ...persistence.Value) {
		t.Helper()
		got := read(t, db, `SELECT sessions, prompts, pending, outcomes FROM agentos_core_totals`)[0]
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("totals: %s", d)
		}
		noFindings(t, db)
	}
	totals(int64(0), int64(0), int64(0), int64(0))
	w := opened(t, db, "main")
	totals(int64(1), int64(0), int64(0), int64(0))
	mustWrite(t, db, w.batch(func() { w.accept("", "1") }, func() { w.ask("1") }, func() { w.ask("2") }))
	totals(int64(1), int64(1), int64(2), int64(0))
	mustWrite(t, db, w.batch(func() { w.answer(0, "1", protocol.ReasonAccepted) }))
	totals(int64(1), int64(1), int64(1), int64(0))
	mustWrite(t, db, w.batch(func() { w.end(result, "") }))
	totals(int64(1), int64(1), int64(0), int64(2))
	v := newTwin("v")
	mustWrite(t, db,
		v.batch(func() { v.open(spec) }, func() { v.accept("", "1") }, func() { v.ask("1") }),
		v.batch(func() { v.end("", `{"code":"x"}`) }),
		v.batch(func() { v.accept("", "1") }))
	totals(int64(2), int64(3), int64(0), int64(3))
}

// An error of a batch names its session and no content.
func TestBatchError_Text(t *testing.T) {
	w := newTwin("main")
	b := w.batch(func() { w.open(spec) }, func() { w.update(`"secret"`) })
	b.Row.Latest = 7
	_, err := core.Compile([]protocol.Batch{b})
	if err == nil || !strings.Contains(err.Error(), `"main"`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Compile = %v", err)
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newTwin("main")
			w.exists, w.snap.Record = true, protocol.Record{ID: "main", State: protocol.StateIdle}
			var group []protocol.Batch
			for range n {
				group = append(group, w.batch(func() { w.update(payloads[0]) }))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := core.Compile(group); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
