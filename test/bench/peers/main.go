package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"agentos/adapters/guard"
)

func main() {
	// The runtime starts this program as the guard of its adapter, as it starts
	// agentos.
	if len(os.Args) > 2 && os.Args[1] == "adapter" && os.Args[2] == "guard" {
		os.Exit(guard.Main(os.Args[3:]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	json bool
	plan plan
	only []string // names of contenders; nil means all
}

// fullPlan is how much is done when nothing else is said.
var fullPlan = plan{rounds: 100, warm: 10, fresh: 10, fill: 2000, late: 10 * time.Second}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{plan: fullPlan}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.json, "json", false, "print one JSON object a line instead of a table")
	flags.IntVar(&o.plan.rounds, "rounds", o.plan.rounds, "turns of each kind that count")
	only := flags.String("only", "", "measure these only, separated by commas: "+strings.Join(names(), ", ")+" (direct is always measured)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	wrong := func(format string, args ...any) (options, error) {
		err := fmt.Errorf(format, args...)
		fmt.Fprintln(stderr, "peers:", err)
		return o, err
	}
	if flags.NArg() > 0 {
		return wrong("unexpected argument %q", flags.Arg(0))
	}
	if o.plan.rounds < 1 {
		return wrong("--rounds is at least 1")
	}
	o.plan.fresh = min(o.plan.fresh, o.plan.rounds)
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return wrong("no contender is called %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return o, nil
}

// run is the program. It returns the exit code: 0 if everything that is installed
// was measured, 1 if something broke, 2 for wrong use.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	res, skipped, err := measure(ctx, o, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "peers:", err)
		return 1
	}
	rows := rowsOf(res)
	if o.json {
		err = printJSON(stdout, rows)
	} else {
		err = printTable(stdout, rows)
	}
	if len(skipped) > 0 {
		fmt.Fprintf(stderr, "SKIPPED %d of %d contenders: %s\n", len(skipped), len(skipped)+len(res.contenders), strings.Join(skipped, "; "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "peers: print the figures:", err)
		return 1
	}
	return 0
}

// measure starts the contenders, has them do the plan's work and stops them.
func measure(ctx context.Context, o options, progress io.Writer) (res *results, skipped []string, err error) {
	h, err := makeHome()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.remove()) }()
	list, skipped, err := startAll(ctx, h, o.only)
	defer func() {
		// When something broke, contenders were killed in their work and say no more
		// than that.
		if cerr := closeAll(list); err == nil {
			err = cerr
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	res, err = o.plan.carryOut(ctx, list, progress)
	return res, skipped, err
}
