package catalog

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
)

func TestEntriesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	name, variable := regexp.MustCompile(`^[a-z][a-z0-9-]*$`), regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			if !name.MatchString(e.Name) || seen[e.Name] || e.Title == "" || len(e.Launch) == 0 {
				t.Errorf("entry lacks a name of its own, a title or a command: %+v", e)
			}
			seen[e.Name] = true
			for _, c := range e.Launch {
				if len(c.Argv) == 0 || (!e.BuiltIn && (c.Package == "" || c.Version == "")) {
					t.Errorf("command lacks a program, a package or a version: %+v", c)
				}
			}
			if !e.BuiltIn && !strings.HasPrefix(e.Home, "https://") {
				t.Errorf("Home = %q; want a page", e.Home)
			}
			own := map[string]bool{}
			for _, v := range e.Env {
				if !variable.MatchString(v) || own[v] {
					t.Errorf("variable %q is malformed or given twice", v)
				}
				own[v] = true
				if strings.HasPrefix(v, "AGENTOS_") && !(e.Name == Scripted && v == "AGENTOS_SCRIPTED_DIR") {
					t.Errorf("variable %q is the runtime's own", v)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	if e, err := Find("gemini"); err != nil || e.Name != "gemini" {
		t.Errorf("Find(gemini) = %q, %v", e.Name, err)
	}
	_, err := Find("gpt")
	if protocol.CodeOf(err) != protocol.CodeAgentNotFound {
		t.Fatalf("Find(gpt) = %v; want %s", err, protocol.CodeAgentNotFound)
	}
	for _, e := range All() {
		if !strings.Contains(err.Error(), e.Name) {
			t.Errorf("error %q does not name %s", err, e.Name)
		}
	}
}

func TestAllIsACopy(t *testing.T) {
	All()[0].Name = "spoilt"
	if _, ok := Lookup("spoilt"); ok {
		t.Error("the catalog was changed through All")
	}
}

// install lays a package out as npm does and puts a link to its program on a
// PATH of its own.
func install(t *testing.T, pkg, version, bin, script string) (lookPath func(string) (string, error)) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "lib", "node_modules", pkg)
	program := filepath.Join(dir, script)
	err := errors.Join(
		os.MkdirAll(filepath.Dir(program), 0o700),
		os.MkdirAll(filepath.Join(root, "bin"), 0o700),
		os.WriteFile(program, []byte("#!/usr/bin/env node\n"), 0o700),
		os.WriteFile(filepath.Join(filepath.Dir(program), "package.json"), []byte(`{"type":"module"}`), 0o600),
		os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"`+pkg+`","version":"`+version+`"}`), 0o600),
		os.Symlink(program, filepath.Join(root, "bin", bin)),
	)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (string, error) {
		path := filepath.Join(root, "bin", name)
		if _, err := os.Stat(path); err != nil {
			return "", exec.ErrNotFound
		}
		return path, nil
	}
}

func TestResolve(t *testing.T) {
	ours := install(t, "@agentclientprotocol/codex-acp", "2.6.1", "codex-acp", "dist/index.js")
	zeds := install(t, "@zed-industries/codex-acp", "0.16.9", "codex-acp", "bin/codex-acp.js")
	gemini := install(t, "@google/gemini-cli", "0.61.0", "gemini", "bundle/gemini.js")
	native := install(t, "x", "1", "other", "bin/codex-acp")
	binary := func(string) (string, error) { // no package around it
		path, err := native("other")
		if err != nil {
			return "", err
		}
		copied := filepath.Join(t.TempDir(), "codex-acp")
		return copied, os.Link(mustEval(t, path), copied)
	}
	tests := map[string]struct {
		agent    string
		lookPath func(string) (string, error)
		ok       bool
		rest     []string
		version  string
	}{
		"codex, either package":        {"codex", ours, true, nil, "2.6.1"},
		"codex, the other package":     {"codex", zeds, true, nil, "0.16.9"},
		"zed-codex":                    {"zed-codex", zeds, true, nil, "0.16.9"},
		"zed-codex, the wrong package": {"zed-codex", ours, false, nil, ""},
		"zed-codex, native":            {"zed-codex", binary, true, nil, ""},
		"arguments are kept":           {"gemini", gemini, true, []string{"--acp"}, "0.61.0"},
		"not installed":                {"claude", gemini, false, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := Find(tt.agent)
			if err != nil {
				t.Fatal(err)
			}
			argv, ok := e.Resolve(tt.lookPath)
			if ok != tt.ok {
				t.Fatalf("Resolve = %q, %v; want %v", argv, ok, tt.ok)
			}
			if ok {
				if !filepath.IsAbs(argv[0]) {
					t.Errorf("program = %q; want the path that was found", argv[0])
				}
				if diff := cmp.Diff(tt.rest, argv[1:], cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
			}
			version, ok := e.InstalledVersion(tt.lookPath)
			if version != tt.version || ok != (tt.version != "") {
				t.Errorf("InstalledVersion = %q, %v; want %q", version, ok, tt.version)
			}
		})
	}
}

func mustEval(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestScriptedIsThisProgram(t *testing.T) {
	e, err := Find(Scripted)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, ok := e.Resolve(func(string) (string, error) { return "", exec.ErrNotFound })
	if diff := cmp.Diff([]string{self, "adapter", "scripted"}, argv); !ok || diff != "" {
		t.Errorf("Resolve = %v (-want +got):\n%s", ok, diff)
	}
	if version, ok := e.InstalledVersion(exec.LookPath); ok || e.Install() != "" {
		t.Errorf("a built-in agent has version %q or is to be installed by %q", version, e.Install())
	}
}

func TestInstallNamesTheVersion(t *testing.T) {
	pi, err := Find("pi")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pi.Install(), "npm install -g pi-acp@0.0.34 @earendil-works/pi-coding-agent@1.6.0"; got != want {
		t.Errorf("Install = %q; want %q", got, want)
	}
}
