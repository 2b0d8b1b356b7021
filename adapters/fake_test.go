//go:build linux

package adapters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"agentos/protocol/jsonrpc"
)

// fakes are adapters that behave in one way each. The test binary runs them as
// "fake NAME ARGS...".
var fakes = map[string]func(args []string) int{
	"good":     func([]string) int { serve(answer); return 0 },
	"stubborn": stubborn,
	"sleeper":  sleeper,
	"faithful": faithful,
	"leaver":   leaver,
	"exit":     exit,
	"flood":    flood,
	"mute":     func([]string) int { serve(func(request) {}); return 0 },
	"chatty":   chatty,
	"junk":     junk,
	"killed":   func([]string) int { serve(func(request) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }); return 0 },
	"closer":   closer,
	"tidy":     tidy,
	"deaf":     func([]string) int { say("pids", os.Getpid()); forever(); return 0 },
	"environ":  func([]string) int { serve(func(r request) { reply(r, os.Environ()) }); return 0 },
	"last":     last,
	"huge":     func([]string) int { serve(func(r request) { reply(r, strings.Repeat("x", 1<<20)) }); return 0 },
	"refuses":  func([]string) int { serve(refuse); return 0 },
	"asks":     asks,
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// serve handles every line until stdin ends.
func serve(handle func(request)) {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) == nil {
			handle(r)
		}
	}
}

func answer(r request) {
	if r.ID != nil {
		reply(r, r.Method)
	}
}

func reply(r request, result any) {
	put(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
}

func refuse(r request) {
	put(map[string]any{"jsonrpc": "2.0", "id": r.ID, "error": map[string]any{"code": -32002, "message": "unknown session"}})
}

func say(method string, params ...any) {
	put(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func put(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(9)
	}
}

func forever() {
	for {
		<-time.After(time.Hour)
	}
}

// child starts this binary as another fake, with its stdout, and returns its pid.
func child(attr *syscall.SysProcAttr, name string, args ...string) int {
	cmd := exec.Command(os.Args[0], append([]string{"fake", name}, args...)...)
	cmd.Stdout, cmd.SysProcAttr = os.Stdout, attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

// stubborn ignores SIGTERM and the end of stdin. So do its child, which it
// shares stdout with, and its grandchild, which has left group and session.
func stubborn([]string) int {
	signal.Ignore(syscall.SIGTERM)
	say("pids", os.Getpid())
	child(nil, "sleeper", "and", "its", "child")
	serve(answer)
	forever()
	return 0
}

func sleeper(args []string) int {
	signal.Ignore(syscall.SIGTERM)
	say("pids", os.Getpid())
	if len(args) > 0 {
		child(&syscall.SysProcAttr{Setsid: true}, "sleeper")
	}
	forever()
	return 0
}

// faithful ends at SIGTERM, and only then, with something to say.
func faithful([]string) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	say("pids", os.Getpid())
	<-term
	say("saved")
	return 7
}

// leaver ends well with its stdin and leaves an escaped child behind that holds
// its stdout.
func leaver([]string) int {
	say("pids", os.Getpid())
	child(&syscall.SysProcAttr{Setsid: true}, "sleeper")
	serve(answer)
	return 0
}

func exit(args []string) int {
	fmt.Fprintln(os.Stderr, strings.Join(args[1:], "\n"))
	return number(args[0])
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// flood writes that many bytes to stderr before it reads anything, and ends with
// 1 when asked a second time.
func flood(args []string) int {
	line := []byte(strings.Repeat("é", 511) + "\n")
	chunk := bytes.Repeat(line, 64)
	for n := number(args[0]); n > 0; n -= len(chunk) {
		_, _ = os.Stderr.Write(chunk)
	}
	fmt.Fprintln(os.Stderr, "the last line")
	asked := 0
	serve(func(r request) {
		if asked++; asked > 1 {
			os.Exit(1)
		}
		answer(r)
	})
	return 0
}

// chatty writes a line to stderr every few milliseconds and answers after so many.
func chatty(args []string) int {
	serve(func(r request) {
		for range number(args[0]) {
			<-time.After(10 * time.Millisecond)
			fmt.Fprintln(os.Stderr, "still installing")
		}
		answer(r)
	})
	return 0
}

func junk([]string) int {
	fmt.Print("Welcome back\n\n[20:18:05] Using config\n{\"level\":\"info\"}\nnull\n7\n\x1b]0;title\a\n")
	serve(answer)
	return 0
}

// closer closes its stdout and goes on.
func closer([]string) int {
	_ = os.Stdout.Close()
	forever()
	return 0
}

// tidy closes its stdout when its stdin ends, and then takes its time.
func tidy([]string) int {
	serve(answer)
	_ = os.Stdout.Close()
	<-time.After(800 * time.Millisecond)
	return 7
}

// last says many things and ends without waiting for anybody to hear them.
func last(args []string) int {
	serve(func(request) {
		for n := range number(args[0]) {
			say("n", n)
		}
		os.Exit(0)
	})
	return 0
}

// asks sends a request of its own and says what it was answered.
func asks([]string) int {
	put(map[string]any{"jsonrpc": "2.0", "id": "a-1", "method": "craft/unknown"})
	serve(func(r request) { say("answered", r.ID, r.Error) })
	return 0
}

// fakeRuntime starts a stubborn adapter, passes its pids on, and waits to be
// killed.
func fakeRuntime() int {
	spec := Spec{Name: "fake", Argv: []string{os.Args[0], "fake", "stubborn"}, Env: os.Environ(), Dir: "/"}
	_, err := Start(context.Background(), spec, Options{Guard: guardCommand(), OnMessage: func(m jsonrpc.Message) {
		fmt.Println(string(m.Params))
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	forever()
	return 0
}
