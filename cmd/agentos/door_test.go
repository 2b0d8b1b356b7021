package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"agentos/actors/gateway/door"
	"agentos/persistence/sqlitefile"
)

func init() {
	commands["hears"], commands["capture"] = hears, capture
	commands["sockets"], commands["crowd"] = sockets, crowd
	commands["hold"], commands["release"] = hold, release
}

// hold takes the default VM's lock for the test itself, as a process with this
// socket would; "future" is one at whose door another protocol is spoken: hold
// SOCKET.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold SOCKET")
	}
	socket := args[0]
	ends := []func() error{}
	if socket == "future" {
		dir, err := os.MkdirTemp("", "door-")
		ts.Check(err)
		l, err := door.Listen(dir, "future")
		ts.Check(err)
		socket = l.Path()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"protocol":99,"new":true}`)
		})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }() // ended and awaited by release
		ends = append(ends, func() error {
			err := server.Close()
			<-served
			return errors.Join(err, os.RemoveAll(dir))
		})
	}
	path := filepath.Join(ts.Getenv("HOME"), ".local/share/agentos/vms/default/vm.db")
	source, err := sqlitefile.Acquire(path, sqlitefile.Options{Command: "somebody", Socket: socket})
	ts.Check(err)
	end := func() {
		for _, end := range append(ends, source.Release) {
			ts.Check(end())
		}
	}
	ts.Value(processesKey{}).(processes)["held"] = &process{end: end}
}

// release gives the lock of hold back.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: release")
	}
	find(ts, "held").end()
}

// hears waits until a command of start has printed something: hears NAME REGEXP.
func hears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hears NAME REGEXP")
	}
	ts.Check(find(ts, args[0]).out.await(regexp.MustCompile(args[1])))
}

// capture waits as hears does, and keeps what the first group of REGEXP matches the
// N-th time (from 1) in a variable: capture NAME VARIABLE N REGEXP.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: capture NAME VARIABLE N REGEXP")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	p := find(ts, args[0])
	ts.Check(p.out.await(regexp.MustCompile(fmt.Sprintf(`(?s)(?:%s.*){%d}`, args[3], n))))
	p.out.mu.Lock()
	text := p.out.text.String()
	p.out.mu.Unlock()
	ts.Setenv(args[1], regexp.MustCompile(args[3]).FindAllStringSubmatch(text, -1)[n-1][1])
}

// sockets checks how many there are beside the default VM's database, that each is
// its owner's alone, and that the lock file says no more than who holds the VM:
// sockets N.
func sockets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sockets N")
	}
	run := ts.Getenv("XDG_RUNTIME_DIR")
	found, err := filepath.Glob(filepath.Join(run, "agentos", "*"))
	ts.Check(err)
	for _, path := range found {
		info, err := os.Lstat(path)
		ts.Check(err)
		if info.Mode() != fs.ModeSocket|0o600 {
			ts.Fatalf("%s has mode %v", path, info.Mode())
		}
	}
	if strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d sockets in %s; want %s", len(found), run, args[0])
	}
	line, err := os.ReadFile(filepath.Join(ts.Getenv("HOME"), ".local/share/agentos/vms/default/vm.db.lock"))
	ts.Check(err)
	known := regexp.MustCompile(`^\{"pid":\d+,"startTime":\d+,"command":"agentos [a-z ]+","socket":"[^"]*"\}\n$`)
	if len(found) > 0 && strings.HasPrefix(string(line), `{"pid"`) && !known.Match(line) {
		ts.Fatalf("the lock file says %s", line)
	}
}

// crowd runs many commands at the same moment, in which @ stands for 1 to N; each
// must succeed: crowd N PROGRAM ARGS...
func crowd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: crowd N PROGRAM ARGS...")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var wg sync.WaitGroup
	failed := make([]string, n)
	for i := range n {
		cmd := command(ts, args[1], strings.Split(strings.ReplaceAll(strings.Join(args[2:], "\x00"), "@", strconv.Itoa(i+1)), "\x00")...)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				failed[i] = fmt.Sprintf("%v: %v\n%s", cmd.Args, err, out)
			}
		})
	}
	wg.Wait()
	if text := strings.Join(failed, ""); text != "" {
		ts.Fatalf("%s", text)
	}
}
