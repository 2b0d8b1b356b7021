package arch

import (
	"fmt"
	"path"
	"strings"
)

const (
	protoactor = "github.com/asynkron/protoactor-go"
	thirdParty = "third-party" // in never: everything that is neither std nor ours
)

// arrow says what packages may import. Everything of this module is written
// without the module's name, as folders are.
type arrow struct {
	from   []string // patterns of the importing packages
	except []string
	only   []string // of this module nothing but these; nil means no such limit
	never  []string // nor any of these
	tests  bool     // holds for _test.go files too
	why    string
	bad    []string // imports that break it, tried from the first package of from
}

var arrows = []arrow{
	// protocol
	{
		from: []string{"protocol"}, only: []string{}, tests: false,
		why: "protocol is the vocabulary at the bottom: what it imports, everybody imports",
		bad: []string{"protocol/acp", "sessions"},
	}, {
		from: []string{"protocol/..."}, never: []string{thirdParty, "os/exec", "net/...", "database/..."},
		why: "words and wires turn bytes into values with the standard library; they reach neither processes, sockets nor databases",
		bad: []string{"github.com/google/uuid", "os/exec", "net", "net/http", "database/sql"},
	}, {
		from: []string{"protocol/rawjson"}, only: []string{"protocol"},
		why: "rawjson is the lowest wire package: bytes and words",
		bad: []string{"protocol/acp", "persistence"},
	}, {
		from: []string{"protocol/jsonrpc", "protocol/acp"}, only: []string{"protocol", "protocol/rawjson"},
		why: "a wire knows words and raw JSON; wires do not know each other",
		bad: []string{"protocol/public", "sessions", "adapters"},
	}, {
		from: []string{"protocol/public"}, only: []string{"protocol", "protocol/rawjson", "protocol/acp"},
		why: "the public shape is made of words and ACP views, without a connection",
		bad: []string{"protocol/jsonrpc", "sessions"},
	}, {
		from: []string{"protocol/runtimesocket"}, only: []string{"protocol"},
		why: "the Actor Runtime Socket is frames and values; SQL text passes through it unread",
		bad: []string{"persistence", "protocol/jsonrpc"},
	},

	// sessions
	{
		from: []string{"sessions/..."}, only: []string{"protocol", "protocol/acp", "protocol/rawjson", "protocol/public", "sessions/..."},
		why: "the core is rules: it knows words, pure views and the public shape of an error, neither the shell, nor storage, nor a wire",
		bad: []string{"actors", "persistence", "persistence/core", "adapters", "protocol/jsonrpc"},
	}, {
		from: []string{"sessions/..."},
		never: []string{
			thirdParty, "context", "sync/...", "os/...", "net/...", "io/fs", "database/...", "log/...",
			"math/rand/...", "crypto/rand", "runtime/...", "testing",
		},
		why: "the core has no clock, goroutine, lock, id maker, log or I/O: what it needs comes in as an argument, what it wants leaves as data",
		bad: []string{"context", "sync", "sync/atomic", "os", "net/http", "database/sql", "log/slog", "math/rand/v2", "github.com/google/uuid"},
	},

	// persistence
	{
		from: []string{"persistence"}, only: []string{"protocol"},
		why: "the port is data: it knows words and no implementation",
		bad: []string{"persistence/sqlitefile", "sessions"},
	}, {
		from: []string{"persistence/..."}, only: []string{"protocol/...", "persistence/..."},
		why: "storage keeps changes and does not interpret them; it does not know who asks",
		bad: []string{"actors", "sessions", "adapters", "sessions/turn"},
	}, {
		from: []string{"persistence/core/...", "persistence/vfs/...", "persistence/actorstate/...", "persistence/schema/..."},
		only: []string{"protocol/...", "persistence", "persistence/schema", "persistence/core/...", "persistence/vfs/...", "persistence/actorstate/..."},
		why:  "an owner writes SQL for the port; which handle runs it is the choice of cmd",
		bad:  []string{"persistence/sqlitefile", "persistence/actoruds", "persistence/memdb", "persistence/faultdb"},
	}, {
		from: []string{"persistence/sqlitefile/...", "persistence/actoruds/...", "persistence/memdb/...", "persistence/faultdb/..."},
		only: []string{"protocol/...", "persistence", "persistence/sqlitefile/...", "persistence/actoruds/...", "persistence/memdb/...", "persistence/faultdb/..."},
		why:  "a handle runs statements without knowing whose they are",
		bad:  []string{"persistence/core", "persistence/schema"},
	},

	// adapters
	{
		from: []string{"adapters/..."}, only: []string{"protocol/...", "adapters/..."},
		why: "an adapter is driven by a route and reports to it; it knows neither the tree, nor the rules, nor storage",
		bad: []string{"actors", "sessions", "persistence"},
	},

	// actors
	{
		from: []string{"actors/..."}, except: []string{"actors/gateway/..."},
		only: []string{
			"protocol/...", "sessions/...", "adapters/...", "actors/...", "persistence",
			"persistence/core/...", "persistence/vfs/...", "persistence/actorstate/...", "persistence/schema/...",
		},
		never: []string{"protocol/runtimesocket/..."},
		why:   "the shell sees storage as the port and its owners, and adapters as values: cmd chooses the handle",
		bad:   []string{"persistence/sqlitefile", "persistence/actoruds", "persistence/memdb", "persistence/faultdb", "protocol/runtimesocket", "cmd/agentos"},
	}, {
		from: []string{"actors/..."}, except: []string{"actors/gateway/..."}, never: []string{"actors/gateway/..."},
		why: "front doors know the tree, the tree knows no front door",
		bad: []string{"actors/gateway/http"},
	}, {
		from: []string{"actors/gateway/..."}, only: []string{"protocol/...", "actors/..."},
		why: "a front door speaks to the tree in messages of the one vocabulary; it reaches neither rules nor storage past it",
		bad: []string{"sessions", "persistence", "persistence/sqlitefile", "adapters"},
	},

	// cmd and test
	{
		from: []string{"..."}, except: []string{"cmd/..."}, never: []string{"cmd/..."}, tests: true,
		why: "cmd is flags, wiring and printing; what others need of it belongs below",
		bad: []string{"cmd/agentos"},
	}, {
		from: []string{"..."}, except: []string{"test/..."}, never: []string{"test/..."},
		why: "the product does not contain its tests",
		bad: []string{"test/script", "test/peers"},
	}, {
		from: []string{"..."}, except: []string{"test/..."}, tests: true,
		never: []string{"test/arch", "test/actorfacts", "test/sim/...", "test/chaos/...", "test/e2e/...", "test/peers/...", "test/bench/..."},
		why:   "tests of a package share the script runner only; whole-runtime tests live under test",
		bad:   []string{"test/peers", "test/e2e"},
	},

	// third parties
	{
		from: []string{"..."}, except: []string{"actors/...", "test/..."}, never: []string{protoactor + "/..."}, tests: true,
		why: "only actors know the framework, so that replacing it touches one package",
		bad: []string{protoactor + "/actor", protoactor + "/remote"},
	}, {
		from: []string{"..."}, tests: true,
		never: []string{
			protoactor, protoactor + "/remote/...", protoactor + "/cluster/...", protoactor + "/router/...", protoactor + "/scheduler/...",
			protoactor + "/persistence/...", protoactor + "/plugin/...", protoactor + "/stream/...", protoactor + "/eventstream/...",
			protoactor + "/metrics/...", protoactor + "/extensions/...", protoactor + "/ctxext/...", protoactor + "/testkit/...",
			protoactor + "/protobuf/...", protoactor + "/internal/...", protoactor + "/actor/middleware/...",
		},
		why: "of the framework only its actor package is used: the rest is racy, broken or open to anybody who reaches its port",
		bad: []string{protoactor + "/remote", protoactor + "/router", protoactor + "/scheduler", protoactor + "/cluster/automanaged"},
	}, {
		from: []string{"..."}, except: []string{"persistence/sqlitefile/...", "persistence/memdb/...", "test/..."},
		never: []string{"modernc.org/...", "database/..."},
		why:   "the driver lives in the handles; everybody else speaks to the port",
		bad:   []string{"modernc.org/sqlite", "database/sql"},
	}, {
		from: []string{"..."}, except: []string{"cmd/...", "test/..."}, never: []string{"github.com/spf13/...", "golang.org/x/term"},
		why: "flags and terminals belong to the command line",
		bad: []string{"github.com/spf13/cobra", "golang.org/x/term"},
	}, {
		from: []string{"..."}, except: []string{"test/..."},
		never: []string{"testing/...", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/..."},
		why:   "the product does not contain a test framework",
		bad:   []string{"testing", "go.uber.org/goleak", "pgregory.net/rapid"},
	}, {
		from: []string{"..."}, never: []string{"C", "plugin"}, tests: true,
		why: "one binary without cgo, that any Go toolchain builds",
		bad: []string{"C"},
	},
}

func importRules() []rule {
	var rules []rule
	for _, a := range arrows {
		r := rule{name: "imports/" + ruleName(a), why: a.why, check: each(a.check)}
		for _, imp := range a.bad {
			r.bad = append(r.bad, importing(examplePath(a.from[0]), imp))
		}
		for _, imp := range a.only {
			r.good = append(r.good, importing(examplePath(a.from[0]), strings.TrimSuffix(imp, "/...")))
		}
		r.good = append(r.good, importing(examplePath(a.from[0]), "strings"))
		rules = append(rules, r)
	}
	return rules
}

// ruleName names an arrow by who it is about and the first thing it forbids.
func ruleName(a arrow) string {
	name := strings.TrimSuffix(a.from[0], "/...") + "->" + a.bad[0]
	return strings.ReplaceAll(strings.ReplaceAll(name, "...", "all"), "/", ".")
}

func examplePath(pattern string) string {
	dir := strings.TrimSuffix(strings.TrimSuffix(pattern, "..."), "/")
	if dir == "" {
		dir = "elsewhere"
	}
	return path.Join(dir, "x.go")
}

// importing is a file that imports one package, by its name within the module
// if that is one of ours.
func importing(file, imp string) example {
	if top, _, _ := strings.Cut(imp, "/"); within(top, topFolders...) {
		imp = module + "/" + imp
	}
	return example{file, fmt.Sprintf("import _ %q\n", imp)}
}

func (a arrow) check(s *source, report func(at, text string)) {
	if s.forTests() && !within(s.dir(), "test/...") && !a.tests || !within(s.dir(), a.from...) || within(s.dir(), a.except...) {
		return
	}
	for _, spec := range s.ast.Imports {
		imp := strings.Trim(spec.Path.Value, `"`)
		own, ours := strings.CutPrefix(imp, module+"/")
		if !ours {
			own = imp
		}
		// A package and its own external test are one.
		if ours && own == s.dir() {
			continue
		}
		third := !ours && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
		switch {
		case ours && a.only != nil && !within(own, a.only...),
			within(own, a.never...),
			third && within(thirdParty, a.never...):
			report(s.at(spec.Pos()), fmt.Sprintf("%s imports %s", s.dir(), imp))
		}
	}
}
