package main

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"agentos/protocol"
	"agentos/protocol/acp"
)

func TestChoose(t *testing.T) {
	options := []acp.Option{{ID: "allow", Name: "Allow once"}, {ID: "2", Name: "Trap"}, {ID: "no", Name: "Reject"}}
	for line, want := range map[string]string{
		"1\n": "allow", " 3 \r\n": "no", "allow\n": "allow", "REJECT\n": "no", "allow once": "allow",
		"2": "2",
		"":  "", "\n": "", "0": "", "4": "", "-1": "", "1 2": "", "al": "", "yes": "", "ALLOW": "",
	} {
		got, ok := choose(options, line)
		if got.ID != want || ok != (want != "") {
			t.Errorf("choose(%q) = %q, %v; want %q", line, got.ID, ok, want)
		}
	}
}

func TestLocate(t *testing.T) {
	data := t.TempDir()
	t.Setenv("AGENTOS_DATA", data)
	t.Chdir(data)
	for vm, want := range map[string]string{
		"default":               filepath.Join(data, "vms/default/vm.db"),
		"A-b_c.9":               filepath.Join(data, "vms/A-b_c.9/vm.db"),
		strings.Repeat("a", 64): filepath.Join(data, "vms", strings.Repeat("a", 64), "vm.db"),
		"x.db":                  filepath.Join(data, "x.db"),
		"./x":                   filepath.Join(data, "x"),
		"/a/../b":               "/b",
	} {
		if p, err := locate(vm); err != nil || p.path != want {
			t.Errorf("locate(%q) = %q, %v; want %q", vm, p.path, err, want)
		}
	}
	for _, vm := range []string{"", ".", "..", ".a", "a b", "ä", "a\n", strings.Repeat("a", 65), "uds:", "uds:/x", "uds:x.db"} {
		if p, err := locate(vm); protocol.CodeOf(err) != protocol.CodeInvalidArgument {
			t.Errorf("locate(%q) = %q, %v; want invalid_argument", vm, p.path, err)
		}
	}
}

func TestSignals(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := listen()
	ctx, cancel := s.context(context.Background())
	defer cancel()
	send := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	send()
	<-s.first
	<-ctx.Done()
	select {
	case <-s.second:
		t.Fatal("one signal counted twice")
	default:
	}
	send()
	<-s.second
	cancel()
	s.stop()
}

// Every code of the table ends the process with its exit code.
func TestS14_ExitCodes(t *testing.T) {
	for _, info := range protocol.Codes {
		c := &console{out: &stream{w: &strings.Builder{}}, err: &stream{w: &strings.Builder{}}}
		err := error(protocol.Errorf(info.Code, "something went wrong"))
		if got := c.end(err); got != info.Exit {
			t.Errorf("%s: exit code %d; want %d", info.Code, got, info.Exit)
		}
		if got := c.end(interrupted{err}); got != protocol.ExitInterrupted {
			t.Errorf("%s after an interrupt: exit code %d", info.Code, got)
		}
	}
}

// What the log could not tell is told: an error without a code is a bug of ours.
func TestEnd_ErrorWithoutCode(t *testing.T) {
	var out, stderr strings.Builder
	c := &console{out: &stream{w: &out}, err: &stream{w: &stderr}}
	if got := c.end(jsonFailure{context.DeadlineExceeded}); got != protocol.ExitFailed {
		t.Errorf("exit code %d; want %d", got, protocol.ExitFailed)
	}
	if !strings.HasPrefix(out.String(), `{"error":{"code":"internal",`) || strings.Contains(out.String(), "deadline") {
		t.Errorf("stdout: %s", out.String())
	}
	if !strings.Contains(stderr.String(), "context deadline exceeded") {
		t.Errorf("stderr: %s", stderr.String())
	}
}
