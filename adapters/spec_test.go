package adapters

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
)

func TestSpecOfALaunch(t *testing.T) {
	s := protocol.Spec{
		Agent: "tool", Cwd: "/w", Env: map[string]string{"SET": "1"},
		Launch: &protocol.Launch{Argv: []string{`C:\opt\a b\x.exe`, "--flag", `q "z"`}, Env: []string{"KEPT"}},
	}
	got, err := SpecOf(s, []string{"KEPT=k", "LOST=l", "PATH=/bin"})
	want := Spec{Name: "tool", Argv: s.Launch.Argv, Env: []string{"KEPT=k", "PATH=/bin", "SET=1"}, Dir: "/w"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("SpecOf = %v (-want +got):\n%s", err, diff) // WP-01: the list passes unchanged
	}
	got.Argv[0] = "spoilt"
	if s.Launch.Argv[0] == "spoilt" {
		t.Error("the session's launch was changed through the Spec")
	}
}

func TestSpecOfAnAgent(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "gemini")
	if err := errors.Join(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700), os.WriteFile(filepath.Join(dir, "qwen"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	base := []string{"PATH=.:relative:" + dir, "GEMINI_API_KEY=g", "OPENAI_API_KEY=o", "AGENTOS_SCRIPTED_DIR=/s"}
	got, err := SpecOf(protocol.Spec{Agent: "gemini", Cwd: "/w"}, base)
	want := Spec{Name: "gemini", Argv: []string{program, "--acp"}, Env: []string{"GEMINI_API_KEY=g", base[0]}, Dir: "/w"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("SpecOf = %v (-want +got):\n%s", err, diff)
	}

	got, err = SpecOf(protocol.Spec{Agent: "scripted", Cwd: "/w"}, base)
	if err != nil || !filepath.IsAbs(got.Argv[0]) || strings.Join(got.Argv[1:], " ") != "adapter scripted" || got.Env[0] != "AGENTOS_SCRIPTED_DIR=/s" {
		t.Errorf("SpecOf(scripted) = %+v, %v; want this program, with its directory", got, err)
	}

	_, err = SpecOf(protocol.Spec{Agent: "qwen", Cwd: "/w"}, base) // there, but not executable
	if protocol.CodeOf(err) != protocol.CodeAdapterNotInstalled || !strings.Contains(err.Error(), "npm install -g @qwen-code/qwen-code@") {
		t.Errorf("SpecOf(qwen) = %v; want how to install it", err)
	}
	if _, err = SpecOf(protocol.Spec{Agent: "nobody", Cwd: "/w"}, base); protocol.CodeOf(err) != protocol.CodeAgentNotFound {
		t.Errorf("SpecOf(nobody) = %v; want %s", err, protocol.CodeAgentNotFound)
	}
	_, err = SpecOf(protocol.Spec{Agent: "gemini", Cwd: "/w", Env: map[string]string{"PATH": t.TempDir()}}, base)
	if protocol.CodeOf(err) != protocol.CodeAdapterNotInstalled {
		t.Errorf("SpecOf with another PATH = %v; want %s", err, protocol.CodeAdapterNotInstalled)
	}
}
