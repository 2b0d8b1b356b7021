package main

import (
	"io"
	"regexp"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

func init() { commands["seat"] = seat }

// seat is start with a terminal as all streams of the command, at which nobody
// types: seat NAME REGEXP PROGRAM ARGS...
func seat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: seat NAME REGEXP PROGRAM ARGS...")
	}
	person, tty, err := openTerminal()
	ts.Check(err)
	p := &process{cmd: command(ts, args[2], args[3:]...)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(p.cmd.Start())
	ts.Check(tty.Close())
	read := make(chan struct{})
	go func() { // ends when the last of the command's files is closed
		defer close(read)
		_, _ = io.Copy(&p.out, person) // a terminal ends with an error
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // it has ended, if the script did its work
		<-read
		_ = person.Close()
	})
	p.end = func() { <-read }
	ts.Value(processesKey{}).(processes)[args[0]] = p
	ts.Check(p.out.await(regexp.MustCompile(args[1])))
}
