package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentos/actors"
	"agentos/actors/feed"
	"agentos/persistence"
	"agentos/persistence/schema"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
	"agentos/sessions"
	"agentos/test/e2e/program"
)

var writeStored = flag.Bool("write-stored", false, "write the stored databases that are missing")

// TestWriteStored writes the databases that are missing: the one of the newest
// versions, as a runtime leaves it that is killed in the middle of two turns, and
// the one where every owner is at version 1. One that is there is never written
// again: the program of its time is not to be had any more.
func TestWriteStored(t *testing.T) {
	if !*writeStored {
		t.Skip("without -write-stored nothing is written")
	}
	current := filepath.Join(t.TempDir(), "current.db")
	if !isStored(t, newest()) {
		writeCurrent(t, current)
		store(t, current, newest())
	} else {
		putStored(t, storedName(newest()), current)
	}
	if first := []int{1, 1, 1}; !isStored(t, first) {
		path := filepath.Join(t.TempDir(), "first.db")
		writeOlder(t, path, current, first)
		store(t, path, first)
	}
}

func isStored(t *testing.T, versions []int) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(storedDir, storedName(versions)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func store(t *testing.T, path string, versions []int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(storedDir, storedName(versions)), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes, packed %d", storedName(versions), len(data), packed.Len())
}

// promptsOfMain are the prompts of session main, with flags and exit codes.
var promptsOfMain = []struct {
	args []string
	code int
}{
	{[]string{"--policy", "allow_all", "--env", "COLOR=green", "--key", "k1", "remember #blue [[think]] [[tool grep]] [[chunks 5]]"}, 0},
	{[]string{"grüße, 世界 😀 \u2028 e\u0301 end"}, 0},
	{[]string{"[[big 30000]]"}, 0},
	{[]string{`[[raw {"sessionUpdate":"x_odd" , "n":1.10,"n":9007199254740993,"t":"\ud800 \u0000 \/ 读"}]]`}, 0},
	{[]string{"[[ask]] [[title A title]] [[usage]]"}, 0},
	{[]string{"--key", "bad", "[[error -32603]]"}, protocol.ExitFailed},
	{[]string{"after the failure #two"}, 0},
}

// whatOthersStored is in tables that our sessions do not use.
var whatOthersStored = []string{
	`INSERT INTO agentos_fs_metadata_heads VALUES ('root', 3, 2, 6)`,
	`INSERT INTO agentos_fs_metadata_chunks VALUES ('root', 3, 0, x'7b7d00ff'), ('root', 3, 1, x'0a00'), ('root', 2, 0, x'')`,
	`INSERT INTO agentos_fs_blocks VALUES ('root', 'b/1', zeroblob(4096)), ('root', 'b/ü', x'00ff')`,
	`INSERT INTO agentos_actor_preview_tokens VALUES ('0123456789abcdef0123456789abcdef0123456789abcdef', 8080, 1796072693695, 1796076293695)`,
	`INSERT INTO agentos_actor_dynamic_mounts VALUES ('/mnt/data', '{"kind":"host","path":"/srv/data"}')`,
	`INSERT INTO agentos_actor_linked_software VALUES ('/opt/tool', '{"name":"tool","version":1.10}')`,
	// As recovery stores a run that was cut off (S7.5).
	`UPDATE agentos_core_event_log SET incomplete = 1 WHERE sequence = 2
		AND session_key = (SELECT session_key FROM agentos_core_session_keys WHERE session_id = 'cut')`,
}

// writeCurrent makes a database with the runtime as it is now.
func writeCurrent(t *testing.T, path string) {
	t.Helper()
	home := program.NewHome(t, program.Binary())
	onPath(t, home)
	prompt := func(want int, args ...string) {
		t.Helper()
		if out := home.Run(t, append([]string{"prompt", "--json"}, args...)...); out.Code != want {
			t.Fatalf("%q = %d, %s%s", args, out.Code, short(out.Lines()), out.Stderr)
		}
	}
	// The directory has to be there on every machine.
	first := slices.Concat([]string{"--cwd", "/"}, promptsOfMain[0].args)
	prompt(0, first...)
	for _, p := range promptsOfMain[1:] {
		prompt(p.code, p.args...)
	}
	prompt(protocol.ExitPermissionRequired, "--cwd", "/", "--session", "nobody", "[[ask]]")
	out := home.Start(t, func(r *program.Run, _ int, line []byte) {
		if bytes.Contains(line, []byte(`"type":"tool_call"`)) {
			r.Kill()
		}
	}, "prompt", "--json", "--cwd", "/", "--session", "cut", "[[chunks 3]] [[calls 1]] [[slow 100 50]]").Wait(t)
	if out.Code != -1 {
		t.Fatalf("cut = %d, %s", out.Code, out.Stderr)
	}
	home.AwaitNone(t)
	leaveRunning(t, home, path)
	change(t, path, whatOthersStored...)
}

// leaveRunning goes on in the database of a home, and copies it to path while two
// turns run: as a kill in that moment would leave it.
func leaveRunning(t *testing.T, home *program.Home, path string) {
	t.Helper()
	node, err := actors.Start(actors.Config{
		Sources: func(d protocol.Descriptor) (persistence.Source, error) {
			return sqlitefile.Acquire(d.SQLiteFile, sqlitefile.Options{Command: "a test"})
		},
		Adapters: actors.Processes([]string{program.Binary(), "adapter", "guard"}, home.Env, protocol.DefaultLimits().ReadLineBytes),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer func() {
		if err := node.Close(ctx); err != nil {
			t.Errorf("close the node: %v", err)
		}
	}()
	vm, err := node.Open(ctx, "default", protocol.Descriptor{SQLiteFile: home.DB})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, ctx: ctx, vm: vm}
	w.begin("asks", "[[ask]] #asked", "allow")
	w.end()
	w.begin("asks", "[[asks 2]]", "reject", "allow_always")
	w.end()
	w.begin("running", "[[think]] [[tool grep]] [[chunks 3]] [[calls 2]] [[wait]]")
	w.await(func(i feed.Item) bool {
		return i.Event != nil && bytes.Contains(i.Event.Payload, []byte("call 2"))
	})
	w.begin("asks", "[[asks 2]] unanswered", "allow")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(home.DB + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// writer runs turns.
type writer struct {
	t     *testing.T
	ctx   context.Context
	vm    *actors.VM
	watch *feed.Subscription
	ended chan error
}

// begin begins a turn and answers its first permission requests.
func (w *writer) begin(session protocol.SessionID, text string, answers ...string) {
	w.t.Helper()
	var after protocol.Sequence
	if info, err := w.vm.Session(w.ctx, session); err == nil {
		after = info.LatestSequence
	}
	var err error
	if w.watch, err = w.vm.Watch(w.ctx, session, after); err != nil {
		w.t.Fatal(err)
	}
	launch := &protocol.Launch{Argv: []string{"agentos", "adapter", "scripted"}, Env: []string{"AGENTOS_SCRIPTED_DIR"}}
	ended, ctx := make(chan error, 1), w.ctx
	w.ended = ended
	go func() { // ends with the node
		_, err := w.vm.Prompt(ctx, actors.Prompt{
			Session: session, Content: fmt.Appendf(nil, `[{"type":"text","text":%q}]`, text), IfAsked: sessions.WaitForAnswer,
			Open: &actors.OpenSession{Session: session, Spec: protocol.Spec{Agent: "agentos", Launch: launch, Cwd: "/", Policy: protocol.PolicyAsk}},
		})
		ended <- err
	}()
	var asked []protocol.RequestID
	for want := max(strings.Count(text, "[[ask]]"), 2*strings.Count(text, "[[asks 2]]")); len(asked) < want; {
		w.await(func(i feed.Item) bool {
			if i.Event == nil || i.Event.Kind != protocol.KindPermissionRequest {
				return false
			}
			asked = append(asked, i.Event.Request)
			return true
		})
	}
	for i, option := range answers {
		if _, err := w.vm.Permit(w.ctx, session, asked[i], option); err != nil {
			w.t.Fatal(err)
		}
	}
}

// end waits for the end of the last turn.
func (w *writer) end() {
	w.t.Helper()
	if err := <-w.ended; err != nil {
		w.t.Fatal(err)
	}
}

// await waits for something to be shown.
func (w *writer) await(wanted func(feed.Item) bool) {
	w.t.Helper()
	for {
		item, err := w.watch.Next(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if wanted(item) {
			return
		}
	}
}

// writeOlder makes a database with the first steps of every ladder, and what of
// the one at from has a place there.
func writeOlder(t *testing.T, path, from string, versions []int) {
	t.Helper()
	older := slices.Clone(owners)
	for i := range older {
		older[i].Steps = older[i].Steps[:versions[i]]
	}
	withWriter(t, path, func(to persistence.DB) {
		plan, err := schema.Inspect(to, older)
		if err == nil {
			err = schema.Run(to, plan, func() string { return "test" })
		}
		if err != nil {
			t.Fatal(err)
		}
		withDatabase(t, from, func(q persistence.Querier) {
			for _, found := range query(t, to, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '*_schema_version'`) {
				copyTable(t, to, q, found[0].(string))
			}
		})
	})
}

func copyTable(t *testing.T, to persistence.DB, from persistence.Querier, table string) {
	t.Helper()
	columns, _, _ := columnsOf(t, to, table)
	names := strings.Join(columns, ", ")
	values := query(t, from, "SELECT "+names+" FROM "+table)
	if len(values) == 0 {
		return
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, names, strings.Repeat(", ?", len(columns)-1))
	if err := to.Tx(persistence.Tx{Key: "test", Waves: [][]persistence.Stmt{{{SQL: insert, Rows: values, Want: -1}}}}); err != nil {
		t.Fatal(err)
	}
}
