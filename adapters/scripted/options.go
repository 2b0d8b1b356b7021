package scripted

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"agentos/adapters/scripted/surface"
)

// options are the command line.
type options struct {
	protocol string // 1, 2 or auto
	noResume bool
	noLoad   bool

	exitAtStart      int // -1: no
	silent           bool
	garbage          bool
	answerVersion    int // -1: the honest one
	idStrings        bool
	noMessageIDs     bool
	earlyUpdates     bool
	replayOnResume   bool
	closeUnsupported bool
	lazySessions     bool
	loadEmpty        bool
	restoreError     int // 0: none
	newError         int // 0: none
	systemPrompt     bool
	stubborn         bool
}

// features is what the command line leaves of the agent.
func (o options) features() surface.Features {
	return surface.Features{Load: !o.noLoad, Resume: !o.noResume, SystemPrompt: o.systemPrompt, NoMessageIDs: o.noMessageIDs, Version: o.answerVersion}
}

// flags declares the command line once, for parsing and for the help.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("scripted", flag.ContinueOnError)
	f.SetOutput(io.Discard) // Main prints, once
	f.StringVar(&o.protocol, "protocol", "auto", "the ACP `VERSION` it speaks: 1, 2, or auto for the highest that the client asks for or below")
	f.BoolVar(&o.noResume, "no-resume", false, "no session/resume")
	f.BoolVar(&o.noLoad, "no-load", false, "no session/load")

	f.IntVar(&o.exitAtStart, "exit-at-start", -1, "write a line to standard error and end with that exit `CODE`, before anything else")
	f.BoolVar(&o.silent, "silent", false, "never answer anything, initialize included")
	f.BoolVar(&o.garbage, "garbage", false, "print text that is not JSON and answer nothing")
	f.IntVar(&o.answerVersion, "answer-version", -1, "answer initialize with protocolVersion `N`, whatever is then spoken")
	f.BoolVar(&o.idStrings, "id-strings", false, "use strings as ids of its own requests")
	f.BoolVar(&o.noMessageIDs, "no-message-ids", false, "no messageId on chunks (version 1)")
	f.BoolVar(&o.earlyUpdates, "early-updates", false, "send available_commands_update before the answer to session/new")
	f.BoolVar(&o.replayOnResume, "replay-on-resume", false, "replay the conversation on session/resume too")
	f.BoolVar(&o.closeUnsupported, "close-unsupported", false, "advertise session/close and then not have it")
	f.BoolVar(&o.lazySessions, "lazy-sessions", false, "store a session at its first prompt only, so that before it cannot be restored")
	f.BoolVar(&o.loadEmpty, "load-empty", false, "session/load and session/resume succeed, with nothing remembered, for unknown sessions too")
	f.IntVar(&o.restoreError, "restore-error", 0, "answer session/load and session/resume with that error `CODE`")
	f.IntVar(&o.newError, "new-error", 0, "answer session/new with that error `CODE`")
	f.BoolVar(&o.systemPrompt, "system-prompt", false, "take a systemPrompt (append) and say so; its #tags count as seen")
	f.BoolVar(&o.stubborn, "stubborn", false, "ignore the end of input and SIGTERM")
	return f
}

// parseOptions reads the command line. flag.ErrHelp: help was asked for.
func parseOptions(args []string) (options, error) {
	var o options
	f := o.flags()
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.protocol != "1" && o.protocol != "2" && o.protocol != "auto":
		return o, fmt.Errorf("--protocol is 1, 2 or auto, not %q", o.protocol)
	case o.exitAtStart > 255:
		return o, errors.New("--exit-at-start is an exit code of at most 255")
	}
	return o, nil
}

// help is what --help prints: every flag and every directive, from their tables.
func help() string {
	var b strings.Builder
	b.WriteString(`The scripted agent: speaks ACP on standard input and output, needs no network and no
model, and always does the same.

A plain prompt is repeated, and the reply names the #tags seen in this session so far.
Directives in a prompt are carried out in order instead, wherever they stand; a line that
starts with { is data and has none. Sessions are kept in AGENTOS_SCRIPTED_DIR (default:
$XDG_STATE_HOME/agentos/scripted, else ~/.local/state/agentos/scripted).

Usage:
  agentos adapter scripted [flags]

Directives:
`)
	for _, d := range directives {
		fmt.Fprintf(&b, "  %-21s %s\n", d.form(), d.help)
	}
	b.WriteString("\nFlags:\n")
	(&options{}).flags().VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %-21s %s\n", strings.TrimSpace("--"+f.Name+" "+value), usage)
	})
	return b.String()
}
