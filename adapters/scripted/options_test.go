package scripted

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestMain_CommandLine(t *testing.T) {
	for _, tt := range []struct {
		args         []string
		code         int
		out, problem string
	}{
		{[]string{"--help"}, 0, "Directives:", ""},
		{[]string{"--nonsense"}, 2, "", "nonsense"},
		{[]string{"--protocol", "3"}, 2, "", "1, 2 or auto"},
		{[]string{"--exit-at-start", "256"}, 2, "", "255"},
		{[]string{"--restore-error", "x"}, 2, "", "restore-error"},
		{[]string{"more"}, 2, "", `"more"`},
		{[]string{"--exit-at-start", "42"}, 42, "", "ending at start"},
		{[]string{"--exit-at-start", "0"}, 0, "", "ending at start"},
		{nil, 0, "", ""},
	} {
		var out, problem bytes.Buffer
		code := Main(tt.args, strings.NewReader(""), &out, &problem, environment(t.TempDir()))
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(problem.String(), tt.problem) {
			t.Errorf("Main(%q) = %d, out %.60q, err %q; want %d, %q, %q", tt.args, code, out.String(), problem.String(), tt.code, tt.out, tt.problem)
		}
		if tt.out == "" && out.Len() > 0 {
			t.Errorf("Main(%q) writes %q where only messages belong", tt.args, out.String())
		}
	}
}

// The help is the reference: all directives and flags are in it, by their tables.
func TestHelp_NamesEverything(t *testing.T) {
	text := help()
	names := map[string]bool{}
	for _, d := range directives {
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(d.name) || names[d.name] || d.help == "" || d.run == nil {
			t.Errorf("the directive %q is not well formed", d.name)
		}
		names[d.name] = true
		if !strings.Contains(text, d.form()) || !strings.Contains(text, d.help) {
			t.Errorf("the help lacks %s", d.form())
		}
	}
	for _, name := range strings.Fields("chunks slow think tool calls ask asks big raw late noise exit hang half error write read sh wait usage title drop stderr") {
		if !names[name] {
			t.Errorf("there is no directive %s", name)
		}
	}
	for _, flag := range strings.Fields(`protocol no-resume no-load exit-at-start silent garbage answer-version id-strings no-message-ids
		early-updates replay-on-resume close-unsupported lazy-sessions load-empty restore-error new-error system-prompt stubborn`) {
		if !strings.Contains(text, "--"+flag+" ") {
			t.Errorf("the help lacks --%s", flag)
		}
	}
}
