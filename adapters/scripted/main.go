package scripted

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the agent and returns its exit code: 0 at the end of its input or on
// SIGTERM, 2 for a wrong command line, else what a directive or flag asks for.
//
// It reads ACP messages, one a line, from stdin and writes its own to stdout,
// each in one write; stderr gets notes for a log. If Read of stdin can block,
// stdin must be an io.Closer: Main closes it when it ends for another reason.
// [[drop]] closes stdout if that is an io.Closer. env looks up an environment
// variable, as os.Getenv does.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	o, err := parseOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		if _, err := io.WriteString(stdout, help()); err != nil {
			return 1
		}
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "scripted: %v; see agentos adapter scripted --help\n", err)
		return 2
	case o.exitAtStart >= 0:
		fmt.Fprintln(stderr, "scripted: ending at start, as the command line asks")
		return o.exitAtStart
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	return newAgent(o, stdout, stderr, env).serve(stdin, signals)
}
