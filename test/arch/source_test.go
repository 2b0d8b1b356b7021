package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "agentos"

// source is one Go file, of the module or of an example.
type source struct {
	path      string // slashes, relative to the module
	text      string
	fset      *token.FileSet
	ast       *ast.File
	test      bool // named _test.go
	generated bool
}

// dir is the package's folder, which is its import path within the module.
func (s *source) dir() string { return path.Dir(s.path) }

// at formats the place of a node.
func (s *source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line)
}

// nameOf returns under which name the file knows an import, or "".
func (s *source) nameOf(importPath string) string {
	for _, spec := range s.ast.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// calls reports each use of a function or value name.fn for which wanted says
// yes, where name is how the file knows importPath.
func (s *source) calls(importPath string, wanted func(fn string) bool, report func(pos token.Pos, fn string)) {
	name := s.nameOf(importPath)
	if name == "" {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && wanted(sel.Sel.Name) {
				report(sel.Pos(), sel.Sel.Name)
			}
		}
		return true
	})
}

func parseSource(path, text string) (*source, error) {
	s := &source{path: path, text: text, fset: token.NewFileSet(), test: strings.HasSuffix(path, "_test.go")}
	var err error
	s.ast, err = parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	s.generated = ast.IsGenerated(s.ast)
	return s, nil
}

// root returns the module's folder.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		tb.Fatalf("find the module: %v", err)
	}
	return dir
}

// walk calls visit for every file of the project, slashes and relative to root,
// in order. It leaves out what is not of the project: the repository itself,
// what .gitignore names, installed node modules.
func walk(tb testing.TB, root string, visit func(name string)) {
	tb.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file of a test that runs beside this one
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			switch rel {
			case ".git", ".cache", "bin":
				return fs.SkipDir
			}
			if d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && rel != "agentos" && !strings.HasSuffix(rel, ".test") && !strings.HasSuffix(rel, ".prof") {
			visit(rel)
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("walk the module: %v", err)
	}
}

// parsed is the tree, once the first test has parsed it.
var parsed []*source

// tree returns every Go file of the module but those of testdata. The tests of
// this package do not run in parallel.
func tree(tb testing.TB) []*source {
	tb.Helper()
	if parsed != nil {
		return parsed
	}
	dir := root(tb)
	var sources []*source
	walk(tb, dir, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			return
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		s, err := parseSource(name, string(text))
		if err != nil {
			tb.Errorf("%v", err)
			return
		}
		sources = append(sources, s)
	})
	parsed = sources
	return sources
}

// within reports whether dir matches one of the patterns: a folder, or with
// "/..." a folder and everything below it. "..." is everything.
func within(dir string, patterns ...string) bool {
	for _, p := range patterns {
		if base, ok := strings.CutSuffix(p, "..."); ok {
			base = strings.TrimSuffix(base, "/")
			if base == "" || dir == base || strings.HasPrefix(dir, base+"/") {
				return true
			}
			continue
		}
		if dir == p {
			return true
		}
	}
	return false
}

// forTests reports whether a file is there for tests only: a test, anything
// under test, or a conformance suite (persistence/dbtest).
func (s *source) forTests() bool {
	return s.test || within(s.dir(), "test/...") || strings.HasSuffix(s.dir(), "test")
}
