//go:build linux

package adapters

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentos/adapters/process"
	"agentos/protocol"
)

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	plain, script, binary := filepath.Join(dir, "plain"), filepath.Join(dir, "script"), filepath.Join(dir, "binary")
	if err := errors.Join(
		os.WriteFile(plain, []byte("text"), 0o600),
		os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700),
		os.WriteFile(binary, []byte("\x7fELF of another machine"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	tests := map[string]struct {
		spec  Spec
		code  protocol.Code
		words []string
	}{
		"unknown program":      {Spec{"gemini", []string{"gemini-of-no-one", "--acp"}, env, dir}, protocol.CodeAdapterNotInstalled, []string{"gemini-of-no-one", "npm install -g @google/gemini-cli@"}},
		"unknown agent":        {Spec{"mine", []string{"./mine"}, env, dir}, protocol.CodeAdapterNotInstalled, []string{"./mine", "after --"}},
		"not executable":       {Spec{"mine", []string{plain}, env, dir}, protocol.CodeAdapterNotInstalled, []string{"permission denied"}},
		"missing interpreter":  {Spec{"mine", []string{script}, env, dir}, protocol.CodeAdapterNotInstalled, []string{"interpreter"}},
		"not a program":        {Spec{"mine", []string{binary}, env, dir}, protocol.CodeAdapterNotInstalled, []string{"exec format error"}},
		"missing directory":    {Spec{"mine", []string{"sh"}, env, dir + "/none"}, protocol.CodeCwdMissing, []string{dir + "/none", "--cwd"}},
		"directory is a file":  {Spec{"mine", []string{"sh"}, env, plain}, protocol.CodeCwdMissing, []string{plain}},
		"directory too long":   {Spec{"mine", []string{"sh"}, env, "/" + strings.Repeat("x", 300)}, protocol.CodeCwdMissing, []string{"too long"}},
		"relative directory":   {Spec{"mine", []string{"sh"}, env, "here"}, protocol.CodeInvalidArgument, []string{"here"}},
		"no command":           {Spec{"mine", nil, env, dir}, protocol.CodeInvalidArgument, []string{"mine"}},
		"empty program":        {Spec{"mine", []string{""}, env, dir}, protocol.CodeInvalidArgument, []string{"mine"}},
		"NUL in an argument":   {Spec{"mine", []string{"sh", "a\x00b"}, env, dir}, protocol.CodeInvalidArgument, []string{"NUL"}},
		"variable without =":   {Spec{"mine", []string{"sh"}, []string{"NAME"}, dir}, protocol.CodeInvalidArgument, []string{"NAME"}},
		"NUL in a variable":    {Spec{"mine", []string{"sh"}, []string{"NAME=sec\x00ret"}, dir}, protocol.CodeInvalidArgument, []string{"NAME"}},
		"variable is too long": {Spec{"mine", []string{"sh"}, []string{"NAME=" + strings.Repeat("x", 4<<20)}, dir}, protocol.CodeInvalidArgument, []string{"too long"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), tt.spec, Options{Guard: guardCommand()})
			wantError(t, err, tt.code, tt.words...)
			if strings.Contains(err.Error(), "ret") && strings.Contains(err.Error(), "sec\x00") {
				t.Errorf("error %q shows a value", err)
			}
		})
	}
}

func TestStartWithoutAGuard(t *testing.T) {
	spec := fakeSpec(t, "good")
	if _, err := Start(t.Context(), spec, Options{}); !errors.Is(err, errNoGuard) {
		t.Errorf("Start = %v; want %v", err, errNoGuard)
	}
	for name, command := range map[string][]string{
		"none there":     {filepath.Join(t.TempDir(), "none")},
		"ends at once":   {"true"},
		"says something": {"sh", "-c", "echo nonsense >&3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), spec, Options{Guard: command})
			wantError(t, err, protocol.CodeAdapterExited, "fake")
		})
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller went away")
	ready := filepath.Join(t.TempDir(), "ready")
	go func() { // ends when the guard below has started, which it does
		eventually(t, "the guard runs", func() bool { _, err := os.Stat(ready); return err == nil })
		cancel(why)
	}()
	// A guard that hangs, with a child, before it says anything.
	_, err := Start(ctx, fakeSpec(t, "good"), Options{Guard: []string{"sh", "-c", "sleep 1000 & echo > " + ready + "; wait"}})
	if !errors.Is(err, why) {
		t.Errorf("Start = %v; want %v", err, why)
	}
	all, err := process.List()
	if left := process.Descendants(all, os.Getpid()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %+v, %v", left, err)
	}
}
