package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const (
	actorPackage = protoactor + "/actor"
	propsFile    = "actors/kernel/props.go" // the one factory
	actorImport  = "import \"" + actorPackage + "\"\n"
)

// outsideFacts reports whether a file must keep to the narrow use of the
// framework: all but the tests that pin what the rest does.
func outsideFacts(s *source) bool { return !within(s.dir(), "test/actorfacts") }

// framework makes a rule against functions of the actor package.
func framework(name, why string, forbidden func(fn string) bool, applies func(*source) bool, bad, good []example) rule {
	return rule{name: "framework/" + name, why: why, bad: bad, good: good, check: each(func(s *source, report func(at, text string)) {
		if applies(s) {
			s.calls(actorPackage, forbidden, func(pos token.Pos, fn string) { report(s.at(pos), "actor."+fn) })
		}
	})}
}

// method makes a rule against methods of the framework's contexts, in files
// that import it.
func method(name, why string, applies func(*source) bool) rule {
	call := actorImport + "func f(c actor.Context) { c." + name + "() }"
	return rule{
		name: "framework/" + name, why: why,
		bad:  []example{{"actors/session.go", call}, {"actors/session.go", actorImport + "func f(c actor.Context) { g(c." + name + ") }"}},
		good: []example{{"actors/feed/feed.go", "func f(c x) { c." + name + "() }"}, {"test/actorfacts/x_test.go", call}},
		check: each(func(s *source, report func(at, text string)) {
			if s.nameOf(actorPackage) == "" || !applies(s) {
				return
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
					report(s.at(sel.Sel.Pos()), "."+name)
				}
				return true
			})
		}),
	}
}

func callRules() []rule {
	always := func(s *source) bool { return outsideFacts(s) }
	product := func(s *source) bool { return !s.forTests() }
	return []rule{
		framework("one-factory", "actors get their Props from "+propsFile+" alone, which installs the guard, the mailbox and a watched supervisor",
			func(fn string) bool { return strings.HasPrefix(fn, "PropsFrom") },
			func(s *source) bool { return product(s) && s.path != propsFile },
			[]example{
				{"actors/vm.go", actorImport + "var p = actor.PropsFromProducer(nil)"},
				{"actors/gateway/http/http.go", "import pa \"" + actorPackage + "\"\nvar p = pa.PropsFromFunc(nil)"},
			},
			[]example{{propsFile, actorImport + "var p = actor.PropsFromProducer(nil)"}, {"actors/vm_test.go", actorImport + "var p = actor.PropsFromFunc(nil)"}}),
		framework("bounded-mailbox", "a full bounded mailbox spins or drops in silence; admission is bounded at the edge with a typed error",
			func(fn string) bool { return strings.HasPrefix(fn, "Bounded") }, always,
			[]example{{"actors/kernel/props.go", actorImport + "var m = actor.Bounded(8)"}, {"actors/x_test.go", actorImport + "var m = actor.BoundedDropping(8)"}},
			[]example{{"actors/kernel/props.go", actorImport + "var m = actor.Unbounded()"}}),
		framework("prometheus", "it opens port 2222 on all interfaces and takes over the default HTTP handler",
			func(fn string) bool { return fn == "WithDefaultPrometheusProvider" }, always,
			[]example{{"actors/node.go", actorImport + "var o = actor.WithDefaultPrometheusProvider()"}}, nil),
		method("SetReceiveTimeout", "it races; send a timer message with a generation", always),
		method("Stash", "it is replayed by restarts only, backwards, and may loop for ever; keep early messages in a slice", always),
		method("ReenterAfter", "its continuation overtakes the queue and runs on a dead value after a restart; answer with a message and an epoch", always),
		method("RequestFuture", "a future races when it is answered twice or late; inside, tell with a number, at the edge use a promise with a deadline",
			func(s *source) bool { return always(s) && product(s) }),
		{
			name: "sleep-in-tests", why: "a sleep is too short on a slow machine and too long on all others; wait for a signal or a condition with a deadline",
			check: each(func(s *source, report func(at, text string)) {
				if s.forTests() {
					s.calls("time", func(fn string) bool { return fn == "Sleep" }, func(pos token.Pos, _ string) { report(s.at(pos), "time.Sleep") })
				}
			}),
			bad:  []example{{"actors/x_test.go", "import \"time\"\nfunc f() { time.Sleep" + "(1) }"}, {"test/peers/x.go", "import clock \"time\"\nfunc f() { clock.Sleep(1) }"}},
			good: []example{{"actors/x_test.go", "import \"time\"\nfunc f() { <-time.After(1) }"}},
		}, {
			name: "clock-in-core", why: "the core's time comes in as an argument, so that replay and live cannot differ",
			check: each(func(s *source, report func(at, text string)) {
				clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local"}
				if within(s.dir(), "sessions/...") && !s.test {
					s.calls("time", func(fn string) bool { return slices.Contains(clock, fn) }, func(pos token.Pos, fn string) { report(s.at(pos), "time."+fn) })
				}
			}),
			bad:  []example{{"sessions/turn/turn.go", "import \"time\"\nvar t = time.Now()"}, {"sessions/x.go", "import \"time\"\nvar now = time.Now"}},
			good: []example{{"sessions/x.go", "import \"time\"\nconst d = 3 * time.Second"}, {"actors/x.go", "import \"time\"\nvar t = time.Now()"}},
		},
		goroutines(),
	}
}

// goroutines keeps them where they have an owner.
func goroutines() rule {
	homes := []string{"actors/...", "adapters/...", "protocol/jsonrpc", "cmd/...", "persistence/faultdb"}
	return rule{
		name: "goroutines", why: "goroutines live where something owns them: " + strings.Join(homes, ", ") + "; elsewhere do the work in the caller",
		check: each(func(s *source, report func(at, text string)) {
			if s.forTests() || within(s.dir(), homes...) {
				return
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					report(s.at(n.Pos()), "go statement")
				case *ast.CallExpr:
					if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
						if _, ok := n.Args[0].(*ast.FuncLit); ok {
							report(s.at(n.Pos()), "Go with a function")
						}
					}
				}
				return true
			})
		}),
		bad: []example{
			{"sessions/x.go", "func f() { go f() }"},
			{"persistence/sqlitefile/x.go", "func f() { go func() {}() }"},
			{"protocol/acp/x.go", "import \"sync\"\nfunc f(wg *sync.WaitGroup) { wg.Go(func() {}) }"},
		},
		good: []example{
			{"actors/store.go", "func f() { go f() }"}, {"protocol/jsonrpc/x.go", "func f() { go f() }"}, {"persistence/dbtest/x.go", "func f() { go f() }"},
			{"sessions/x.go", "func f(m machine) { m.Go(1) }"},
		},
	}
}

// wrapping finds errors formatted in a way that cuts their chain.
func wrapping(s *source, report func(at, text string)) {
	name := s.nameOf("fmt")
	if name == "" || s.test {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Errorf" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != name {
			return true
		}
		format, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		for i, verb := range verbs(format.Value) {
			if i+1 >= len(call.Args) {
				break
			}
			if arg, ok := call.Args[i+1].(*ast.Ident); ok && isError(arg.Name) && (verb == 'v' || verb == 's') {
				report(s.at(arg.Pos()), fmt.Sprintf("fmt.Errorf formats %s with %%%c", arg.Name, verb))
			}
		}
		return true
	})
}

func isError(name string) bool { return name == "err" || strings.HasSuffix(name, "Err") }

// verbs returns the verbs of a format, one an argument. A format with explicit
// indexes or stars is left out: it gives none.
func verbs(format string) []byte {
	if strings.ContainsAny(format, "[*") {
		return nil
	}
	var found []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.", format[i]) >= 0; i++ {
		}
		if i < len(format) && format[i] != '%' {
			found = append(found, format[i])
		}
	}
	return found
}
