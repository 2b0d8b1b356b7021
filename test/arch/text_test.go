package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

var (
	unfinished     = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	notImplemented = regexp.MustCompile(`(?i)\b(not implemented|unimplemented|not yet implemented)\b`)
)

// textRules are about what is written in comments and strings.
func textRules() []rule {
	return []rule{
		{
			name: "unfinished", why: "what is not done stands in an issue, not in the code",
			check: each(func(s *source, report func(at, text string)) {
				for _, group := range s.ast.Comments {
					for _, c := range group.List {
						if m := unfinished.FindString(c.Text); m != "" {
							report(s.at(c.Pos()), m)
						}
					}
				}
				if s.test {
					return
				}
				words(s, notImplemented, report)
			}),
			bad: []example{
				{"actors/x.go", "// TODO later\nvar a = 1"},
				{"actors/x_test.go", "var a = 1 /* a FIXME */"},
				{"cmd/agentos/x.go", "var e = \"vm delete: not implemented\""},
			},
			good: []example{{"actors/x.go", "// The todo list of a plan.\nvar a = \"TODO\""}},
		}, {
			name: "failed-to", why: "the chain says already that it failed: verb and object, as in \"append journal: %w\"",
			check: each(func(s *source, report func(at, text string)) {
				if !s.test {
					words(s, regexp.MustCompile(`(?i)\bfailed to\b`), report)
				}
			}),
			bad:  []example{{"actors/x.go", "import \"fmt\"\nvar e = fmt.Errorf(\"failed to open: %d\", 1)"}},
			good: []example{{"actors/x.go", "// It failed to open.\nvar a = \"open\""}},
		}, {
			name: "wrap-errors", why: "use %w, so that callers can ask what the error was; to cut the chain at a border on purpose, write err.Error()",
			check: each(wrapping),
			bad: []example{
				{"actors/x.go", "import \"fmt\"\nfunc f(err error) error { return fmt.Errorf(\"open %q (%d%%): %v\", \"x\", 1, err) }"},
				{"actors/x.go", "import \"fmt\"\nfunc f(closeErr error) error { return fmt.Errorf(\"close: %s\", closeErr) }"},
			},
			good: []example{
				{"actors/x.go", "import \"fmt\"\nfunc f(err error) error { return fmt.Errorf(\"open %v: %w\", 1, err) }"},
				{"actors/x.go", "import \"fmt\"\nfunc f(err error) error { return fmt.Errorf(\"open: %s\", err.Error()) }"},
			},
		},
	}
}

// words reports string literals that match.
func words(s *source, pattern *regexp.Regexp, report func(at, text string)) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && pattern.MatchString(lit.Value) {
			text := lit.Value
			if len(text) > 60 {
				text = text[:60] + "..."
			}
			report(s.at(lit.Pos()), fmt.Sprintf("text %s", strings.ReplaceAll(text, "\n", " ")))
		}
		return true
	})
}
