package arch

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// leaks are texts that belong to the machine a change was made on, not to the
// project. The brackets keep the patterns from finding themselves.
var leaks = []struct {
	hint    string // a text without which there is no match: searching it first is far quicker
	pattern *regexp.Regexp
	why     string
	bad     []string
}{
	{
		"/",
		regexp.MustCompile(`(^|[^A-Za-z0-9._-])/(wor[k]|far[m])/`),
		"a path of one machine; use a path relative to the file, or a temporary folder",
		[]string{"see /wor" + "k/main/x", "\"/far" + "m/bin\""},
	}, {
		"far" + "m-",
		regexp.MustCompile(`far[m]-(studio|bench)`),
		"the name of a tool of one machine",
		[]string{"run far" + "m-bench"},
	}, {
		"://",
		regexp.MustCompile(`https?://(registry|proxy|deb)\.`),
		"the address of a package registry; the tools know theirs, and another machine has a mirror",
		[]string{"https://" + "registry.example.org/x", "http://" + "deb.example.org"},
	}, {
		"-----BEGIN",
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KE[Y]-----`),
		"a private key; make one in the test",
		[]string{"-----BEGIN RSA PRIVATE KE" + "Y-----"},
	},
}

// leaksIn reports the leaks of a text by line.
func leaksIn(text []byte, report func(line int, text, why string)) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, l := range leaks {
			if !bytes.Contains(line, []byte(l.hint)) {
				continue
			}
			if m := l.pattern.Find(line); m != nil {
				report(i+1, string(m), l.why)
			}
		}
	}
}

func TestNothingOfThisMachine(t *testing.T) {
	dir, files := root(t), 0
	walk(t, dir, func(name string) {
		if name == "go.sum" || strings.HasSuffix(name, ".db") {
			return
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			return // a temporary file of a test that runs beside this one
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
		leaksIn(text, func(line int, text, why string) { t.Errorf("%s:%d: %q: %s", name, line, text, why) })
	})
	if files < 50 {
		t.Errorf("%d files read; want the whole project", files)
	}
}

func TestNothingOfThisMachine_CanFail(t *testing.T) {
	for _, l := range leaks {
		for _, bad := range l.bad {
			found := 0
			leaksIn([]byte("first\n"+bad+"\n"), func(line int, _, _ string) {
				if line == 2 {
					found++
				}
			})
			if found != 1 {
				t.Errorf("%q: found %d times in line 2; want once", bad, found)
			}
		}
	}
	for _, good := range []string{"a/work/b", "frame" + "work/x", "https://example.org/registry.json", "workspace"} {
		leaksIn([]byte(good), func(_ int, text, _ string) { t.Errorf("%q: found %q; want nothing", good, text) })
	}
}
