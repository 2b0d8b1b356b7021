package arch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// topFolders are the folders of the house; every Go package lives under one.
var topFolders = []string{"actors", "adapters", "cmd", "persistence", "protocol", "sessions", "test"}

// besides is what else may stand at the top, beside names that begin with a dot.
var besides = []string{"docs", "go.mod", "go.sum", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "staticcheck.conf"}

// strangers returns the names at the top that do not belong there.
func strangers(names []string) []string {
	var found []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topFolders, name) && !slices.Contains(besides, name) {
			found = append(found, name)
		}
	}
	return found
}

func TestTopIsFixed(t *testing.T) {
	tops := map[string]bool{}
	walk(t, root(t), func(name string) {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	})
	var names []string
	for name := range tops {
		names = append(names, name)
	}
	for _, name := range strangers(names) {
		t.Errorf("%s stands at the top; the top is fixed, so put it under %s", name, strings.Join(topFolders, ", "))
	}
}

func TestTopIsFixed_CanFail(t *testing.T) {
	names := append(slices.Clone(topFolders), "pkg", "internal", "main.go", ".ci", "README.md")
	if got, want := strangers(names), []string{"pkg", "internal", "main.go"}; !slices.Equal(got, want) {
		t.Errorf("strangers = %q; want %q", got, want)
	}
}

// pin is a module whose version is a decision.
type pin struct{ path, version, why string }

var pins = []pin{
	{protoactor, "v0.0.0-20240822202345-3c0e61ca19c9", "test/actorfacts holds what this version does; the project is its own maintainer of it"},
	{"modernc.org/sqlite", "v1.62.0", "measured and tested; versions near it have a statement regression or are retracted: read its CHANGELOG before moving"},
}

// goMod is what the rules need of a go.mod: required versions, and whether
// something is replaced.
func goMod(text string) (versions map[string]string, replaced bool) {
	versions = map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		switch {
		case len(fields) == 2 && strings.HasPrefix(fields[1], "v"):
			versions[fields[0]] = fields[1]
		case len(fields) > 0 && fields[0] == "replace":
			replaced = true
		}
	}
	return versions, replaced
}

// wrongPins says what is wrong with a go.mod, given that of the sqlite version
// it requires.
func wrongPins(text, sqliteMod string) []string {
	versions, replaced := goMod(text)
	var found []string
	for _, p := range pins {
		if got := versions[p.path]; got != p.version {
			found = append(found, fmt.Sprintf("%s is %q; want %s: %s", p.path, got, p.version, p.why))
		}
	}
	const libc = "modernc.org/libc"
	wanted, _ := goMod(sqliteMod)
	if got, want := versions[libc], wanted[libc]; got != want || want == "" {
		found = append(found, fmt.Sprintf("%s is %q; want %q, which this sqlite was generated with: a newer one breaks the pair (go get %s@%s)", libc, got, want, libc, want))
	}
	if replaced {
		found = append(found, "go.mod replaces a module; then go install of the command does not work")
	}
	return found
}

func TestPins(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The go.mod of sqlite is in the module cache, where the build took it from.
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	if err != nil {
		t.Fatalf("find modernc.org/sqlite: %v", err)
	}
	sqliteMod, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range wrongPins(string(text), string(sqliteMod)) {
		t.Error(wrong)
	}
}

func TestPins_CanFail(t *testing.T) {
	good := "module m\nrequire (\n"
	for _, p := range pins {
		good += p.path + " " + p.version + " // indirect\n"
	}
	good += "modernc.org/libc v1.0.0\n)\n"
	sqlite := "require modernc.org/libc v1.0.0\n"
	if got := wrongPins(good, sqlite); len(got) != 0 {
		t.Errorf("good go.mod: %q", got)
	}
	for name, bad := range map[string]string{
		"version": strings.Replace(good, "v1.62.0", "v1.61.0", 1),
		"missing": strings.Replace(good, protoactor, "example.com/fork", 1),
		"libc":    strings.Replace(good, "libc v1.0.0", "libc v1.0.1", 1),
		"replace": good + "replace a => ../a\n",
	} {
		if got := wrongPins(bad, sqlite); len(got) != 1 {
			t.Errorf("%s: %q; want one thing wrong", name, got)
		}
	}
}

// testCommand is how a reader of the README runs the tests, and what CI runs.
const testCommand = "go test -race ./..."

func TestReadmeSaysHowToTest(t *testing.T) {
	for _, name := range []string{"README.md", ".ci/run", "Makefile"} {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Errorf("read %s: %v", name, err)
			continue
		}
		if !strings.Contains(string(text), testCommand) {
			t.Errorf("%s does not have %q: readers and CI run the same", name, testCommand)
		}
	}
}
