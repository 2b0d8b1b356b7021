package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"agentos/adapters/scripted/store"
)

func in(dir string) func(string) string {
	return func(name string) string {
		if name == "AGENTOS_SCRIPTED_DIR" {
			return dir
		}
		return ""
	}
}

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(in(dir))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var exported = cmpopts.IgnoreUnexported(store.Past{})

// What was written is read back, and a cut anywhere in the last line loses that
// line and nothing else, for a reader and for whoever writes on.
func TestStore_ReadsBackWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		id := store.NewID()
		var want, before store.Past
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(s.Create(id, "/w"))
		want.Cwd = "/w"
		before = want
		for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
			label := fmt.Sprint(i)
			before = want
			before.Entries = append([]store.Entry(nil), want.Entries...)
			ids := store.IDs{Messages: rapid.IntRange(0, 9).Draw(t, "m"+label), Calls: i}
			say := store.Said{MessageID: "m" + label, Text: rapid.String().Draw(t, "text"+label)}
			switch rapid.IntRange(0, 4).Draw(t, "kind"+label) {
			case 0:
				content := []json.RawMessage{[]byte(`{"type" : "text","text":"\u003c"}`), []byte(`7`)}
				must(s.Prompt(id, "m"+label, content, ids))
				want.Entries = append(want.Entries, store.Entry{User: true, MessageID: "m" + label, Content: content})
				want.Prompts++
				want.IDs = ids
			case 1:
				must(s.Reply(id, []store.Said{say, say}, "end_turn", ids))
				entry := store.Entry{MessageID: say.MessageID, Text: say.Text}
				want.Entries = append(want.Entries, entry, entry)
				want.IDs = ids
			case 2:
				must(s.Late(id, say))
				want.Entries = append(want.Entries, store.Entry{MessageID: say.MessageID, Text: say.Text})
			case 3:
				must(s.Title(id, say.Text))
				want.Title = say.Text
			default:
				must(s.Bound(id, ids))
				want.IDs = ids
			}
		}
		got, err := s.Restore(id)
		must(err)
		if diff := cmp.Diff(&want, got, exported); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}

		path := filepath.Join(dir, id+".jsonl")
		file, err := os.ReadFile(path)
		must(err)
		last := strings.LastIndexByte(strings.TrimSuffix(string(file), "\n"), '\n') + 1
		if last == 0 {
			return // the session line is all there is
		}
		must(os.Truncate(path, int64(rapid.IntRange(last, len(file)-1).Draw(t, "cut"))))
		got, err = s.Restore(id)
		must(err)
		if diff := cmp.Diff(&before, got, exported); diff != "" {
			t.Fatalf("after the cut (-want +got):\n%s", diff)
		}
		must(s.Title(id, "after"))
		before.Title = "after"
		got, err = s.Read(id)
		must(err)
		if diff := cmp.Diff(&before, got, exported); diff != "" {
			t.Fatalf("written on after the cut (-want +got):\n%s", diff)
		}
	})
}

func TestStore_Modes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	s := open(t, dir)
	id := store.NewID()
	if err := s.Create(id, "/w"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, filepath.Dir(dir): fs.ModeDir | 0o700, filepath.Join(dir, id+".jsonl"): 0o600} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("mode of %s = %v; want %v", path, info.Mode(), want)
		}
	}
}

// S15: no symlink is followed, to read or to write.
func TestS15_NoSymlinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := store.NewID()
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte(`{"type":"session","cwd":"/x"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, id+".jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(id); err == nil {
		t.Error("Read follows a symlink")
	}
	if err := s.Title(id, "x"); err == nil {
		t.Error("Title follows a symlink")
	}
	if all, err := s.List(""); err != nil || len(all) != 0 {
		t.Errorf("List = %v, %v; want none", all, err)
	}
}

func TestStore_OnlyItsOwnIDs(t *testing.T) {
	s := open(t, t.TempDir())
	for _, id := range []string{"", "x", "../x", "scripted-", "scripted-../x", "scripted-00/../../x", "scripted-XY", "scripted-" + strings.Repeat("0", 65), "scripted-0\x00"} {
		if store.ValidID(id) {
			t.Errorf("ValidID(%q)", id)
		}
		if _, err := s.Read(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Read(%q) = %v; want not exist", id, err)
		}
		if err := s.Create(id, "/w"); err == nil {
			t.Errorf("Create(%q) succeeds", id)
		}
	}
	first, second := store.NewID(), store.NewID()
	if first == second || !store.ValidID(first) {
		t.Errorf("NewID gives %q and %q", first, second)
	}
	if _, err := s.Read(first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of an unknown session = %v; want not exist", err)
	}
}

func TestStore_DamagedSession(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	good := store.NewID()
	if err := errors.Join(s.Create(good, "/w"), s.Title(good, "T")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "torn first line": `{"type":"sess`, "bad line": `{"type":"session"}` + "\n{nothing\n" + `{"type":"title"}` + "\n"} {
		id := store.NewID()
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Restore = %v; want a damaged session", name, err)
		}
	}
	all, err := s.List("/w")
	if err != nil || len(all) != 1 || all[0].ID != good || all[0].Title != "T" {
		t.Errorf("List = %+v, %v; want only the good one", all, err)
	}
}

func TestOpen_Places(t *testing.T) {
	base := t.TempDir()
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"given", map[string]string{"AGENTOS_SCRIPTED_DIR": base + "/a", "HOME": base + "/h"}, "/a"},
		{"state", map[string]string{"XDG_STATE_HOME": base + "/s", "HOME": base + "/h"}, "/s/agentos/scripted"},
		{"home", map[string]string{"XDG_STATE_HOME": "relative", "HOME": base + "/h", "XDG_CACHE_HOME": base + "/c"}, "/h/.local/state/agentos/scripted"},
		{"cache", map[string]string{"XDG_CACHE_HOME": base + "/c"}, "/c/agentos/scripted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := store.Open(func(name string) string { return tt.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			id := store.NewID()
			if err := s.Create(id, "/w"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(filepath.Join(base+tt.want, id+".jsonl")); err != nil {
				t.Errorf("the session is not in %s: %v", tt.want, err)
			}
		})
	}
	if _, err := store.Open(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "AGENTOS_SCRIPTED_DIR") {
		t.Errorf("Open without a place = %v; want advice", err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(in(file)); err == nil {
		t.Error("Open takes a file for a directory")
	}
}

// Whatever a file holds, reading it is an error or a session, never a panic.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "\n", `{"type":"session","cwd":"/w"}` + "\n", `{"type":"prompt","content":[1,"x",null]}` + "\n{", `{"type":"reply","messages":[{}],"ids":{}}` + "\n", "null\n", "[]\n"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	s := open(f, dir)
	id := store.NewID()
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), file, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := s.Restore(id)
		if err != nil {
			return
		}
		second, err := s.Read(id)
		if diff := cmp.Diff(first, second, exported); err != nil || diff != "" {
			t.Errorf("restored and read differ: %v\n%s", err, diff)
		}
	})
}
