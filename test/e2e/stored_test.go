package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/persistence"
	"agentos/persistence/actorstate"
	"agentos/persistence/core"
	"agentos/persistence/schema"
	"agentos/persistence/sqlitefile"
	"agentos/persistence/vfs"
	"agentos/test/e2e/program"
)

// owners are the owners of a VM's database.
var owners = []schema.Owner{vfs.Owner, core.Owner, actorstate.Owner}

// versionsOf returns the version of each owner, 0 for one that is not there.
func versionsOf(r rows) []int {
	versions := make([]int, len(owners))
	for i, o := range owners {
		if v, there := r[o.VersionTable]["1"]; there {
			versions[i] = number(v["schema_version"])
		}
	}
	return versions
}

// newest are the versions that this program works with.
func newest() []int {
	versions := make([]int, len(owners))
	for i, o := range owners {
		versions[i] = len(o.Steps)
	}
	return versions
}

// storedName is the file of a database of our own at these versions.
func storedName(versions []int) string {
	var parts []string
	for i, o := range owners {
		parts = append(parts, fmt.Sprintf("%s%d", o.Name, versions[i]))
	}
	return strings.Join(parts, "-") + ".db.gz"
}

// TestS2_5_EveryVersionIsStored fails when a ladder has grown: the database of
// the new version is then to be stored, so that it is migrated from now on.
func TestS2_5_EveryVersionIsStored(t *testing.T) {
	t.Parallel()
	stored := map[string]bool{}
	for _, name := range storedNames(t) {
		path := filepath.Join(t.TempDir(), "vm.db")
		putStored(t, name, path)
		versions := versionsOf(rowsOf(t, path))
		if ours := storedName(versions); strings.HasSuffix(name, ".gz") && name != ours {
			t.Errorf("%s holds versions %v; its name would be %s", name, versions, ours)
		}
		for i, o := range owners {
			stored[fmt.Sprint(o.Name, versions[i])] = true
		}
	}
	for _, o := range owners {
		for v := range len(o.Steps) {
			if !stored[fmt.Sprint(o.Name, v+1)] {
				t.Errorf("no stored database has version %d of the %s tables; go test ./test/e2e -run TestWriteStored -write-stored makes one, to be committed with the step", v+1, o.Name)
			}
		}
	}
}

// TestS2_5_StoredDatabasesMigrate opens a database of every version that was ever
// released: the steps are taken with its data in it, turns that were running are
// settled, nothing else of it changes, and all its sessions go on.
func TestS2_5_StoredDatabasesMigrate(t *testing.T) {
	t.Parallel()
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := withStored(t, name)
			onPath(t, home)
			before := rowsOf(t, home.DB)
			settled := before.of("agentos_core_prompts", row{"state": "'accepted'"})

			out := home.Run(t, "sessions", "--json")
			sessions := slices.Sorted(maps.Keys(before["agentos_core_sessions"]))
			if out.Code != 0 || out.Stderr != "" || len(out.Lines()) != len(sessions) {
				t.Fatalf("sessions = %d, %s%s; want %v", out.Code, out.Stdout, out.Stderr, sessions)
			}
			after := rowsOf(t, home.DB)
			if diff := cmp.Diff(opening(before), changes(before, after)); diff != "" {
				t.Errorf("what was stored and has changed (-want +got):\n%s", diff)
			}
			if got := versionsOf(after); !slices.Equal(got, newest()) {
				t.Errorf("the versions are %v; want %v", got, newest())
			}
			for _, p := range settled {
				is := after["agentos_core_prompts"][p["session_id"]+" "+p["prompt_id"]]
				if is["state"] != "'failed'" || !strings.Contains(is["error_json"], `"code":"prompt_delivery_uncertain"`) {
					t.Errorf("a running turn was settled as %v", is)
				}
			}
			wantClean(t, home)
			for _, session := range sessions {
				goOn(t, home, after, strings.Trim(session, "'"))
			}
			wantClean(t, home)
		})
	}
}

func wantClean(t *testing.T, home *program.Home) {
	t.Helper()
	if r, code := doctorOf(t, home); code != 0 || !r.Clean {
		t.Errorf("doctor = %d, %+v; want clean", code, r)
	}
}

// goOn reads a session and runs one more turn in it, with another agent where
// its own is not to be had.
func goOn(t *testing.T, home *program.Home, stored rows, session string) {
	t.Helper()
	before := historyOf(t, home, session)
	if want := len(stored.of("agentos_core_events", row{"session_id": "'" + session + "'"})); len(before) != want {
		t.Errorf("history of %s has %d events; want %d", session, len(before), want)
	}
	compareWithRows(t, stored, session, before)
	args := []string{"prompt", "--json", "--session", session}
	if r := stored["agentos_core_sessions"]["'"+session+"'"]; r["launch_json"] == "NULL" && r["agent"] != "'scripted'" {
		args = append(args, "--agent", "scripted")
	}
	out := home.Run(t, append(args, "go on #"+session)...)
	if out.Code != 0 || !strings.Contains(string(out.Stdout), "I have seen") {
		t.Errorf("prompt of %s = %d, %s%s", session, out.Code, short(out.Lines()), out.Stderr)
	}
	after := historyOf(t, home, session)
	if len(after) != len(before)+2 || !slices.Equal(after[:len(before)], before) {
		t.Errorf("history of %s had %d events and has %d", session, len(before), len(after))
	}
}

// onPath lets the agents of a home find the binary under its name.
func onPath(t *testing.T, home *program.Home) {
	t.Helper()
	bin := filepath.Join(home.Dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(home.Binary, filepath.Join(bin, "agentos"))); err != nil {
		t.Fatal(err)
	}
	home.Env = append(home.Env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestS10_6_ReadingStartsNoAgent: every session of the database has a trap for an
// agent, and a turn that was running when the runtime died. No command that only
// reads starts one, and none is prompted by the way.
func TestS10_6_ReadingStartsNoAgent(t *testing.T) {
	t.Parallel()
	home := withStored(t, storedName(newest()))
	mark := filepath.Join(home.Dir, "started")
	trap := filepath.Join(home.Dir, "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0\" >>'"+mark+"'\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	change(t, home.DB, fmt.Sprintf(`UPDATE agentos_core_sessions SET agent = 'trap', launch_json = json_object('argv', json_array('%s'))`, trap))
	before := rowsOf(t, home.DB)
	if len(before.of("agentos_core_prompts", row{"state": "'accepted'"})) == 0 {
		t.Fatal("no turn was running: this shows nothing")
	}
	for range 2 { // the first one settles what was running
		for _, args := range [][]string{{"doctor"}, {"sessions"}, {"sessions", "--json"}, {"history"}, {"history", "--json", "--session", "asks"}, {"history", "--session", "running", "--after", "1"}} {
			if out := home.Run(t, args...); out.Code > 1 || out.Code == 1 && args[0] != "doctor" {
				t.Errorf("%v = %d, %s", args, out.Code, out.Stderr)
			}
			if left := home.Processes(); len(left) > 0 {
				t.Errorf("%v left processes: %v", args, left)
			}
		}
	}
	if data, err := os.ReadFile(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an agent was started: %q, %v", data, err)
	}
	if diff := cmp.Diff(opening(before), changes(before, rowsOf(t, home.DB))); diff != "" {
		t.Errorf("reading changed (-want +got):\n%s", diff)
	}
	// The trap works: else nothing would follow.
	out := home.Run(t, "prompt", "--session", "main", "hello")
	if data, err := os.ReadFile(mark); out.Code == 0 || err != nil || !bytes.Contains(data, []byte(trap)) {
		t.Errorf("a prompt started no agent: %d, %q, %v", out.Code, data, err)
	}
}

// change runs SQL on a database file that no process uses.
func change(t *testing.T, path string, statements ...string) {
	t.Helper()
	withWriter(t, path, func(db persistence.DB) {
		var stmts []persistence.Stmt
		for _, sql := range statements {
			stmts = append(stmts, persistence.Stmt{SQL: sql, Rows: [][]persistence.Value{{}}, Want: -1})
		}
		if err := db.Tx(persistence.Tx{Key: "test", Waves: [][]persistence.Stmt{stmts}}); err != nil {
			t.Fatal(err)
		}
	})
}

// withWriter opens a database file, whatever is in it, for writing.
func withWriter(t *testing.T, path string, write func(persistence.DB)) {
	t.Helper()
	source, err := sqlitefile.Acquire(path, sqlitefile.Options{Create: true, Command: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := source.Open(func(persistence.Querier) error { return nil })
	if err != nil {
		t.Fatal(errors.Join(err, source.Release()))
	}
	defer func() {
		if err := errors.Join(db.Close(), source.Release()); err != nil {
			t.Errorf("close the database: %v", err)
		}
	}()
	write(db)
}
