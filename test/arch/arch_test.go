package arch

import (
	"slices"
	"strings"
	"testing"
)

// finding is one place that breaks a rule.
type finding struct {
	at   string // path:line
	text string // what is there
}

// example is a piece of code under a path of the module.
type example struct{ path, text string }

// rule is one rule of the house.
type rule struct {
	name string
	why  string // the reason, and by it what to do instead
	// check looks at all files at once: a rule may be about one in many.
	check func(files []*source) []finding
	bad   []example // each breaks the rule by itself
	good  []example // none of them does
}

// each makes a check of what one file shows.
func each(check func(s *source, report func(at, text string))) func([]*source) []finding {
	return func(files []*source) []finding {
		var found []finding
		for _, s := range files {
			check(s, func(at, text string) { found = append(found, finding{at, text}) })
		}
		return found
	}
}

// allRules is every rule about Go source.
func allRules() []rule {
	return slices.Concat(importRules(), callRules(), textRules(), shapeRules())
}

func TestRules(t *testing.T) {
	files := tree(t)
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(files) {
				t.Errorf("%s: %s: %s", f.at, f.text, r.why)
			}
		})
	}
}

// TestRulesCanFail holds every rule to its examples.
func TestRulesCanFail(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) {
			if seen[r.name] {
				t.Error("two rules have this name")
			}
			seen[r.name] = true
			if r.why == "" || len(r.bad) == 0 {
				t.Errorf("%d bad examples, reason %q; want both", len(r.bad), r.why)
			}
			for _, e := range r.bad {
				if found := r.check(parseExample(t, e)); len(found) == 0 {
					t.Errorf("the rule does not see %s:\n%s", e.path, e.text)
				}
			}
			for _, e := range r.good {
				for _, f := range r.check(parseExample(t, e)) {
					t.Errorf("the rule refuses %s: %s: %s\n%s", e.path, f.at, f.text, e.text)
				}
			}
		})
	}
}

// parseExample parses an example, to which the package clause is added where it
// has none.
func parseExample(t *testing.T, e example) []*source {
	t.Helper()
	text := e.text
	if !strings.Contains(text, "package ") {
		text = "package x\n" + text
	}
	s, err := parseSource(e.path, text)
	if err != nil {
		t.Fatalf("example: %v\n%s", err, text)
	}
	return []*source{s}
}

// TestTreeIsPlausible holds the walk itself: rules over no files hold.
func TestTreeIsPlausible(t *testing.T) {
	const fewest = 15
	dirs, tops := map[string]bool{}, map[string]bool{}
	for _, s := range tree(t) {
		top, _, below := strings.Cut(s.path, "/")
		if below {
			dirs[s.dir()], tops[top] = true, true
		}
	}
	if len(dirs) < fewest {
		t.Errorf("%d packages found; want at least %d: is the walk looking at the module?", len(dirs), fewest)
	}
	for _, dir := range topFolders {
		if !tops[dir] {
			t.Errorf("no Go package under %s; want one, it is a part of the house", dir)
		}
	}
}
