package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"agentos/cmd/agentos/transcript"
	"agentos/protocol"
	"agentos/protocol/public"
)

// exitStatus is the end of a command that has said everything itself.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// interrupted is the end by the person's own signal. The error, if there is one,
// is what the turn ended with.
type interrupted struct{ error }

func (i interrupted) Error() string {
	if i.error == nil {
		return "interrupted"
	}
	return i.error.Error()
}

// Unwrap returns the turn's error.
func (i interrupted) Unwrap() error { return i.error }

// jsonFailure is an error that is also the last line of --json.
type jsonFailure struct{ error }

// Unwrap returns the error.
func (j jsonFailure) Unwrap() error { return j.error }

// end prints what err is and returns the exit code of the process.
func (c *console) end(err error) int {
	code := protocol.ExitOK
	var status exitStatus
	var signalled interrupted
	switch {
	case errors.As(err, &status):
		code = int(status)
	case errors.As(err, &signalled) && signalled.error == nil:
		code = protocol.ExitInterrupted
	case err != nil:
		code = c.fail(err)
		if errors.As(err, &signalled) {
			code = protocol.ExitInterrupted
		}
	}
	if werr := c.out.failure(); werr != nil {
		c.say("agentos: write output: " + werr.Error())
		if code == protocol.ExitOK {
			code = protocol.ExitFailed
		}
	}
	return code
}

// fail shows an error and returns its exit code.
func (c *console) fail(err error) int {
	pe := asError(err)
	var j jsonFailure
	if errors.As(err, &j) {
		c.out.Write(append(public.AppendError(nil, pe), '\n'))
	}
	c.say("agentos: " + c.notes.Bad(string(pe.Code)) + ": " + transcript.Text(pe.Message))
	if pe.Code == protocol.CodeInternal && pe.Cause != nil {
		c.say("  " + transcript.Text(pe.Cause.Error()))
	}
	if hint := hints[pe.Code]; hint != "" {
		c.say("  " + hint)
	}
	if text := detail(pe, "stderr"); text != "" {
		c.say("  the last that the agent wrote on stderr:")
		fmt.Fprintln(c.err, indented(text, c.notes))
	}
	return pe.Code.Info().Exit
}

// hints say what to do about an error whose message cannot know it.
var hints = map[protocol.Code]string{
	protocol.CodeVMNotFound: "agentos prompt TEXT makes it; --vm or AGENTOS_VM names another one",
	protocol.CodeVMInUse:    "it cannot be joined; stop it, or use another VM with --vm NAME",

	protocol.CodeAuthRequired:         "sessions keep their history; after signing in the same prompt goes on where it was",
	protocol.CodeAdapterExited:        "what it said until then is kept; the next prompt starts the agent again and goes on",
	protocol.CodeAgentError:           "what it said until then is kept; the session can be prompted again",
	protocol.CodeACPTimeout:           "what it said until then is kept; the next prompt starts the agent again and goes on",
	protocol.CodeSessionRestoreFailed: "the history is kept; the next prompt tries again, --session NAME begins another session",
	protocol.CodeStorageFull:          "what was shown as stored is kept; make room and prompt again",
}

// asError returns err as what a border shows. Everything of ours has a code
// already; what has none is a failure of this program.
func asError(err error) *protocol.Error {
	return protocol.AsError(err, protocol.ErrorID(uuid.NewString()))
}

// detail returns a text detail, "" if there is none.
func detail(e *protocol.Error, name string) string {
	switch v := e.Details[name].(type) {
	case string:
		return v
	case json.RawMessage: // of an error that was stored
		var text string
		if json.Unmarshal(v, &text) == nil {
			return text
		}
	}
	return ""
}

// indented makes text a block that no line of ours can be mistaken for.
func indented(text string, s transcript.Style) string {
	const margin = "    "
	text = strings.TrimRight(transcript.Text(text), "\n")
	return margin + transcript.Wrap(text, s.Width(), len(margin), margin)
}

// usage is wrong use: the command line itself is the mistake.
func usage(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeInvalidArgument, format, args...)
}
